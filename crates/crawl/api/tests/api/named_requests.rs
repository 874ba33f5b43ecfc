//! Tests requests with an `Idempotency-Key`: every path that submits URLs must handle such a
//! request once.

use everytab_coordinator::NewApiKey;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::world::{Answer, World, generous};

async fn send(world: &World, key: &str, name: &str, path: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {key}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("idempotency-key", name),
        ("content-type", "application/json"),
    ];
    world.send("POST", path, &headers, body.to_string()).await
}

fn submitted(world: &World) -> String {
    world.sql("select coalesce(sum(amount), 0) from everytab.links")
}

#[tokio::test]
async fn every_path_for_urls_handles_an_idempotent_request_once() {
    let world = World::new().await;
    let key = world.key().await;
    let more = json!({ "urls": [], "more": true });
    let crawl = world.post(&key, "/v1/crawls", &more).await.expect(201);
    let add = format!("/v1/crawls/{}/urls", crawl["id"].as_str().unwrap());
    let list = json!({ "urls": ["a.test", "ftp://b.test/", "c.test"] });
    let doors = [
        ("/v1/url", json!({ "url": "a.test" }), json!({ "url": "b.test" }), 1),
        ("/v1/url/batch", list.clone(), json!({ "urls": ["d.test"] }), 2),
        (add.as_str(), list, json!({ "urls": ["e.test"] }), 2),
    ];
    let mut expected = 0;
    for (number, (path, body, other, urls)) in doors.iter().enumerate() {
        let name = format!("request {number}");
        let first = send(&world, &key, &name, path, body).await.expect(202);
        let again = send(&world, &key, &name, path, body).await.expect(202);
        assert_eq!(first, again, "{path}");
        let mismatch = send(&world, &key, &name, path, other).await;
        mismatch.expect_problem(409, "idempotency_mismatch");
        expected += urls;
        assert_eq!(submitted(&world), expected.to_string(), "{path}");
    }
    let (path, body, ..) = &doors[0];
    send(&world, &key, "request 1", path, body).await.expect_problem(409, "idempotency_mismatch");
    send(&world, &key, "", path, body).await.expect_problem(400, "invalid_parameter");
    let other_key = world.key().await;
    send(&world, &other_key, "request 0", path, body).await.expect(202);
    assert_eq!(submitted(&world), (expected + 1).to_string());
}

#[tokio::test]
async fn concurrent_submissions_with_one_idempotency_key_submit_once() {
    let world = World::new().await;
    let key = world.key().await;
    let body = json!({ "url": "a.test", "max_age_s": 0 });
    let answers = join_all((0..20).map(|_| send(&world, &key, "one", "/v1/url", &body))).await;
    let documents: Vec<Value> = answers.into_iter().map(|answer| answer.expect(202)).collect();
    assert!(documents.windows(2).all(|pair| pair[0] == pair[1]), "{documents:?}");
    assert_eq!(submitted(&world), "1");
}

#[tokio::test]
async fn a_rejected_submission_can_be_retried_with_its_idempotency_key() {
    let world = World::new().await;
    let key = world.key_with(NewApiKey { urls_a_day: Some(1), ..generous() }).await;
    let body = json!({ "url": "a.test" });
    send(&world, &key, "one", "/v1/url", &body).await.expect(202);
    for _ in 0..2 {
        send(&world, &key, "two", "/v1/url", &body).await.expect_problem(429, "quota_urls");
    }
    let kept = world.sql("select string_agg(name, ',') from everytab.api_answers");
    assert_eq!(kept, "one");
}
