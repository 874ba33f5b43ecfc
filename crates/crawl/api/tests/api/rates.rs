//! Tests request rates and delays for a key's crawls.

use everytab_coordinator::NewApiKey;
use serde_json::{Value, json};

use crate::world::{World, generous};

const PATH: &str = "/v1/rate";

fn limited() -> NewApiKey {
    NewApiKey { rate: Some(10), min_delay_ms: 500, ..generous() }
}

fn of_crawl(world: &World) -> String {
    world.sql(
        "select concat_ws(' ', rate, min_delay_ms) from everytab.crawls order by crawl limit 1",
    )
}

fn of_owner(world: &World) -> String {
    world.sql("select concat_ws(' ', rate, min_delay_ms) from everytab.owner_limits")
}

#[tokio::test]
async fn a_rate_applies_to_all_crawls_of_the_key_or_to_one() {
    let world = World::new().await;
    let key = world.key_with(limited()).await;
    let id = world.crawl(&key).await;
    let all = json!({ "rate": 5, "min_delay_ms": 2000 });
    let answer = world.post(&key, PATH, &all).await.expect(200);
    assert_eq!(answer, json!({ "rate": 5.0, "min_delay_ms": 2000 }));
    assert_eq!((of_owner(&world).as_str(), of_crawl(&world).as_str()), ("5 2000", ""));
    let one = json!({ "crawl": id, "rate": 0.5 });
    let answer = world.post(&key, PATH, &one).await.expect(200);
    assert_eq!(answer, json!({ "crawl": id, "rate": 0.5 }));
    assert_eq!((of_owner(&world).as_str(), of_crawl(&world).as_str()), ("5 2000", "0.5"));
    let one = json!({ "crawl": id, "min_delay_ms": 500 });
    world.post(&key, PATH, &one).await.expect(200);
    assert_eq!(of_crawl(&world), "0.5 500");
    let answer = world.post(&key, PATH, &json!({ "crawl": id, "rate": null })).await.expect(200);
    assert_eq!(answer, json!({ "crawl": id, "rate": null }));
    world.post(&key, PATH, &json!({ "min_delay_ms": null })).await.expect(200);
    assert_eq!((of_owner(&world).as_str(), of_crawl(&world).as_str()), ("5", "500"));
}

#[tokio::test]
async fn rates_beyond_the_operators_limits_change_nothing() {
    let world = World::new().await;
    let key = world.key_with(limited()).await;
    let id = world.crawl(&key).await;
    for body in [
        json!({ "rate": 10.5 }),
        json!({ "min_delay_ms": 499 }),
        json!({ "rate": 10.5, "min_delay_ms": 500 }),
        json!({ "rate": 1, "min_delay_ms": 499 }),
        json!({ "rate": 1, "min_delay_ms": 0 }),
    ] {
        let mut of_one = body.clone();
        of_one["crawl"] = Value::from(id.as_str());
        for body in [body, of_one] {
            let problem = world.post(&key, PATH, &body).await.expect_problem(403, "not_allowed");
            assert!(problem["detail"].is_string(), "{problem}");
        }
    }
    assert_eq!((of_owner(&world).as_str(), of_crawl(&world).as_str()), ("", ""));
    let most = json!({ "rate": 10, "min_delay_ms": 500 });
    world.post(&key, PATH, &most).await.expect(200);
}

#[tokio::test]
async fn invalid_rates_and_unknown_crawls_are_rejected() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let id = world.crawl(&key).await;
    for (body, code) in [
        (json!({}), "invalid_parameter"),
        (json!({ "crawl": id }), "invalid_parameter"),
        (json!({ "rate": 0 }), "invalid_parameter"),
        (json!({ "rate": -1 }), "invalid_parameter"),
        (json!({ "rate": 1e6 }), "invalid_parameter"),
        (json!({ "rate": "5" }), "invalid_parameter"),
        (json!({ "min_delay_ms": 3_600_001 }), "invalid_parameter"),
        (json!({ "min_delay_ms": 0.5 }), "invalid_parameter"),
        (json!({ "crawl": "x", "rate": 1 }), "invalid_parameter"),
        (json!({ "rates": 1 }), "unknown_field"),
    ] {
        world.post(&key, PATH, &body).await.expect_problem(400, code);
    }
    world.post_lines(&key, PATH, "5").await.expect_problem(415, "unsupported_media_type");
    for crawl in [id.as_str(), "00000000-0000-0000-0000-000000000000"] {
        let body = json!({ "crawl": crawl, "rate": 1 });
        world.post(&other, PATH, &body).await.expect_problem(404, "not_found");
    }
    assert_eq!(of_crawl(&world), "");
    world.post(&key, &format!("/v1/crawls/{id}/cancel"), &json!({})).await.expect(200);
    let late = json!({ "crawl": id, "rate": 1 });
    world.post(&key, PATH, &late).await.expect_problem(409, "crawl_ended");
    assert!(world.owner.revoke_key(&key[3..15]).await.unwrap());
    world.post(&key, PATH, &json!({ "rate": 1 })).await.expect_problem(401, "unauthorized");
}
