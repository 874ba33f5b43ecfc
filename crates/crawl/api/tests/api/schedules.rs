//! Tests schedules, which start crawls regularly.

use serde_json::{Value, json};

use crate::world::World;

const PATH: &str = "/v1/url/schedule";

fn daily() -> Value {
    json!({
        "name": "the night", "at": "03:00", "days": ["thu", "mon"],
        "urls": ["https://a.test/", "word", "b.test"],
        "settings": { "scope": "list", "depth": 1, "limit": 50, "delay_ms": 500 },
    })
}

#[tokio::test]
async fn schedules_can_be_added_read_and_removed() {
    let world = World::new().await;
    let key = world.key().await;
    let answer = world.post(&key, PATH, &daily()).await;
    let place = answer.headers["location"].to_str().unwrap().to_owned();
    let added = answer.expect(201);
    assert_eq!(place, format!("{PATH}/{}", added["id"].as_str().unwrap()));
    assert_eq!((&added["seeds"], &added["refused"][0]["line"]), (&json!(2), &json!(2)));
    let shown = world.get(&key, &place).await.expect(200);
    assert_eq!((&shown["name"], &shown["at"]), (&json!("the night"), &json!("03:00")));
    assert_eq!((&shown["days"], shown.get("every")), (&json!(["mon", "thu"]), None));
    assert_eq!((&shown["seeds"], &shown["fired"]), (&json!(2), &json!(0)));
    assert_eq!(shown["next_at"], added["next_at"]);
    assert!(added["next_at"].as_str().unwrap().contains("T03:00:00"), "{added}");
    for (name, value) in daily()["settings"].as_object().unwrap() {
        assert_eq!(&shown["settings"][name], value, "{name}");
    }
    for operators in ["store", "owner", "links", "weekdays"] {
        assert_eq!(shown.get(operators), None, "{operators}");
    }
    let sites = "select jsonb_array_length(settings->'list_sites') from everytab.schedules";
    assert_eq!(world.sql(sites), "2");
    let body = json!({ "every": "24h", "urls": ["a.test"] });
    let other = world.post(&key, PATH, &body).await.expect(201);
    assert_eq!(other["name"], other["id"]);
    let list = world.get(&key, PATH).await.expect(200);
    let names: Vec<&Value> =
        list["schedules"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names.len(), 2);
    assert!(names.contains(&&json!("the night")) && names.contains(&&other["id"]), "{names:?}");
    let path = format!("{PATH}/{}", other["id"].as_str().unwrap());
    assert_eq!(world.get(&key, &path).await.expect(200)["every"], "1d");
    assert_eq!(world.delete(&key, &path).await.expect(204), Value::Null);
    world.delete(&key, &path).await.expect_problem(404, "not_found");
    world.get(&key, &path).await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn a_due_schedule_starts_a_crawl_or_stores_the_error() {
    let world = World::new().await;
    let key = world.key().await;
    let added = world.post(&key, PATH, &daily()).await.expect(201);
    let path = format!("{PATH}/{}", added["id"].as_str().unwrap());
    let fire = || {
        world.sql("update everytab.schedules set next_at = now() - interval '1 second'");
        world.sql("select coordinator.fire_schedules()")
    };
    assert_eq!(fire(), "1");
    let shown = world.get(&key, &path).await.expect(200);
    assert_eq!((&shown["fired"], &shown["skipped"]), (&json!(1), &json!(0)));
    let crawl = format!("/v1/crawls/{}", shown["last_crawl"].as_str().unwrap());
    let found = world.get(&key, &crawl).await.expect(200);
    assert_eq!((&found["seeds"], &found["budget_left"]), (&json!(2), &json!(50)));
    assert_eq!(fire(), "0");
    assert_eq!(world.get(&key, &path).await.expect(200)["skipped"], 1);
    world.post(&key, &format!("{crawl}/cancel"), &json!({})).await.expect(200);
    world.sql("update everytab.api_keys set urls_a_day = 2");
    assert_eq!(fire(), "0");
    let shown = world.get(&key, &path).await.expect(200);
    assert_eq!((&shown["skipped"], &shown["last_error"]), (&json!(2), &json!("quota_urls")));
    world.sql("update everytab.schedules set last_error = 'relation x is away'");
    assert_eq!(world.get(&key, &path).await.expect(200)["last_error"], "internal");
}

#[tokio::test]
async fn a_repeated_request_adds_one_schedule() {
    let world = World::new().await;
    let key = world.key().await;
    let bearer = format!("Bearer {key}");
    let send = async |name: &str, body: &Value| {
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", name)];
        world.send("POST", PATH, &headers, body.to_string()).await
    };
    let first = send("one", &daily()).await.expect(201);
    assert_eq!(send("one", &daily()).await.expect(200), first);
    let nameless = json!({ "every": "60s", "urls": ["a.test"] });
    send("one", &nameless).await.expect_problem(409, "idempotency_mismatch");
    let second = send("two", &nameless).await.expect(201);
    assert_eq!(send("two", &nameless).await.expect(200), second);
    send("three", &daily()).await.expect_problem(409, "name_taken");
    assert_eq!(world.sql("select count(*) from everytab.schedules"), "2");
    // A key's idempotency keys are shared by all paths, so using one again for another path is a
    // conflict.
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "one")];
    let body = json!({ "urls": ["a.test"] }).to_string();
    let crawl = world.send("POST", "/v1/crawls", &headers, body).await;
    crawl.expect_problem(409, "idempotency_mismatch");
}

#[tokio::test]
async fn an_invalid_schedule_is_rejected_by_its_field_and_not_stored() {
    let world = World::new().await;
    let key = world.key().await;
    let with = |field: &str, value: Value| {
        let mut body = daily();
        body[field] = value;
        body
    };
    for (body, status, code, field) in [
        (json!({ "urls": ["a.test"] }), 400, "invalid_parameter", Some("every")),
        (with("every", json!("24h")), 400, "invalid_parameter", Some("every")),
        (with("at", json!("24:00")), 400, "invalid_parameter", Some("at")),
        (with("at", json!(3)), 400, "invalid_parameter", None),
        (with("days", json!([])), 400, "invalid_parameter", Some("days")),
        (with("days", json!(["monday"])), 400, "invalid_parameter", None),
        (with("name", json!("")), 400, "invalid_parameter", Some("name")),
        (with("name", json!("a\u{0}b")), 400, "invalid_parameter", Some("name")),
        (with("urls", json!("a.test")), 400, "invalid_parameter", None),
        (with("urls", json!(["word", ""])), 422, "nothing_to_crawl", None),
        (with("urls", json!([])), 422, "nothing_to_crawl", None),
        (with("urls", json!(vec!["a.test"; 10_001])), 400, "too_many_urls", None),
        (
            with("settings", json!({ "depth": 9999 })),
            400,
            "invalid_setting",
            Some("settings.depth"),
        ),
        (with("settings", json!({ "include": ["re:("] })), 400, "invalid_pattern", None),
        (
            with("settings", json!({ "filter": "none" })),
            400,
            "invalid_setting",
            Some("settings.filter"),
        ),
        (with("settings", json!({ "stores": [] })), 400, "unknown_field", Some("stores")),
        (with("owner", json!("operator")), 400, "unknown_field", Some("owner")),
        (with("cron", json!("* * * * *")), 400, "unknown_field", Some("cron")),
    ] {
        let problem = world.post(&key, PATH, &body).await.expect_problem(status, code);
        if let Some(field) = field {
            assert_eq!(problem["errors"][0]["field"], field, "{problem}");
        }
    }
    let lines = world.post_lines(&key, PATH, "a.test").await;
    lines.expect_problem(415, "unsupported_media_type");
    world.get(&key, &format!("{PATH}?sort=1")).await.expect_problem(400, "unknown_field");
    assert_eq!(world.sql("select count(*) from everytab.schedules"), "0");
}

#[tokio::test]
async fn schedules_are_not_found_with_another_or_a_revoked_key() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let added = world.post(&key, PATH, &daily()).await.expect(201);
    let path = format!("{PATH}/{}", added["id"].as_str().unwrap());
    let none = format!("{PATH}/00000000-0000-0000-0000-000000000000");
    for path in [&path, &none, &format!("{PATH}/x"), &format!("{PATH}/%FF")] {
        world.get(&other, path).await.expect_problem(404, "not_found");
        world.delete(&other, path).await.expect_problem(404, "not_found");
    }
    assert_eq!(world.get(&other, PATH).await.expect(200)["schedules"], json!([]));
    world.post(&other, PATH, &daily()).await.expect(201);
    world.get(&key, &path).await.expect(200);
    assert!(world.owner.revoke_key(&key[3..15]).await.unwrap());
    world.post(&key, PATH, &daily()).await.expect_problem(401, "unauthorized");
    world.get(&key, PATH).await.expect_problem(401, "unauthorized");
    world.get(&key, &path).await.expect_problem(401, "unauthorized");
    world.delete(&key, &path).await.expect_problem(401, "unauthorized");
}

#[tokio::test]
async fn a_key_has_a_hundred_schedules() {
    let world = World::new().await;
    let key = world.key().await;
    let body = json!({ "every": "24h", "urls": ["a.test"] });
    for _ in 0..100 {
        world.post(&key, PATH, &body).await.expect(201);
    }
    let refused = world.post(&key, PATH, &body).await.expect_problem(403, "not_allowed");
    assert_eq!(refused["detail"], "the limit is 100");
}
