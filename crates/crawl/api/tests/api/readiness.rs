//! Tests what `/readyz` reports about the store.

use everytab_patience::until;

use crate::world::World;

#[tokio::test]
async fn a_service_is_ready_while_its_store_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("crawls");
    let world = World::with_store(&format!("file://{}", store.display())).await;
    let is_ready = async || world.send("GET", "/readyz", &[], "").await.status == 200;
    let missing = world.send("GET", "/readyz", &[], "").await;
    assert!(missing.headers.contains_key("retry-after"), "{missing:?}");
    let problem = missing.expect_problem(503, "unavailable");
    assert_eq!(problem["detail"], "the store does not exist");
    world.send("GET", "/healthz", &[], "").await.expect(200);
    std::fs::create_dir(&store).unwrap();
    until("the store", is_ready).await;
    std::fs::remove_dir(&store).unwrap();
    until("the store's end", async || !is_ready().await).await;
    let key = world.key().await;
    world.get(&key, "/v1/settings").await.expect(200);
}
