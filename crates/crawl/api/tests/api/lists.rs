//! Tests lists in pages: a client that follows the cursors gets each item once.

use serde_json::{Value, json};

use crate::world::World;

/// Reads a list in pages of two items, and calls `add` after each page.
async fn walk(
    world: &World,
    key: &str,
    (path, field): (&str, &str),
    mut add: impl AsyncFnMut(usize),
) -> Vec<Value> {
    let mut found = Vec::new();
    let mut after = String::new();
    for number in 0.. {
        let page = world.get(key, &format!("{path}?limit=2{after}")).await.expect(200);
        let items = page[field].as_array().unwrap();
        assert!(items.len() <= 2, "{page}");
        found.extend(items.iter().cloned());
        let Some(next) = page["next"].as_str() else { return found };
        after = format!("&after={next}");
        add(number).await;
    }
    found
}

fn names(items: &[Value], field: &str) -> Vec<String> {
    items.iter().map(|item| item[field].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn filters_overrides_and_schedules_can_be_paged_while_others_are_added() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let filter = async |name: String| {
        let body = json!({ "name": name, "filter": { "languages": { "keep": ["de"] } } });
        world.post(&key, "/v1/url/filter", &body).await.expect(201);
    };
    let site = async |name: String| {
        let body = json!({ "site": name, "delay_ms": 1_000 });
        world.post(&key, "/v1/url/robots", &body).await.expect(201);
    };
    let schedule = async |name: String, every: &str| {
        let body = json!({ "name": name, "every": every, "urls": ["https://a.test/"] });
        world.post(&key, "/v1/url/schedule", &body).await.expect(201);
    };
    for name in ["b", "d", "F", "h", "j"] {
        filter(name.to_owned()).await;
        site(format!("{}.test", name.to_lowercase())).await;
    }
    world.post(&key, "/v1/url/robots", &json!({ "delay_ms": 2_000 })).await.expect(201);
    for hours in [5, 3, 1, 4, 2] {
        schedule(format!("every {hours}"), &format!("{hours}h")).await;
    }
    let found = walk(&world, &key, ("/v1/url/filter", "filters"), async |number| {
        filter(format!("A{number}")).await;
        filter(format!("z{number}")).await;
    });
    let found = names(&found.await, "name");
    assert_eq!(found[..5], ["F", "b", "d", "h", "j"]);
    assert!(found[5..].iter().all(|name| name.starts_with('z')), "{found:?}");
    let found = walk(&world, &key, ("/v1/url/robots", "robots"), async |number| {
        site(format!("a{number}.test")).await;
    });
    let found = found.await;
    assert_eq!(found[0].get("site"), None);
    assert_eq!(names(&found[1..], "site"), ["b.test", "d.test", "f.test", "h.test", "j.test"]);
    let found = walk(&world, &key, ("/v1/url/schedule", "schedules"), async |number| {
        schedule(format!("sooner {number}"), "10m").await;
    });
    let expected = ["every 1", "every 2", "every 3", "every 4", "every 5"];
    assert_eq!(names(&found.await, "name"), expected);

    for path in ["/v1/url/filter", "/v1/url/robots", "/v1/url/schedule"] {
        let all = world.get(&key, path).await.expect(200);
        assert_eq!(all.get("next"), None, "{path}");
        let page = world.get(&key, &format!("{path}?limit=1")).await.expect(200);
        let next = page["next"].as_str().unwrap();
        for other_path in ["/v1/url/filter", "/v1/url/robots", "/v1/url/schedule", "/v1/crawls"] {
            if other_path != path {
                let foreign = world.get(&key, &format!("{other_path}?after={next}")).await;
                foreign.expect_problem(400, "invalid_cursor");
            }
        }
        let foreign = world.get(&other, &format!("{path}?after={next}")).await;
        foreign.expect_problem(400, "invalid_cursor");
        for limit in ["0", "101", "x"] {
            let refused = world.get(&key, &format!("{path}?limit={limit}")).await;
            refused.expect_problem(400, "invalid_parameter");
        }
    }
}

#[tokio::test]
async fn the_hosts_of_a_crawl_can_be_paged() {
    let world = World::new().await;
    let key = world.key().await;
    let (crawl, another) = (world.crawl(&key).await, world.crawl(&key).await);
    let hosts: Vec<String> = (0..9).map(|number| format!("h{number}.test")).collect();
    for (number, host) in hosts.iter().enumerate() {
        let hash = (everytab_frontier::site_hash(host) ^ (1 << 63)).cast_signed();
        world.sql(&format!(
            "with crawl as (select crawl from everytab.crawls where id = '{crawl}'),
             host as (insert into everytab.frontier_hosts (slot, host_hash, site_hash, hostname,
                                                           free_at, delay_ms, response_ms)
                      values ({number}, {hash}, {hash}, '{host}', now(), 0, 0)),
             chunk as (insert into everytab.frontier_chunks (slot, crawl, host_hash, seq, known,
                                                             pending, data, is_snapshot)
                       select {number}, crawl, {hash}, 1, 2, 1, '', true from crawl)
             insert into everytab.frontier_due (slot, crawl, host_hash, next_due)
             select {number}, crawl, {hash},
                    '2026-01-31T12:00:00.123456Z'::timestamptz + interval '1 s' * ({number} % 3)
               from crawl"
        ));
    }
    let path = format!("/v1/crawls/{crawl}/hosts");
    let found = walk(&world, &key, (&path, "hosts"), async |_| {}).await;
    let mut names = names(&found, "hostname");
    let due: Vec<&str> = found.iter().map(|host| host["next_due"].as_str().unwrap()).collect();
    assert!(due.is_sorted(), "{due:?}");
    names.sort_unstable();
    assert_eq!(names, hosts);
    let page = world.get(&key, &format!("{path}?limit=1")).await.expect(200);
    let next = page["next"].as_str().unwrap();
    let foreign = world.get(&key, &format!("/v1/crawls/{another}/hosts?after={next}")).await;
    foreign.expect_problem(400, "invalid_cursor");
}
