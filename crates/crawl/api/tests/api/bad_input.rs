//! Tests input that only broken or hostile clients send.

use everytab_patience::in_time;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::world::World;

async fn raw(world: &World, bytes: &[u8]) -> String {
    let address = world.base.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The service may respond and close before it has read all bytes.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = in_time("the end of the answer", stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn invalid_or_deep_json_and_unknown_fields_are_rejected() {
    let world = World::new().await;
    let key = world.key().await;
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let deep = format!("{{\"url\": {}", "[".repeat(100_000));
    for (body, code) in [
        ("", "invalid_json"),
        ("{", "invalid_json"),
        ("null", "invalid_parameter"),
        ("{\"url\": NaN}", "invalid_json"),
        ("{\"url\": \"a.test\"} {}", "invalid_json"),
        ("{\"url\": \"a.test\", \"url\": \"b.test\"}", "invalid_parameter"),
        ("{\"url\": \"a.test\", \"max_age_s\": 1e999}", "invalid_json"),
        ("{\"url\": \"a.test\", \"max_age_s\": -1}", "invalid_parameter"),
        ("{\"url\": \"a.test\", \"__proto__\": {}}", "unknown_field"),
        (deep.as_str(), "invalid_json"),
        ("{\"url\": \"a.test\u{0}\"}", "invalid_json"),
        ("[\"a.test\"]", "invalid_parameter"),
    ] {
        let answer = world.send("POST", "/v1/url", &headers, body).await;
        answer.expect_problem(400, code);
    }
    let not_utf8 = world.send("POST", "/v1/url", &headers, b"{\"url\": \"\xff\"}".to_vec()).await;
    not_utf8.expect_problem(400, "invalid_json");
    let crawl = json!({ "urls": ["a.test"], "settings": [] });
    for (path, body) in [
        ("/v1/crawls", &crawl),
        ("/v1/url/filter", &json!({ "name": "f", "filter": [] })),
        ("/v1/url/filter", &json!({ "name": "f", "filter": { "rules": [["x", "drop"]] } })),
        ("/v1/rate", &json!([])),
    ] {
        world.post(&key, path, body).await.expect_problem(400, "invalid_parameter");
    }
    assert_eq!(world.sql("select count(*) from everytab.links"), "0");
    assert_eq!(world.sql("select count(*) from everytab.crawls"), "0");
}

#[tokio::test]
async fn other_body_types_are_rejected() {
    let world = World::new().await;
    let bearer = format!("Bearer {}", world.key().await);
    let refused = [
        ("content-type", "text/html"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("content-type", "application/json; charset=utf-16"),
        ("content-encoding", "gzip"),
    ];
    for header in refused {
        let headers = [("authorization", bearer.as_str()), header];
        for path in ["/v1/url", "/v1/url/batch", "/v1/crawls"] {
            let answer = world.send("POST", path, &headers, "{\"url\": \"a.test\"}").await;
            answer.expect_problem(415, "unsupported_media_type");
        }
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_rejected_with_and_without_a_length() {
    let world = World::new().await;
    let bearer = format!("Bearer {}", world.key().await);
    let headers = [("authorization", bearer.as_str()), ("content-type", "text/plain")];
    let large = vec![b'\n'; (8 << 20) + 1];
    let answer = world.send("POST", "/v1/url/batch", &headers, large).await;
    answer.expect_problem(413, "body_too_large");
    let fits = vec![b'\n'; 8 << 20];
    let answer = world.send("POST", "/v1/url/batch", &headers, fits).await;
    answer.expect_problem(422, "nothing_to_crawl");
    let mut bytes = format!(
        "POST /v1/url/batch HTTP/1.1\r\nhost: x\r\nauthorization: {bearer}\r\n\
         content-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    for _ in 0..160 {
        bytes.extend(b"10000\r\n");
        bytes.extend(vec![b'\n'; 0x10000]);
        bytes.extend(b"\r\n");
    }
    assert!(raw(&world, &bytes).await.contains("body_too_large"));
}

#[tokio::test]
async fn a_large_body_without_a_valid_key_is_not_read() {
    let world = World::new().await;
    let wrong = format!("Bearer et_{}_{}", "a".repeat(12), "a".repeat(52));
    let headers = [("authorization", wrong.as_str()), ("content-type", "text/plain")];
    let large = "a.test\n".repeat(20_000);
    let answer = world.send("POST", "/v1/url/batch", &headers, large).await;
    answer.expect_problem(401, "unauthorized");
}

#[tokio::test]
async fn parameters_that_a_path_does_not_have_are_rejected() {
    let world = World::new().await;
    let key = world.key().await;
    let id = world.crawl(&key).await;
    for (path, code) in [
        ("/v1/settings?x=1", "unknown_field"),
        ("/v1/crawls?limit=1&limit=2", "invalid_parameter"),
        ("/v1/crawls?limit=0", "invalid_parameter"),
        ("/v1/crawls?limit=101", "invalid_parameter"),
        ("/v1/crawls?before=x", "invalid_cursor"),
        ("/v1/crawls?before=", "invalid_cursor"),
        (&format!("/v1/crawls/{id}?wait=61"), "invalid_parameter"),
        (&format!("/v1/crawls/{id}?wait=NaN"), "invalid_parameter"),
        (&format!("/v1/crawls/{id}?wiat=1"), "unknown_field"),
        (&format!("/v1/crawls/{id}/hosts?limit=1001"), "invalid_parameter"),
        (&format!("/v1/crawls/{id}/feed?limit=1001"), "invalid_parameter"),
        (&format!("/v1/crawls/{id}/feed?after=AAAA"), "invalid_cursor"),
        (&format!("/v1/crawls/{id}/feed?after={}", "A".repeat(9_000)), "invalid_cursor"),
    ] {
        world.get(&key, path).await.expect_problem(400, code);
    }
    for path in ["/v1/url/batch?priority=8", "/v1/url/batch?crawl=x", "/v1/url/batch?priority=-1"] {
        let answer = world.post_lines(&key, path, "a.test").await;
        answer.expect_problem(400, "invalid_parameter");
    }
    let last = format!("/v1/crawls/{id}/urls?last=yes");
    world.post_lines(&key, &last, "a.test").await.expect_problem(400, "invalid_parameter");
}

#[tokio::test]
async fn a_priority_is_in_the_query_or_in_the_body_but_not_in_both() {
    let world = World::new().await;
    let key = world.key().await;
    let settings = json!({ "urls": [], "more": true });
    let crawl = world.post(&key, "/v1/crawls", &settings).await.expect(201);
    let add = format!("/v1/crawls/{}/urls", crawl["id"].as_str().unwrap());
    let plain = json!({ "urls": ["a.test"] });
    let with_priority = json!({ "urls": ["a.test"], "priority": 1 });
    for path in ["/v1/url/batch", &add] {
        let named = format!("{path}?priority=7");
        world.post_lines(&key, &named, "a.test").await.expect(202);
        world.post(&key, &named, &plain).await.expect(202);
        world.post(&key, path, &with_priority).await.expect(202);
        let twice = world.post(&key, &named, &with_priority).await;
        let problem = twice.expect_problem(400, "invalid_parameter");
        assert_eq!(problem["errors"][0]["field"], "priority");
    }
    let crawl_twice = json!({ "urls": ["a.test"], "crawl": crawl["id"] });
    let id = crawl["id"].as_str().unwrap();
    let twice = world.post(&key, &format!("/v1/url/batch?crawl={id}"), &crawl_twice).await;
    assert_eq!(twice.expect_problem(400, "invalid_parameter")["errors"][0]["field"], "crawl");
    let last_twice = json!({ "urls": [], "last": true });
    let twice = world.post(&key, &format!("{add}?last=true"), &last_twice).await;
    assert_eq!(twice.expect_problem(400, "invalid_parameter")["errors"][0]["field"], "last");
    world.post(&key, &format!("{add}?last=true"), &json!({ "urls": [] })).await.expect(202);
}

#[tokio::test]
async fn unknown_parameters_and_fields_are_rejected_on_every_path() {
    let world = World::new().await;
    let key = world.key().await;
    let crawl = world.crawl(&key).await;
    let url = world.post(&key, "/v1/url", &json!({ "url": "a.test" })).await.expect(202);
    let url = url["id"].as_str().unwrap();
    for path in [
        "/v1/crawls",
        &format!("/v1/crawls/{crawl}"),
        &format!("/v1/crawls/{crawl}/feed"),
        &format!("/v1/crawls/{crawl}/hosts"),
        "/v1/overview",
        "/v1/settings",
        &format!("/v1/url/{url}"),
        "/v1/url/filter",
        "/v1/url/robots",
        "/v1/url/schedule",
    ] {
        let answer = world.get(&key, &format!("{path}?nonsense=1")).await;
        answer.expect_problem(400, "unknown_field");
    }
    let body = json!({ "urls": ["a.test"], "nonsense": 1 });
    for path in ["/v1/crawls", &format!("/v1/crawls/{crawl}/urls"), "/v1/url/batch"] {
        world.post(&key, path, &body).await.expect_problem(400, "unknown_field");
    }
}

#[tokio::test]
async fn a_cursor_of_another_crawl_or_key_is_invalid() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let (one, two) = (world.crawl(&key).await, world.crawl(&key).await);
    let of_other = world.crawl(&other).await;
    let page = world.get(&key, &format!("/v1/crawls/{one}/feed")).await.expect(200);
    let cursor = page["next"].as_str().unwrap();
    world.get(&key, &format!("/v1/crawls/{one}/feed?after={cursor}")).await.expect(200);
    let foreign = world.get(&key, &format!("/v1/crawls/{two}/feed?after={cursor}")).await;
    foreign.expect_problem(400, "invalid_cursor");
    let foreign = world.get(&other, &format!("/v1/crawls/{of_other}/feed?after={cursor}")).await;
    foreign.expect_problem(400, "invalid_cursor");
}

#[tokio::test]
async fn input_that_is_not_http_gets_only_an_error() {
    let world = World::new().await;
    for bytes in [&b"\x16\x03\x01\x02\x00"[..], b"GET / HTTP/9.9\r\n\r\n", b"\r\n\r\n\r\n", b"GET"]
    {
        let address = world.base.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let _ = stream.write_all(bytes).await;
    }
    let long = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(1 << 20));
    let answer = raw(&world, long.as_bytes()).await;
    assert!(!answer.starts_with("HTTP/1.1 2"), "{answer}");
    world.send("GET", "/healthz", &[], "").await.expect(200);
}
