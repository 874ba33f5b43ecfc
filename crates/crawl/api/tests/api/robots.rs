//! Tests overrides that a key's crawls obey in addition to robots.txt.

use serde_json::{Value, json};

use crate::world::World;

const PATH: &str = "/v1/url/robots";

#[tokio::test]
async fn overrides_can_be_added_read_and_removed() {
    let world = World::new().await;
    let key = world.key().await;
    let given = json!({
        "site": "Bücher.example", "user_agent": "GPTBot", "rules": "Disallow: /a\nCrawl-delay: 9",
        "delay_ms": 5000,
    });
    let answer = world.post(&key, PATH, &given).await;
    let place = answer.headers["location"].to_str().unwrap().to_owned();
    let added = answer.expect(201);
    assert_eq!(place, format!("{PATH}/{}", added["id"].as_str().unwrap()));
    assert_eq!(added["site"], "xn--bcher-kva.example");
    for field in ["user_agent", "rules", "delay_ms"] {
        assert_eq!(added[field], given[field]);
    }
    assert_eq!(world.get(&key, &place).await.expect(200), added);
    let second = world.post(&key, PATH, &json!({ "delay_ms": 300_000 })).await.expect(201);
    assert_eq!((second.get("site"), second.get("rules")), (None, None));
    let list = world.get(&key, PATH).await.expect(200);
    let list = list["robots"].as_array().unwrap();
    assert!(list.len() == 2 && list.contains(&added) && list.contains(&second), "{list:?}");
    // Workers load the overrides of keys with open crawls.
    world.crawl(&key).await;
    assert_eq!(world.owner.load_robots_overrides().await.unwrap().len(), 2);
    assert_eq!(world.delete(&key, &place).await.expect(204), Value::Null);
    world.delete(&key, &place).await.expect_problem(404, "not_found");
    world.get(&key, &place).await.expect_problem(404, "not_found");
    assert_eq!(world.get(&key, PATH).await.expect(200)["robots"], json!([second]));
}

#[tokio::test]
async fn overrides_that_loosen_or_have_no_effect_are_rejected_by_their_field() {
    let world = World::new().await;
    let key = world.key().await;
    for (body, code, field) in [
        (json!({}), "invalid_parameter", Some("rules")),
        (json!({ "site": "a.test" }), "invalid_parameter", Some("rules")),
        (json!({ "site": "https://a.test/", "delay_ms": 1 }), "invalid_parameter", Some("site")),
        (json!({ "site": "", "delay_ms": 1 }), "invalid_parameter", Some("site")),
        (json!({ "site": "a\u{0}.test", "delay_ms": 1 }), "invalid_parameter", Some("site")),
        (json!({ "user_agent": "Bot/1.0" }), "invalid_parameter", Some("user_agent")),
        (json!({ "user_agent": "" }), "invalid_parameter", Some("user_agent")),
        (json!({ "rules": "" }), "invalid_parameter", Some("rules")),
        (json!({ "rules": "Disallow: /\u{0}" }), "invalid_parameter", Some("rules")),
        (json!({ "rules": "User-agent: *\nAllow: /" }), "invalid_parameter", Some("rules")),
        (json!({ "rules": "useragent: x" }), "invalid_parameter", Some("rules")),
        (json!({ "rules": "Disalow: /" }), "invalid_parameter", Some("rules")),
        (json!({ "rules": "#".repeat(5_000) }), "invalid_parameter", Some("rules")),
        (json!({ "delay_ms": -1 }), "invalid_parameter", Some("delay_ms")),
        (json!({ "delay_ms": 300_001 }), "invalid_parameter", Some("delay_ms")),
        (json!({ "delay_ms": 1e10 }), "invalid_parameter", None),
        (json!({ "ignore": true }), "unknown_field", Some("ignore")),
        (json!({ "delay_ms": 1, "owner": "operator" }), "unknown_field", Some("owner")),
    ] {
        let problem = world.post(&key, PATH, &body).await.expect_problem(400, code);
        if let Some(field) = field {
            assert_eq!(problem["errors"][0]["field"], field, "{problem}");
        }
    }
    let lines = world.post_lines(&key, PATH, "Disallow: /").await;
    lines.expect_problem(415, "unsupported_media_type");
    assert_eq!(world.sql("select count(*) from everytab.robots_overrides"), "0");
}

#[tokio::test]
async fn overrides_belong_to_a_key_and_number_at_most_64() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let body = json!({ "rules": "Disallow: /" });
    let added = world.post(&key, PATH, &body).await.expect(201);
    let place = format!("{PATH}/{}", added["id"].as_str().unwrap());
    for path in [&place, &format!("{PATH}/{}", uuid::Uuid::nil()), &format!("{PATH}/x")] {
        world.get(&other, path).await.expect_problem(404, "not_found");
        world.delete(&other, path).await.expect_problem(404, "not_found");
    }
    assert_eq!(world.get(&other, PATH).await.expect(200)["robots"], json!([]));
    for _ in 1..64 {
        world.post(&key, PATH, &body).await.expect(201);
    }
    let refused = world.post(&key, PATH, &body).await.expect_problem(403, "not_allowed");
    assert_eq!(refused["detail"], "the limit is 64");
    assert!(world.owner.revoke_key(&key[3..15]).await.unwrap());
    world.get(&key, PATH).await.expect_problem(401, "unauthorized");
    world.get(&key, &place).await.expect_problem(401, "unauthorized");
    world.post(&key, PATH, &body).await.expect_problem(401, "unauthorized");
    world.delete(&key, &place).await.expect_problem(401, "unauthorized");
}
