//! Tests webhooks over HTTP. No worker sends events here.

use everytab_frontier::{CanonicalUrl, ParameterList, site_hash};
use serde_json::{Value, json};

use crate::{
    schema::problems_of,
    world::{Answer, World},
};

const PATH: &str = "/v1/webhooks";

fn body() -> Value {
    json!({
        "url": "https://Hook.test:443/x?y", "events": ["url.done", "crawl.ended"],
        "description": "the nightly import",
    })
}

impl World {
    async fn post_nothing(&self, key: &str, path: &str) -> Answer {
        self.send("POST", path, &[("authorization", &format!("Bearer {key}"))], "").await
    }

    async fn patch(&self, key: &str, path: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {key}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        self.send("PATCH", path, &headers, body.to_string()).await
    }
}

#[tokio::test]
async fn webhooks_can_be_managed_and_show_their_secret_once() {
    let world = World::new().await;
    let key = world.key().await;
    let answer = world.post(&key, PATH, &body()).await;
    let place = answer.headers["location"].to_str().unwrap().to_owned();
    let added = answer.expect(201);
    assert_eq!(place, format!("{PATH}/{}", added["id"].as_str().unwrap()));
    let secret = added["secret"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("whsec_") && secret.len() == 6 + 44, "{secret}");
    let shown = world.get(&key, &place).await.expect(200);
    assert_eq!(shown["url"], "https://hook.test/x?y");
    assert_eq!(shown["events"], json!(["crawl.ended", "url.done"]));
    assert_eq!((&shown["enabled"], &shown["pending"]), (&json!(true), &json!(0)));
    for hidden in ["secret", "key", "lease_token", "disabled_at", "last_failure"] {
        assert_eq!(shown.get(hidden), None, "{hidden}");
    }
    let listed = world.get(&key, PATH).await.expect(200);
    assert_eq!(listed["webhooks"], json!([shown]));
    let change = json!({ "events": ["schedule.skipped"], "description": "", "enabled": false });
    let changed = world.patch(&key, &place, &change).await.expect(200);
    assert_eq!((&changed["url"], changed.get("description")), (&shown["url"], None));
    assert_eq!(changed["events"], json!(["schedule.skipped"]));
    assert_eq!(changed["disabled_because"], "requested");
    world
        .post_nothing(&key, &format!("{place}/test"))
        .await
        .expect_problem(409, "webhook_disabled");
    let enabled = world.patch(&key, &place, &json!({ "enabled": true })).await.expect(200);
    assert_eq!((&enabled["enabled"], enabled.get("disabled_because")), (&json!(true), None));
    let test = world.post_nothing(&key, &format!("{place}/test")).await.expect(202);
    let event = world.sql("select id from everytab.webhook_events").replace('-', "");
    assert_eq!(test["id"], format!("msg_{event}"));
    assert_eq!(world.get(&key, &place).await.expect(200)["pending"], 1);
    let rotated = world.post_nothing(&key, &format!("{place}/rotate")).await.expect(200);
    assert_ne!(rotated["secret"], secret.as_str());
    assert_eq!(world.delete(&key, &place).await.expect(204), Value::Null);
    world.get(&key, &place).await.expect_problem(404, "not_found");
    assert_eq!(world.sql("select count(*) from everytab.webhook_events"), "0");
}

#[tokio::test]
async fn an_invalid_webhook_is_rejected_by_its_field() {
    let world = World::new().await;
    let key = world.key().await;
    let with = |field: &str, value: Value| {
        let mut body = body();
        body[field] = value;
        body
    };
    let long = "x".repeat(201);
    for (body, code, field) in [
        (json!({ "events": ["url.done"] }), "invalid_parameter", "url"),
        (with("url", json!("http://hook.test/")), "invalid_url", "url"),
        (with("url", json!("https://user:word@hook.test/")), "invalid_url", "url"),
        (with("url", json!("https://hook.test/#part")), "invalid_url", "url"),
        (with("url", json!("https://2130706433/")), "invalid_url", "url"),
        (with("url", json!("https://[::ffff:127.0.0.1]/")), "invalid_url", "url"),
        (with("url", json!("https://169.254.169.254/latest")), "invalid_url", "url"),
        (with("url", json!("https://hook.test:22/")), "port_not_allowed", "url"),
        (with("events", json!([])), "invalid_parameter", "events"),
        (with("events", json!(["url.done", "url.done"])), "invalid_parameter", "events"),
        (with("description", json!(long)), "invalid_parameter", "description"),
        (with("description", json!("a\nb")), "invalid_parameter", "description"),
        (with("secret", json!("whsec_x")), "unknown_field", "secret"),
    ] {
        let problem = world.post(&key, PATH, &body).await.expect_problem(400, code);
        assert_eq!(problem["errors"][0]["field"], field, "{problem}");
    }
    for events in [json!(["webhook.test"]), json!("url.done"), json!(["page.captured"])] {
        let problem = world.post(&key, PATH, &with("events", events)).await;
        problem.expect_problem(400, "invalid_parameter");
    }
    world.get(&key, &format!("{PATH}?limits=1")).await.expect_problem(400, "unknown_field");
    assert_eq!(world.sql("select count(*) from everytab.webhooks"), "0");
    let added = world.post(&key, PATH, &body()).await.expect(201);
    let path = format!("{PATH}/{}", added["id"].as_str().unwrap());
    let change = json!({ "url": "https://127.1/" });
    world.patch(&key, &path, &change).await.expect_problem(400, "invalid_url");
}

#[tokio::test]
async fn webhooks_are_not_found_with_another_or_a_revoked_key() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let added = world.post(&key, PATH, &body()).await.expect(201);
    let path = format!("{PATH}/{}", added["id"].as_str().unwrap());
    let none = format!("{PATH}/00000000-0000-0000-0000-000000000000");
    for path in [&path, &none, &format!("{PATH}/x"), &format!("{PATH}/%FF")] {
        world.get(&other, path).await.expect_problem(404, "not_found");
        world.delete(&other, path).await.expect_problem(404, "not_found");
        let change = json!({ "enabled": false });
        world.patch(&other, path, &change).await.expect_problem(404, "not_found");
        for verb in ["rotate", "test"] {
            let path = format!("{path}/{verb}");
            world.post_nothing(&other, &path).await.expect_problem(404, "not_found");
        }
    }
    assert_eq!(world.get(&other, PATH).await.expect(200)["webhooks"], json!([]));
    assert!(world.owner.revoke_key(&key[3..15]).await.unwrap());
    world.get(&key, &path).await.expect_problem(401, "unauthorized");
    world.post(&key, PATH, &body()).await.expect_problem(401, "unauthorized");
}

#[tokio::test]
async fn a_key_has_ten_webhooks() {
    let world = World::new().await;
    let key = world.key().await;
    for _ in 0..10 {
        world.post(&key, PATH, &body()).await.expect(201);
    }
    let refused = world.post(&key, PATH, &body()).await.expect_problem(403, "not_allowed");
    assert_eq!(refused["detail"], "the limit is 10");
}

/// In an event, a URL has the same ID as in the response to its submission.
#[tokio::test]
async fn each_event_matches_the_description() {
    let world = World::new().await;
    let key = world.key().await;
    let all = json!({ "url": "https://hook.test/",
                      "events": ["crawl.ended", "url.done", "schedule.skipped"] });
    let hook = world.post(&key, PATH, &all).await.expect(201);
    let hook = hook["id"].as_str().unwrap();
    let url = "https://a.test/page";
    let submitted = world.post(&key, "/v1/url", &json!({ "url": url })).await.expect(202);
    let parsed = CanonicalUrl::parse(url, &ParameterList::default()).unwrap();
    let kept = |hash: u64| (hash ^ (1 << 63)).cast_signed();
    let (host, hash) = (kept(site_hash(parsed.host())), kept(parsed.hash().0));
    let tell = |record: &str| {
        world.sql(&format!(
            "select coordinator.tell_urls('{{}}', array[jsonb_populate_record(
                null::everytab.fetch_row, jsonb_build_object(
                    'crawl', (select max(crawl) from everytab.crawls), 'host_hash', {host},
                    'url_hash', {hash}, 'url', '{url}', 'at', now(), 'depth', 0, 'status', 200,
                    'outcome', 'ok', 'bytes', 9, 'is_no_page', false) || '{record}')])"
        ))
    };
    tell(r#"{"object": "an/object.warc.gz", "record_offset": 0, "record_length": 99}"#);
    tell("{}");
    let crawl = world.crawl(&key).await;
    world.post(&key, &format!("/v1/crawls/{crawl}/cancel"), &json!({})).await.expect(200);
    let schedule = json!({ "every": "24h", "urls": ["a.test"] });
    world.post(&key, "/v1/url/schedule", &schedule).await.expect(201);
    for limit in ["null", "0"] {
        world.sql(&format!("update everytab.api_keys set pages_a_day = {limit}"));
        world.sql("update everytab.schedules set next_at = now()");
        world.sql("select coordinator.fire_schedules()");
    }
    world.post_nothing(&key, &format!("{PATH}/{hook}/test")).await.expect(202);
    let bodies = world.sql("select body from everytab.webhook_events order by number");
    let events: Vec<Value> =
        bodies.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let whole: Value = serde_json::from_str(&everytab_api::description_json().unwrap()).unwrap();
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected = ["url.done", "url.done", "crawl.ended", "schedule.skipped", "webhook.test"];
    assert_eq!(types, expected);
    for event in &events {
        let operation = &whole["webhooks"][event["type"].as_str().unwrap()]["post"];
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{event}");
        assert_eq!(problems_of(&whole, schema, event), Vec::<String>::new(), "{event}");
    }
    assert_eq!(events[0]["data"]["id"], submitted["id"]);
    assert_eq!(events[0]["data"]["record"]["length"], 99);
    assert_eq!(events[1]["data"].get("record"), None);
    assert_eq!(events[2]["data"]["crawl"], crawl.as_str());
    assert_eq!(events[3]["data"]["reason"], "quota_pages");
    assert_eq!(events[4]["data"]["webhook"], hook);
}
