//! Tests requests that wait for an event.

use std::time::{Duration, Instant};

use everytab_patience::{in_time, until};
use futures_util::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use serde_json::json;
use tokio::time::timeout;

use crate::world::{Answer, World};

const SEATS: usize = 32;

/// Sends one request more than a key may have waiting. Returns the others when one was rejected.
async fn take_all_seats<'a>(
    world: &'a World,
    key: &'a str,
    path: &'a str,
) -> FuturesUnordered<impl Future<Output = Answer> + 'a> {
    let mut requests: FuturesUnordered<_> = (0..=SEATS).map(|_| world.get(key, path)).collect();
    let refused = in_time("a refusal", requests.next()).await.unwrap();
    assert!(refused.headers.contains_key("retry-after"), "{refused:?}");
    refused.expect_problem(429, "too_many_waiters");
    requests
}

#[tokio::test]
async fn waits_for_a_url_a_crawl_and_a_feed_end_with_their_events() {
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
    assert!(timeout(Duration::from_millis(1_500), &mut waiting).await.is_err());
    world.post(&key, &format!("/v1/crawls/{crawl}/cancel"), &json!({})).await.expect(200);
    let [url, state, feed] = <[_; 3]>::try_from(waiting.await).unwrap();
    let url = url.expect(200);
    assert_eq!((&url["state"], &url["reason"]), (&json!("left"), &json!("cancel")));
    assert_eq!(state.expect(200)["state"], "ended");
    let feed = feed.expect(200);
    assert_eq!((&feed["crawl_state"], &feed["fetches"]), (&json!("ended"), &json!([])));
    for path in &paths {
        world.get(&key, path).await.expect(200);
    }
}

#[tokio::test]
async fn waits_end_when_their_key_is_revoked() {
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
    let began = Instant::now();
    let mut waiting = Box::pin(join_all(paths.iter().map(|path| world.get(&key, path))));
    assert!(timeout(Duration::from_millis(1_500), &mut waiting).await.is_err());
    assert!(world.owner.revoke_key(&key[3..15]).await.unwrap());
    for answer in waiting.await {
        answer.expect_problem(401, "unauthorized");
    }
    assert!(began.elapsed() < Duration::from_secs(50), "the waits did not end with the key");
}

#[tokio::test]
async fn a_submission_can_wait_for_its_result() {
    let world = World::new().await;
    let key = world.key().await;
    let deep = json!({ "url": "a.test", "depth": 1 });
    let mut waiting = Box::pin(world.post(&key, "/v1/url?wait=50", &deep));
    let crawl = async {
        until("the crawl", async || {
            let crawls = world.get(&key, "/v1/crawls").await.expect(200);
            crawls["crawls"].as_array().is_some_and(|crawls| !crawls.is_empty())
        })
        .await;
        let crawls = world.get(&key, "/v1/crawls").await.expect(200);
        crawls["crawls"][0]["id"].as_str().unwrap().to_owned()
    };
    let crawl = tokio::select! {
        early = &mut waiting => panic!("a request did not wait: {early:?}"),
        crawl = crawl => crawl,
    };
    world.post(&key, &format!("/v1/crawls/{crawl}/cancel"), &json!({})).await.expect(200);
    let settled = in_time("the answer", waiting).await.expect(200);
    assert_eq!((&settled["state"], &settled["crawl"]), (&json!("left"), &json!(crawl)));
    let due = world.post(&key, "/v1/url?wait=0.1", &json!({ "url": "b.test" })).await.expect(202);
    assert_eq!(due["state"], "due");
    let wrong = world.post(&key, "/v1/url?wait=61", &json!({ "url": "b.test" })).await;
    wrong.expect_problem(400, "invalid_parameter");
}

#[tokio::test]
async fn a_submission_is_accepted_although_its_key_has_too_many_waiting_requests() {
    let world = World::new().await;
    let key = world.key().await;
    let id = world.crawl(&key).await;
    let path = format!("/v1/crawls/{id}?wait=50");
    let _waiting = take_all_seats(&world, &key, &path).await;
    let due = world.post(&key, "/v1/url?wait=50", &json!({ "url": "a.test" })).await.expect(202);
    assert_eq!(due["state"], "due");
}

#[tokio::test]
async fn a_key_has_32_waiting_requests_and_a_disconnect_frees_one() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let (id, of_other) = (world.crawl(&key).await, world.crawl(&other).await);
    let path = format!("/v1/crawls/{id}?wait=55");
    let waiting = take_all_seats(&world, &key, &path).await;
    let short = format!("/v1/crawls/{of_other}?wait=0.1");
    assert_eq!(world.get(&other, &short).await.expect(200)["state"], "running");
    drop(waiting);
    let free = format!("/v1/crawls/{id}?wait=0.01");
    until("a free seat", async || world.get(&key, &free).await.status == 200).await;
}

#[tokio::test]
async fn a_stopping_service_ends_waits_and_is_not_ready() {
    let world = World::new().await;
    let key = world.key().await;
    let id = world.crawl(&key).await;
    let path = format!("/v1/crawls/{id}?wait=55");
    let began = Instant::now();
    let waiting = take_all_seats(&world, &key, &path).await;
    world.stop.send(true).unwrap();
    for answer in waiting.collect::<Vec<_>>().await {
        assert_eq!(answer.expect(200)["state"], "running");
    }
    assert!(began.elapsed() < Duration::from_secs(55), "the waits did not end with the service");
    let not_ready = world.send("GET", "/readyz", &[], "").await;
    not_ready.expect_problem(503, "unavailable");
}
