//! Tests starting, listing and reading crawls.

use everytab_coordinator::NewApiKey;
use serde_json::{Value, json};

use crate::world::{World, generous};

#[tokio::test]
async fn a_started_crawl_has_its_settings_and_can_be_read_at_its_location() {
    let world = World::new().await;
    let key = world.key().await;
    let body = json!({
        "urls": ["https://a.test/", "word", "b.test"],
        "settings": { "scope": "list", "depth": 3, "limit": 50, "delay_ms": 500 },
    });
    let answer = world.post(&key, "/v1/crawls", &body).await;
    let place = answer.headers["location"].to_str().unwrap().to_owned();
    let started = answer.expect(201);
    assert_eq!(place, format!("/v1/crawls/{}", started["id"].as_str().unwrap()));
    assert_eq!(started["accepted"].as_array().unwrap().len(), 2);
    assert_eq!(started["refused"][0]["line"], 2);
    let crawl = world.get(&key, &place).await.expect(200);
    assert_eq!((&crawl["state"], &crawl["seeds"]), (&json!("running"), &json!(2)));
    assert_eq!((&crawl["seeding"], &crawl["budget_left"]), (&json!(false), &json!(50)));
    for (name, value) in body["settings"].as_object().unwrap() {
        assert_eq!(&crawl["settings"][name], value, "{name}");
    }
    for operators in ["store", "owner", "crawl", "list_sites", "stores"] {
        assert!(crawl.get(operators).is_none() && crawl["settings"].get(operators).is_none());
    }
    let id = started["accepted"][1]["id"].as_str().unwrap();
    assert_eq!(world.get(&key, &format!("/v1/url/{id}")).await.expect(200)["state"], "due");
    let sites = "select jsonb_array_length(settings->'list_sites') from everytab.crawls";
    assert_eq!(world.sql(sites), "2");
}

#[tokio::test]
async fn a_crawl_with_more_urls_to_come_stays_open_until_the_last_request() {
    let world = World::new().await;
    let key = world.key().await;
    let empty = json!({ "urls": [], "more": true });
    let started = world.post(&key, "/v1/crawls", &empty).await.expect(201);
    let path = format!("/v1/crawls/{}", started["id"].as_str().unwrap());
    let more = format!("{path}/urls");
    world.post(&key, &more, &json!({ "urls": ["a.test"] })).await.expect(202);
    world.post_lines(&key, &format!("{more}?priority=1"), "b.test\n").await.expect(202);
    assert_eq!(world.get(&key, &path).await.expect(200)["seeding"], true);
    let last = world.post(&key, &more, &json!({ "last": true })).await.expect(202);
    assert_eq!(last["accepted"], json!([]));
    let crawl = world.get(&key, &path).await.expect(200);
    assert_eq!((&crawl["seeding"], &crawl["seeds"]), (&json!(false), &json!(2)));
    world.post(&key, &more, &json!({ "urls": [] })).await.expect_problem(422, "nothing_to_crawl");
}

#[tokio::test]
async fn crawls_can_be_paused_resumed_and_cancelled_until_they_end() {
    let world = World::new().await;
    let key = world.key().await;
    let id = world.crawl(&key).await;
    let to = |verb: &str| format!("/v1/crawls/{id}/{verb}");
    let state =
        async |verb| world.post(&key, &to(verb), &json!({})).await.expect(200)["state"].clone();
    assert_eq!(state("pause").await, "paused");
    assert_eq!(state("pause").await, "paused");
    assert_eq!(state("resume").await, "running");
    let cancelled = world.post(&key, &to("cancel"), &json!({})).await.expect(200);
    assert_eq!((&cancelled["state"], &cancelled["ended_by"]), (&json!("ended"), &json!("cancel")));
    assert_eq!(state("cancel").await, "ended");
    for verb in ["pause", "resume"] {
        world.post(&key, &to(verb), &json!({})).await.expect_problem(409, "crawl_ended");
    }
    let more = json!({ "urls": ["a.test"] });
    world.post(&key, &to("urls"), &more).await.expect_problem(409, "crawl_ended");
    let surprise = json!({ "now": true });
    world.post(&key, &to("pause"), &surprise).await.expect_problem(400, "unknown_field");
}

#[tokio::test]
async fn a_key_sees_its_own_crawls_page_by_page_and_no_others() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let mut expected = Vec::new();
    for _ in 0..5 {
        expected.insert(0, world.crawl(&key).await);
        world.crawl(&other).await;
    }
    let mut found = Vec::new();
    let mut path = "/v1/crawls?limit=2".to_owned();
    loop {
        let page = world.get(&key, &path).await.expect(200);
        let ids = page["crawls"].as_array().unwrap().iter();
        found.extend(ids.map(|crawl| crawl["id"].as_str().unwrap().to_owned()));
        let Some(next) = page.get("next").and_then(Value::as_str) else { break };
        let older = world.get(&key, &format!("/v1/crawls?limit=2&before={next}")).await;
        path = format!("/v1/crawls?limit=2&after={next}");
        assert_eq!(world.get(&key, &path).await.expect(200), older.expect(200));
        let both = world.get(&key, &format!("{path}&before={next}")).await;
        both.expect_problem(400, "invalid_parameter");
    }
    assert_eq!(found, expected);
    let page = world.get(&other, "/v1/crawls?limit=2").await.expect(200);
    let foreign = format!("/v1/crawls?before={}", page["next"].as_str().unwrap());
    world.get(&key, &foreign).await.expect_problem(400, "invalid_cursor");
    assert_eq!(
        world.get(&other, &foreign).await.expect(200)["crawls"].as_array().unwrap().len(),
        3
    );
}

#[tokio::test]
async fn resources_of_another_key_are_not_found() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let id = world.crawl(&key).await;
    let url = world.post(&key, "/v1/url", &json!({ "url": "a.test" })).await.expect(202);
    let url = url["id"].as_str().unwrap();
    let paths = [
        format!("/v1/crawls/{id}"),
        format!("/v1/crawls/{id}/hosts"),
        format!("/v1/crawls/{id}/feed"),
        format!("/v1/url/{url}"),
        "/v1/crawls/00000000-0000-0000-0000-000000000000".to_owned(),
        "/v1/crawls/not-an-id".to_owned(),
        "/v1/url/not-an-id".to_owned(),
        "/v1/url/%FF".to_owned(),
    ];
    for path in paths {
        let problem = world.get(&other, &path).await.expect_problem(404, "not_found");
        assert_eq!(problem.get("errors"), None, "{path}");
    }
    for verb in ["pause", "resume", "cancel", "urls"] {
        let path = format!("/v1/crawls/{id}/{verb}");
        let body = match verb {
            "urls" => json!({ "urls": ["a.test"] }),
            _ => json!({}),
        };
        world.post(&other, &path, &body).await.expect_problem(404, "not_found");
    }
    let into_it = json!({ "urls": ["a.test"], "crawl": id });
    world.post(&other, "/v1/url/batch", &into_it).await.expect_problem(404, "not_found");
    let crawl = world.get(&key, &format!("/v1/crawls/{id}")).await.expect(200);
    assert_eq!((&crawl["state"], &crawl["seeds"]), (&json!("running"), &json!(1)));
}

#[tokio::test]
async fn a_repeated_request_starts_one_crawl() {
    let world = World::new().await;
    let key = world.key().await;
    let bearer = format!("Bearer {key}");
    let send = async |name: &str, body: Value| {
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", name)];
        world.send("POST", "/v1/crawls", &headers, body.to_string()).await
    };
    let body = json!({ "urls": ["a.test"] });
    let first = send("one", body.clone()).await.expect(201);
    let again = send("one", body.clone()).await.expect(200);
    assert_eq!(first, again);
    let other = json!({ "urls": ["b.test"] });
    send("one", other.clone()).await.expect_problem(409, "idempotency_mismatch");
    assert_ne!(send("two", body.clone()).await.expect(201)["id"], first["id"]);
    send(&"x".repeat(256), body).await.expect_problem(400, "invalid_parameter");
    assert_eq!(world.sql("select count(*) from everytab.crawls"), "2");
    // The original request's filter may have been removed since.
    let filter = json!({ "name": "brief", "filter": {} });
    let filter = world.post(&key, "/v1/url/filter", &filter).await.expect(201);
    let filtered = json!({ "urls": ["a.test"], "settings": { "filter": "brief" } });
    let first = send("filtered", filtered.clone()).await.expect(201);
    let place = format!("/v1/url/filter/{}", filter["id"].as_str().unwrap());
    world.delete(&key, &place).await.expect(204);
    assert_eq!(send("filtered", filtered.clone()).await.expect(200), first);
    send("another", filtered).await.expect_problem(400, "invalid_setting");
    let deep = json!({ "url": "a.test", "depth": 1 }).to_string();
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "three")];
    let one = world.send("POST", "/v1/url", &headers, deep.clone()).await.expect(202);
    assert_eq!(world.send("POST", "/v1/url", &headers, deep).await.expect(202), one);
}

/// A request is charged only once, because its cost may be the bucket's whole capacity.
#[tokio::test]
async fn a_key_with_the_smallest_bucket_starts_a_crawl() {
    let world = World::new().await;
    let limits = NewApiKey { burst: 1, requests_per_second: 0.001, ..generous() };
    let key = world.key_with(limits).await;
    let body = json!({ "urls": ["a.test"] });
    world.post(&key, "/v1/crawls", &body).await.expect(201);
    world.post(&key, "/v1/crawls", &body).await.expect_problem(429, "throttled");
}

#[tokio::test]
async fn a_crawl_beyond_the_keys_limits_is_rejected_without_a_trace() {
    let world = World::new().await;
    let key = world.key_with(NewApiKey { max_crawls: Some(1), ..generous() }).await;
    let id = world.crawl(&key).await;
    let body = json!({ "urls": ["a.test"] });
    let problem = world.post(&key, "/v1/crawls", &body).await.expect_problem(429, "quota_crawls");
    assert_eq!(problem["detail"], "1 of 1 are used");
    assert_eq!(world.sql("select count(*) from everytab.crawls"), "1");
    world.post(&key, &format!("/v1/crawls/{id}/cancel"), &json!({})).await.expect(200);
    world.post(&key, "/v1/crawls", &body).await.expect(201);
    for (body, code) in [
        (json!({ "urls": ["a.test"], "settings": { "depth": 2000 } }), "invalid_setting"),
        (json!({ "urls": ["a.test"], "settings": { "include": ["re:("] } }), "invalid_pattern"),
        // Postgres cannot store this character.
        (
            json!({ "urls": ["a.test"], "settings": { "exclude": ["re:a\u{0}"] } }),
            "invalid_setting",
        ),
        (json!({ "urls": ["a.test"], "settings": { "store": "x" } }), "unknown_field"),
        (json!({ "urls": "a.test" }), "invalid_parameter"),
    ] {
        world.post(&key, "/v1/crawls", &body).await.expect_problem(400, code);
    }
    world.post(&key, "/v1/crawls", &json!({})).await.expect_problem(422, "nothing_to_crawl");
    world
        .post_lines(&key, "/v1/crawls", "a.test")
        .await
        .expect_problem(415, "unsupported_media_type");
}

#[tokio::test]
async fn a_crawl_can_only_repeat_an_ended_crawl_of_the_same_key() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let earlier = world.crawl(&key).await;
    let again = |more: Value| {
        let mut settings = json!({ "again": earlier });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "urls": ["a.test"], "settings": settings })
    };
    let ask = async |key: &str, body: &Value| world.post(key, "/v1/crawls", body).await;
    let running = ask(&key, &again(json!({}))).await.expect_problem(409, "crawl_open");
    assert_eq!(running["detail"], "settings.again: the crawl has not ended");
    let cancel = format!("/v1/crawls/{earlier}/cancel");
    world.post(&key, &cancel, &json!({})).await.expect(200);
    ask(&other, &again(json!({}))).await.expect_problem(404, "not_found");
    let unknown = json!({ "urls": ["a.test"], "settings": { "again": world.crawl(&other).await } });
    ask(&key, &unknown).await.expect_problem(404, "not_found");
    let settings = json!({ "duplicates": "reject", "store_again_after_s": 60 });
    let started = ask(&key, &again(settings)).await.expect(201);
    let path = format!("/v1/crawls/{}", started["id"].as_str().unwrap());
    let repeated = world.get(&key, &path).await.expect(200);
    assert_eq!(repeated["settings"]["again"], Value::from(earlier.clone()));
    let schedule = json!({ "every": "1h", "urls": ["a.test"], "settings": { "again": earlier } });
    world.post(&other, "/v1/url/schedule", &schedule).await.expect_problem(404, "not_found");
    world.post(&key, "/v1/url/schedule", &schedule).await.expect(201);
}
