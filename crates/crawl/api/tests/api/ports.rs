//! Tests the ports that a key's URLs may use, on every path that submits URLs.

use everytab_coordinator::NewApiKey;
use serde_json::{Value, json};

use crate::world::{World, generous};

const GOOD: &str = "http://a.test:8081/";
/// A port that is not in any list, a default port that this key may not use, and a mail server's
/// port.
const BAD: [&str; 3] = ["http://a.test:9000/", "http://a.test/", "https://a.test:25/"];

fn refused(answer: &Value) -> Vec<u64> {
    let refused = answer["refused"].as_array().unwrap().iter();
    refused
        .map(|one| {
            assert_eq!(one["code"], "port_not_allowed", "{one}");
            one["line"].as_u64().unwrap()
        })
        .collect()
}

#[tokio::test]
async fn a_port_that_the_key_may_not_use_is_rejected_on_every_path() {
    let world = World::new().await;
    let key = world.key_with(NewApiKey { ports: vec![443, 8081], ..generous() }).await;
    world.post(&key, "/v1/url", &json!({ "url": GOOD })).await.expect(202);
    for url in BAD {
        let problem = world.post(&key, "/v1/url", &json!({ "url": url })).await;
        let problem = problem.expect_problem(400, "port_not_allowed");
        assert_eq!(problem["errors"][0]["field"], "url", "{problem}");
    }
    let urls = [BAD[0], GOOD, BAD[1], BAD[2]];
    let batch = world.post(&key, "/v1/url/batch", &json!({ "urls": urls })).await.expect(202);
    assert_eq!((refused(&batch), batch["accepted"][0]["line"].as_u64()), (vec![1, 3, 4], Some(2)));
    let started = json!({ "urls": urls, "more": true });
    let crawl = world.post(&key, "/v1/crawls", &started).await.expect(201);
    assert_eq!(refused(&crawl), [1, 3, 4]);
    let path = format!("/v1/crawls/{}/urls", crawl["id"].as_str().unwrap());
    let more = world.post(&key, &path, &json!({ "urls": urls, "last": true })).await.expect(202);
    assert_eq!(refused(&more), [1, 3, 4]);
    let schedule = json!({ "urls": urls, "every": "24h" });
    let schedule = world.post(&key, "/v1/url/schedule", &schedule).await.expect(201);
    assert_eq!(refused(&schedule), [1, 3, 4]);
    let none = json!({ "urls": BAD });
    world.post(&key, "/v1/url/batch", &none).await.expect_problem(422, "nothing_to_crawl");

    let settings = world.get(&key, "/v1/settings").await.expect(200);
    assert_eq!(settings["key"]["ports"], json!([443, 8081]));
    let ports = world.sql("select distinct settings -> 'ports' from everytab.crawls");
    assert_eq!(ports, "[443, 8081]");
}

#[tokio::test]
async fn a_key_may_name_the_ports_of_web_servers_unless_it_has_others() {
    let world = World::new().await;
    let key = world.key().await;
    for url in ["http://a.test/", "a.test", "http://a.test:8080/", "https://a.test:8443/"] {
        world.post(&key, "/v1/url", &json!({ "url": url })).await.expect(202);
    }
    for _ in 0..2 {
        let answer = world.post(&key, "/v1/url", &json!({ "url": GOOD })).await;
        answer.expect_problem(400, "port_not_allowed");
    }
    // A client with an invalid key learns nothing about ports.
    let other = world.key_with(NewApiKey { ports: vec![8081], ..generous() }).await;
    world.post(&other, "/v1/url", &json!({ "url": GOOD })).await.expect(202);
    let forged = format!("{}{}", &other[..other.len() - 4], "aaaa");
    for url in [GOOD, "a.test"] {
        let answer = world.post(&forged, "/v1/url", &json!({ "url": url })).await;
        answer.expect_problem(401, "unauthorized");
    }
}
