//! Tests changes to a running crawl, and crawls that repeat an ended one.

use serde_json::{Value, json};

use crate::world::{Answer, World};

async fn patch(world: &World, key: &str, path: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    world.send("PATCH", path, &headers, body.to_string()).await
}

#[tokio::test]
async fn includes_and_excludes_of_a_running_crawl_change_by_versions() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let path = format!("/v1/crawls/{}", world.crawl(&key).await);
    assert_eq!(world.get(&key, &path).await.expect(200).get("patterns"), None);
    let first = json!({ "exclude": ["*/drop/*"] });
    let changed = patch(&world, &key, &path, &first).await.expect(200);
    assert_eq!((&changed["version"], &changed["include"]), (&json!(2), &json!([])));
    // A missing field keeps its value, and an equal value is not a change.
    let second = json!({ "include": ["a.test/*"] });
    let changed = patch(&world, &key, &path, &second).await.expect(200);
    assert_eq!((&changed["version"], &changed["exclude"]), (&json!(3), &json!(["*/drop/*"])));
    let same = patch(&world, &key, &path, &second).await.expect(200);
    assert_eq!(same["version"], 3);
    let crawl = world.get(&key, &path).await.expect(200);
    assert_eq!(crawl["settings"]["exclude"], json!(["*/drop/*"]));
    assert_eq!(crawl["settings"]["include"], json!(["a.test/*"]));
    let versions = crawl["patterns"].as_array().unwrap();
    let times: Vec<&str> = versions.iter().map(|one| one["changed_at"].as_str().unwrap()).collect();
    assert!(times.len() == 3 && times.is_sorted(), "{times:?}");
    assert_eq!((&versions[0]["exclude"], &versions[1]["include"]), (&json!([]), &json!([])));
    let listed = world.get(&key, "/v1/crawls").await.expect(200);
    assert_eq!(listed["crawls"][0].get("patterns"), None);

    let wrong = json!({ "exclude": ["a.test/*", "re:("] });
    let problem = patch(&world, &key, &path, &wrong).await.expect_problem(400, "invalid_pattern");
    assert_eq!(problem["errors"][0]["field"], "exclude");
    assert!(problem["detail"].as_str().unwrap().contains("pattern 2"), "{problem}");
    let nul = json!({ "include": ["a\u{0}"] });
    patch(&world, &key, &path, &nul).await.expect_problem(400, "invalid_pattern");
    patch(&world, &key, &path, &json!({})).await.expect_problem(400, "invalid_parameter");
    let more = json!({ "depth": 3 });
    patch(&world, &key, &path, &more).await.expect_problem(400, "unknown_field");
    patch(&world, &other, &path, &first).await.expect_problem(404, "not_found");
    assert_eq!(world.get(&key, &path).await.expect(200)["patterns"].as_array().unwrap().len(), 3);
    world.post(&key, &format!("{path}/cancel"), &json!({})).await.expect(200);
    patch(&world, &key, &path, &first).await.expect_problem(409, "crawl_ended");
}

fn record(world: &World, crawl: &str, (outcome, from, number): (&str, usize, usize)) {
    world.sql(&format!(
        "insert into everytab.fetches (crawl, host_hash, url_hash, url, at, depth, outcome, slot,
                                       lease_number)
         select crawl, 1, n, 'https://a.test/' || n, now(), 1, '{outcome}', 7, 1
           from everytab.crawls, generate_series({from}, {from} + {number} - 1) n
          where id = '{crawl}'"
    ));
}

#[tokio::test]
async fn only_failed_urls_of_an_ended_crawl_are_fetched_again() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let earlier = world.crawl(&key).await;
    record(&world, &earlier, ("ok", 0, 30));
    record(&world, &earlier, ("robots_disallowed", 100, 30));
    let again = json!({ "settings": { "again": earlier }, "only": "failed" });
    let start = async |key: &str, body: &Value| world.post(key, "/v1/crawls", body).await;
    start(&key, &again).await.expect_problem(409, "crawl_open");
    let cancel = format!("/v1/crawls/{earlier}/cancel");
    world.post(&key, &cancel, &json!({})).await.expect(200);
    start(&key, &again).await.expect_problem(422, "nothing_to_crawl");
    start(&other, &again).await.expect_problem(404, "not_found");
    record(&world, &earlier, ("timeout", 1_000, 20));
    record(&world, &earlier, ("host_dead", 2_000, 5));
    record(&world, &earlier, ("http_5xx", 3_000, 11_000));
    world.sql("update everytab.fetches set is_no_page = true where url_hash between 1000 and 1004");
    let started = start(&key, &again).await.expect(201);
    assert_eq!(started["accepted"], json!([]));
    let crawl = format!("/v1/crawls/{}", started["id"].as_str().unwrap());
    let crawl = world.get(&key, &crawl).await.expect(200);
    assert_eq!((&crawl["seeds"], &crawl["seeding"]), (&json!(11_020), &json!(false)));
    assert_eq!(crawl["settings"]["depth"], 0);
    assert_eq!(crawl["settings"]["again"], json!(earlier));

    for wrong in [
        json!({ "only": "failed" }),
        json!({ "only": "failed", "settings": { "again": earlier }, "urls": ["a.test"] }),
        json!({ "only": "failed", "settings": { "again": earlier }, "more": true }),
        json!({ "only": "failed", "settings": { "again": earlier, "scope": "list" } }),
    ] {
        let problem = start(&key, &wrong).await.expect_problem(400, "invalid_setting");
        assert_eq!(problem["errors"][0]["field"], "only", "{wrong}");
    }
    let word = json!({ "only": "refused", "settings": { "again": earlier } });
    start(&key, &word).await.expect_problem(400, "invalid_parameter");
    let deeper = json!({ "settings": { "again": earlier, "depth": 2 }, "only": "failed" });
    let started = start(&key, &deeper).await.expect(201);
    let crawl = format!("/v1/crawls/{}", started["id"].as_str().unwrap());
    assert_eq!(world.get(&key, &crawl).await.expect(200)["settings"]["depth"], 2);
}
