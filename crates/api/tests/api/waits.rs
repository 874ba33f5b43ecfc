//! Requests that wait for news.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::timeout;

use crate::world::World;

#[tokio::test]
async fn who_waits_for_a_url_a_crawl_or_its_feed_hears_of_its_end() {
    let world = World::new().await;
    let key = world.key().await;
    let deep = json!({ "url": "a.test", "depth": 1 });
    let opened = world.post(&key, "/v1/url", &deep).await.expect(202);
    let (url, crawl) = (opened["id"].as_str().unwrap(), opened["crawl"].as_str().unwrap());
    let paths = [
        format!("/v1/url/{url}?wait=50"),
        format!("/v1/crawls/{crawl}?wait=50"),
        format!("/v1/crawls/{crawl}/feed?wait=50"),
    ];
    let mut waiting = Box::pin(join_all(paths.iter().map(|path| world.get(&key, path))));
    // Nobody is answered before there is news.
    assert!(timeout(Duration::from_millis(1_500), &mut waiting).await.is_err());
    world.post(&key, &format!("/v1/crawls/{crawl}/cancel"), &json!({})).await.expect(200);
    let [url, state, feed] = <[_; 3]>::try_from(waiting.await).unwrap();
    let url = url.expect(200);
    assert_eq!((&url["state"], &url["reason"]), (&json!("left"), &json!("cancel")));
    assert_eq!(state.expect(200)["state"], "ended");
    let feed = feed.expect(200);
    assert_eq!((&feed["crawl_state"], &feed["fetches"]), (&json!("ended"), &json!([])));
    // What has ended is no reason to wait.
    for path in &paths {
        world.get(&key, path).await.expect(200);
    }
}

#[tokio::test]
async fn a_key_has_32_waiting_requests_and_a_client_that_goes_away_frees_its_own() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let (id, of_other) = (world.crawl(&key).await, world.crawl(&other).await);
    let path = format!("/v1/crawls/{id}?wait=55");
    let mut waiting = Box::pin(join_all((0..32).map(|_| world.get(&key, &path))));
    assert!(timeout(Duration::from_secs(2), &mut waiting).await.is_err());
    world.get(&key, &path).await.expect_problem(429, "too_many_waiters");
    let short = format!("/v1/crawls/{of_other}?wait=0.1");
    assert_eq!(world.get(&other, &short).await.expect(200)["state"], "running");
    drop(waiting);
    let free = format!("/v1/crawls/{id}?wait=0.01");
    let mut tries = 0;
    while world.get(&key, &free).await.status != 200 {
        tries += 1;
        assert!(tries < 500, "no seat was freed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_service_that_stops_answers_who_waits_and_says_that_it_is_not_ready() {
    let world = World::new().await;
    let key = world.key().await;
    let id = world.crawl(&key).await;
    let path = format!("/v1/crawls/{id}?wait=55");
    let mut waiting = Box::pin(world.get(&key, &path));
    assert!(timeout(Duration::from_millis(500), &mut waiting).await.is_err());
    world.stop.send(true).unwrap();
    let answer = timeout(Duration::from_secs(30), waiting).await.expect("it is answered early");
    assert_eq!(answer.expect(200)["state"], "running");
    let not_ready = world.send("GET", "/readyz", &[], "").await;
    not_ready.expect_problem(503, "unavailable");
}
