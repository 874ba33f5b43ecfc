//! Tests the page at `/`: its files as served, and its requests.

use std::path::Path;

use serde_json::json;

use crate::world::World;

const MOST_BYTES: usize = 42 * 1024;
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' \
    data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[tokio::test]
async fn each_file_of_the_page_is_served_under_its_policy_and_all_together_are_small() {
    let world = World::new().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../site/crawl");
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let is_page = name == "index.html";
        let path = if is_page { "/".to_owned() } else { format!("/page/{name}") };
        let answer = world.send("GET", &path, &[], "").await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.bytes, std::fs::read(entry.path()).unwrap(), "{path}");
        let kind = match name.rsplit_once('.').unwrap().1 {
            "html" => "text/html; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            other => panic!("a file of the page ends with {other}"),
        };
        assert_eq!(answer.headers["content-type"], kind);
        assert_eq!(answer.headers["content-security-policy"], POLICY);
        // The policy would block inline code, and the page must not load from other addresses.
        // Nothing is loaded from SVG namespaces.
        let own = answer.text.replace("http://www.w3.org/2000/svg", "");
        for foreign in ["<style", " style=", " onclick=", "innerHTML", "http://", "eval("] {
            assert!(!own.contains(foreign), "{path} has {foreign}");
        }
        bytes += answer.bytes.len();
    }
    assert!(bytes <= MOST_BYTES, "{bytes} bytes");
    for absent in
        ["/page/index.html", "/page/", "/page/../main.js", "/page/none.js", "/page/%FF", "/main.js"]
    {
        world.send("GET", absent, &[], "").await.expect_problem(404, "not_found");
    }
}

#[tokio::test]
async fn a_feed_may_start_with_the_newest_and_continues_after_them() {
    let world = World::new().await;
    let key = world.key().await;
    let crawl = world.crawl(&key).await;
    let record = |first: i32, last: i32| {
        world.sql(&format!(
            "insert into everytab.fetches (crawl, host_hash, url_hash, url, at, depth, outcome,
                                           slot, lease_number, epoch)
             select crawl, 7, n, 'https://a.test/' || n, now(), 0, 'ok', 0, 1, 0
               from everytab.crawls, generate_series({first}, {last}) n where id = '{crawl}'"
        ));
    };
    record(1, 9);
    let feed = format!("/v1/crawls/{crawl}/feed");
    let page = world.get(&key, &format!("{feed}?newest=2")).await.expect(200);
    let urls = |page: &serde_json::Value| {
        let fetches = page["fetches"].as_array().unwrap().iter();
        fetches.map(|fetch| fetch["url"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(urls(&page), ["https://a.test/8", "https://a.test/9"]);
    assert_eq!((&page["has_more"], &page["crawl_state"]), (&json!(false), &json!("running")));
    record(10, 11);
    let next = page["next"].as_str().unwrap();
    let page = world.get(&key, &format!("{feed}?after={next}")).await.expect(200);
    assert_eq!(urls(&page), ["https://a.test/10", "https://a.test/11"]);
    for wrong in ["newest=0", "newest=1001", "newest=1&wait=1", "newest=1&after=x"] {
        let refused = world.get(&key, &format!("{feed}?{wrong}")).await;
        refused.expect_problem(400, "invalid_parameter");
    }
}

#[tokio::test]
async fn the_overview_has_the_pace_of_the_keys_own_crawls_only() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let crawl = world.crawl(&key).await;
    let overview = world.get(&key, &format!("/v1/overview?crawl={crawl}")).await.expect(200);
    assert_eq!(overview["pace"]["hosts"], 0, "{overview}");
    assert_eq!((&overview["slots"], &overview["scans"]), (&json!(256), &json!([])));
    let without = world.get(&key, "/v1/overview").await.expect(200);
    assert_eq!(without.get("pace"), None);
    let foreign = world.get(&other, &format!("/v1/overview?crawl={crawl}")).await;
    foreign.expect_problem(404, "not_found");
    let wrong = world.get(&key, "/v1/overview?crawl=x").await;
    wrong.expect_problem(400, "invalid_parameter");
}
