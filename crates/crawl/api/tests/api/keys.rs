//! Tests which keys are accepted, and how many requests they may send.

use everytab_coordinator::NewApiKey;
use everytab_patience::{eventually, until};
use serde_json::json;

use crate::world::{World, generous};

#[tokio::test]
async fn every_invalid_key_is_rejected_alike() {
    let world = World::new().await;
    let key = world.key().await;
    let swapped = |from: usize| {
        let mut bytes = key.clone().into_bytes();
        bytes[from] = if bytes[from] == b'a' { b'b' } else { b'a' };
        format!("Bearer {}", String::from_utf8(bytes).unwrap())
    };
    let mut problems = Vec::new();
    for value in [swapped(4), swapped(20), swapped(key.len() - 2)] {
        let headers = [("authorization", value.as_str())];
        let answer = world.send("GET", "/v1/settings", &headers, "").await;
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
        problems.push(answer.expect_problem(401, "unauthorized"));
    }
    assert!(problems.windows(2).all(|pair| pair[0] == pair[1]), "{problems:?}");
    for value in ["", "Bearer", "Basic eDp5", "Bearer et_x_y", &format!("Bearer {key}{key}")] {
        let headers = [("authorization", value)];
        let answer = world.send("GET", "/v1/settings", &headers, "").await;
        answer.expect_problem(401, "unauthorized");
    }
    world.send("GET", "/v1/settings", &[], "").await.expect_problem(401, "unauthorized");
    // A forged id without a valid key reveals nothing about ids.
    let headers = [("authorization", &*swapped(20))];
    world.send("GET", "/v1/url/x", &headers, "").await.expect_problem(401, "unauthorized");
    world.send("GET", "/v1/crawls/x", &headers, "").await.expect_problem(401, "unauthorized");
    let good = format!("bearer {key}");
    world.send("GET", "/v1/settings", &[("authorization", &good)], "").await.expect(200);
}

#[tokio::test]
async fn a_revoked_key_is_rejected_everywhere() {
    let world = World::new().await;
    let key = world.key().await;
    let id = world.crawl(&key).await;
    assert!(world.owner.revoke_key(&key[3..15]).await.unwrap());
    world.get(&key, &format!("/v1/crawls/{id}")).await.expect_problem(401, "unauthorized");
    let body = json!({ "url": "a.test" });
    world.post(&key, "/v1/url", &body).await.expect_problem(401, "unauthorized");
}

#[tokio::test]
async fn a_throttled_key_gets_a_retry_after() {
    let world = World::new().await;
    let limits = NewApiKey { requests_per_second: 0.1, burst: 3, ..generous() };
    let key = world.key_with(limits).await;
    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.push(world.get(&key, "/v1/settings").await);
    }
    let late = answers.pop().unwrap();
    let seconds: u64 = late.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=30).contains(&seconds), "{seconds}");
    late.expect_problem(429, "throttled");
    answers.remove(0).expect(200);
    // Requests that fail for another reason are throttled, too, so guesses are not free.
    world.get(&key, "/v1/url/x").await.expect_problem(429, "throttled");
    world.get(&key, "/v1/crawls/x").await.expect_problem(429, "throttled");
}

#[tokio::test]
async fn a_key_with_a_full_bucket_is_rejected_without_a_call() {
    let world = World::new().await;
    let with = |requests_per_second, burst| NewApiKey { requests_per_second, burst, ..generous() };
    let key = world.key_with(with(0.001, 1)).await;
    world.get(&key, "/v1/url/filter").await.expect(200);
    world.get(&key, "/v1/url/filter").await.expect_problem(429, "throttled");
    // Postgres would now accept the request, so the rejection shows that Postgres is not called.
    world.sql("update everytab.api_usage set level = 0");
    world.get(&key, "/v1/url/filter").await.expect_problem(429, "throttled");
    let key = world.key_with(with(2.0, 1)).await;
    for _ in 0..3 {
        until("room", async || world.get(&key, "/v1/url/filter").await.status == 200).await;
    }
    // A request that costs more than the bucket has room for does not block cheaper ones.
    let many = json!({ "urls": (0..150).map(|host| format!("h{host}.test")).collect::<Vec<_>>() });
    let key = world.key_with(with(0.001, 2)).await;
    world.get(&key, "/v1/url/filter").await.expect(200);
    world.post(&key, "/v1/url/batch", &many).await.expect_problem(429, "throttled");
    world.get(&key, "/v1/url/filter").await.expect(200);
}

#[tokio::test]
async fn settings_show_the_keys_limits_and_usage() {
    let world = World::new().await;
    let limits = NewApiKey { urls_a_day: Some(10), max_crawls: Some(2), ..generous() };
    let key = world.key_with(limits).await;
    world.crawl(&key).await;
    world.post(&key, "/v1/url", &json!({ "url": "a.test" })).await.expect(202);
    let settings = eventually("the count of open crawls", async || {
        let settings = world.get(&key, "/v1/settings").await.expect(200);
        (settings["key"]["open_crawls"] == 1).then_some(settings)
    })
    .await;
    let of_key = &settings["key"];
    assert_eq!((&of_key["urls_a_day"], &of_key["urls_today"]), (&json!(10), &json!(2)));
    assert_eq!((&of_key["max_crawls"], &of_key["open_crawls"]), (&json!(2), &json!(1)));
    assert_eq!(of_key["id"], key[3..15]);
    assert_eq!(settings["user_agent"], "TestBot/1.0 (+https://bot.test/)");
    assert_eq!(settings["contact"], "https://bot.test/");
    assert_eq!(settings["version"], "0.0.0-test");
    assert_eq!(settings["defaults"]["depth"], 16);
    assert_eq!(settings["limits"]["body_bytes"], 8 << 20);
    assert!(!settings.to_string().contains(&key[16..]), "the secret is shown");
}

#[tokio::test]
async fn the_quota_of_urls_counts_lists_and_single_ones() {
    let world = World::new().await;
    let key = world.key_with(NewApiKey { urls_a_day: Some(3), ..generous() }).await;
    world.post_lines(&key, "/v1/url/batch", "a.test\nb.test\n").await.expect(202);
    let body = json!({ "urls": ["c.test", "d.test"] });
    world.post(&key, "/v1/crawls", &body).await.expect_problem(429, "quota_urls");
    world.post(&key, "/v1/url", &json!({ "url": "c.test" })).await.expect(202);
    let refused = world.post(&key, "/v1/url", &json!({ "url": "d.test" })).await;
    assert!(refused.headers.contains_key("retry-after"), "{refused:?}");
    refused.expect_problem(429, "quota_urls");
}
