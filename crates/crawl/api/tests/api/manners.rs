//! Tests properties that every response must have.

use std::collections::BTreeSet;

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn every_response_has_its_own_id_and_is_not_cached_or_framed() {
    let world = World::new().await;
    let key = world.key().await;
    let mut ids = BTreeSet::new();
    for path in ["/", "/healthz", "/readyz", "/openapi.json", "/v1/settings", "/no/such/path"] {
        let headers = [("authorization", &*format!("Bearer {key}")), ("origin", "https://x.test")];
        let answer = world.send("GET", path, &headers, "").await;
        let header = |name: &str| answer.headers.get(name).map(|value| value.to_str().unwrap());
        assert_eq!(header("cache-control"), Some("private, no-store"), "{path}");
        assert_eq!(header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(header("referrer-policy"), Some("no-referrer"), "{path}");
        let policy = header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        for absent in ["set-cookie", "access-control-allow-origin", "server"] {
            assert_eq!(header(absent), None, "{path}");
        }
        assert!(ids.insert(header("x-request-id").unwrap().to_owned()));
    }
    let unknown = world.get(&key, "/v2/url").await;
    unknown.expect_problem(404, "not_found");
}

#[tokio::test]
async fn a_path_names_its_methods_and_head_is_get_without_a_body() {
    let world = World::new().await;
    let key = world.key().await;
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str())];
    for (path, methods) in [
        ("/v1/url", "POST"),
        ("/v1/crawls", "GET,HEAD,POST"),
        ("/v1/settings", "GET,HEAD"),
        ("/healthz", "GET,HEAD"),
    ] {
        let answer = world.send("DELETE", path, &headers, "").await;
        let allowed: BTreeSet<&str> =
            answer.headers["allow"].to_str().unwrap().split(',').map(str::trim).collect();
        assert_eq!(allowed, methods.split(',').collect(), "{path}");
        answer.expect_problem(405, "method_not_allowed");
        let options = world.send("OPTIONS", path, &headers, "").await;
        assert!(options.headers.contains_key("allow"), "{path}");
        options.expect(204);
    }
    let head = world.send("HEAD", "/v1/settings", &headers, "").await;
    assert_eq!((head.status.as_u16(), head.text.as_str()), (200, ""));
    let head = world.send("HEAD", "/v1/settings", &[], "").await;
    assert_eq!((head.status.as_u16(), head.text.as_str()), (401, ""));
}

#[tokio::test]
async fn without_a_database_the_service_is_alive_but_not_ready() {
    let world = World::new().await;
    let key = world.key().await;
    world.send("GET", "/readyz", &[], "").await.expect(200);
    world.api.close().await;
    world.send("GET", "/healthz", &[], "").await.expect(200);
    world.send("GET", "/readyz", &[], "").await.expect_problem(503, "unavailable");
    let away = world.post(&key, "/v1/url", &json!({ "url": "a.test" })).await;
    assert!(away.headers.contains_key("retry-after"), "{away:?}");
    let problem = away.expect_problem(503, "unavailable");
    assert_eq!(problem.get("detail"), None, "clients must not see Postgres's messages");
    world.get(&key, "/v1/settings").await.expect_problem(503, "unavailable");
}

#[tokio::test]
async fn a_database_with_another_schema_is_not_ready() {
    let world = World::new().await;
    let function = "coordinator.schema_digest()";
    world.sql(&format!(
        "create or replace function {function} returns text language sql as $$ select 'x' $$"
    ));
    world.send("GET", "/readyz", &[], "").await.expect_problem(503, "unavailable");
}
