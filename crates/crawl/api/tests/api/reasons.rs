//! Tests how a client finds out why a crawl's URLs failed.

use everytab_frontier::site_hash;
use serde_json::{Value, json};

use crate::world::World;

fn urls(page: &Value) -> Vec<&str> {
    let fetches = page["fetches"].as_array().unwrap().iter();
    fetches.map(|fetch| fetch["url"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_feed_has_each_urls_outcome_and_referrer() {
    let world = World::new().await;
    let key = world.key().await;
    let crawl = world.crawl(&key).await;
    world.sql(&format!(
        "select coordinator.count_in_slot(7::smallint, crawl, 5, 1, 1,
                    '{{\"timeout\": 2, \"tls_handshake\": 1}}', '{{}}', '{{}}', '{{}}',
                    0, 0, 0, 0, 0)
           from everytab.crawls where id = '{crawl}'"
    ));
    let document = world.get(&key, &format!("/v1/crawls/{crawl}")).await.expect(200);
    assert_eq!(document["failed"], 3);
    assert_eq!(document["failures"], json!({ "timeout": 2, "tls_handshake": 1 }));

    let host = |name: &str| format!("{} # (1::bigint << 63)", site_hash(name).cast_signed());
    world.sql(&format!(
        "insert into everytab.fetches (crawl, host_hash, url_hash, url, at, depth, outcome, status,
                                       via_url_hash, certificate, slot, lease_number)
         select crawl, case when n % 3 = 0 then {} else {} end, n,
                'https://' || case when n % 3 = 0 then 'b' else 'a' end || '.test/' || n, now(), 0,
                case when n % 100 = 0 then 'http_404_410' else 'ok' end,
                case when n % 100 = 0 then 404 else 200 end,
                case when n = 100 then 1 end, case when n = 200 then 'expired' end, 7, 1
           from everytab.crawls, generate_series(1, 20400) n where id = '{crawl}'",
        host("b.test"),
        host("a.test")
    ));
    let feed = format!("/v1/crawls/{crawl}/feed");
    let page = world.get(&key, &format!("{feed}?outcome=http_404_410&limit=2")).await.expect(200);
    assert_eq!(urls(&page), ["https://a.test/100", "https://a.test/200"]);
    let [first, second] = [&page["fetches"][0], &page["fetches"][1]];
    assert_eq!((&first["via"], first.get("certificate")), (&json!("https://a.test/1"), None));
    assert_eq!((second.get("via"), &second["certificate"]), (None, &json!("expired")));
    // A response examines a limited number of rows, and its cursor continues after them.
    let mut found = 0;
    let mut pages = 0;
    let mut query = String::new();
    loop {
        let page = world.get(&key, &format!("{feed}?status=404&limit=1000{query}")).await;
        let page = page.expect(200);
        assert!(page["fetches"].as_array().unwrap().iter().all(|one| one["status"] == 404));
        found += urls(&page).len();
        pages += 1;
        if page["has_more"] == false {
            break;
        }
        query = format!("&after={}", page["next"].as_str().unwrap());
    }
    assert_eq!((found, pages), (204, 4));
    let of_host = world.get(&key, &format!("{feed}?host=B.test&outcome=http_404_410")).await;
    let of_host = of_host.expect(200);
    assert_eq!(urls(&of_host)[..2], ["https://b.test/300", "https://b.test/600"]);
    for wrong in ["status=99", "status=x", "host=a/b", "host=", "newest=1&outcome=ok"] {
        let refused = world.get(&key, &format!("{feed}?{wrong}")).await;
        refused.expect_problem(400, "invalid_parameter");
    }
}
