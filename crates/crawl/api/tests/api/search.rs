//! Tests full-text search: the key's pages, ranked, with snippets.

use serde_json::{Value, json};

use crate::world::World;

/// Creates an indexed crawl with pages that have these hosts, titles and texts.
async fn searched(world: &World, key: &str, pages: &[(&str, &str, &str)]) -> String {
    let body = json!({ "urls": ["https://seed.test/"], "settings": { "search": "on" } });
    let started = world.post(key, "/v1/crawls", &body).await.expect(201);
    let id = started["id"].as_str().unwrap().to_owned();
    for (number, (host, title, text)) in pages.iter().enumerate() {
        world.sql(&format!(
            "with crawl as (select crawl from everytab.crawls where id = '{id}'),
             page as (insert into everytab.fetches (crawl, slot, lease_number, host_hash, url_hash,
                         url, at, depth, outcome, title)
                      select crawl, 0, 1, hashtext('{host}'), {number},
                             'https://{host}:8443/{number}', now(), 0, 'ok', '{title}' from crawl
                      returning crawl, host_hash, url_hash)
             insert into everytab.fetch_texts (crawl, host_hash, url_hash, words, text)
             select crawl, host_hash, url_hash, coordinator.words_of_page('{title}', '{text}'),
                    '{text}' from page"
        ));
    }
    id
}

fn urls(answer: &Value) -> Vec<&str> {
    let found = answer["found"].as_array().unwrap().iter();
    found.map(|found| found["page"]["url"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn pages_with_the_words_are_found_best_first_with_snippets() {
    let world = World::new().await;
    let key = world.key().await;
    let long = format!("{}the fox is here {}", "word ".repeat(400), "more ".repeat(400));
    let pages = [
        ("a.test", "Nothing", "a quick brown <b> fox"),
        ("b.test", "The Fox", "a page about a FOX"),
        ("c.test", "Dogs", "a lazy dog"),
        ("d.test", "Long", &long),
    ];
    let crawl = searched(&world, &key, &pages).await;
    let get = async |query: &str| {
        let path = format!("/v1/crawled/search?{query}");
        world.get(&key, &path).await.expect(200)
    };
    let found = get("q=fox").await;
    assert_eq!(urls(&found)[0], "https://b.test:8443/1", "words in a title must count more");
    assert_eq!(urls(&found).len(), 3);
    assert_eq!(found.get("next"), None);
    let snippets = found["found"].as_array().unwrap().iter();
    for snippet in snippets.map(|found| found["snippet"].as_array().unwrap()) {
        let words = snippet.iter().filter(|part| part["found"] == true);
        let words: Vec<&str> = words.map(|part| part["text"].as_str().unwrap()).collect();
        assert!(words.iter().all(|word| word.eq_ignore_ascii_case("fox")), "{words:?}");
        assert!(!words.is_empty());
        let length: usize = snippet.iter().map(|part| part["text"].as_str().unwrap().len()).sum();
        assert!(length < 500, "{length}");
    }
    assert_eq!(urls(&get("q=%22fox+brown%22").await), Vec::<&str>::new());
    assert_eq!(urls(&get("q=%22lazy+dog%22").await), ["https://c.test:8443/2"]);
    assert_eq!(urls(&get("q=fox+-quick+-long").await), ["https://b.test:8443/1"]);
    assert_eq!(urls(&get("q=dog+or+quick").await).len(), 2);
    for nothing in ["-", "!!!", "%26%7C%3A*()", "'", "%00", "%22"] {
        assert_eq!(urls(&get(&format!("q={nothing}")).await).len(), 0, "{nothing}");
    }
    let mut all = Vec::new();
    let mut after = String::new();
    loop {
        let page = get(&format!("q=fox&limit=1&crawl={crawl}{after}")).await;
        all.extend(urls(&page).into_iter().map(str::to_owned));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
        let other =
            world.get(&key, &format!("/v1/crawled/search?q=dog&crawl={crawl}{after}")).await;
        other.expect_problem(400, "invalid_cursor");
    }
    assert_eq!(all, urls(&found));
}

#[tokio::test]
async fn search_finds_only_the_keys_pages_and_no_blocked_hosts() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let pages = [
        ("a.test", "t", "fox"),
        ("bad.test", "t", "fox"),
        ("www.worse.test", "t", "fox"),
        ("notworse.test", "t", "fox"),
    ];
    let crawl = searched(&world, &key, &pages).await;
    world.sql(
        "insert into everytab.blocklist (kind, pattern, reason)
         values ('hostname', 'bad.test', 'x'), ('suffix', 'worse.test', 'x')",
    );
    let path = "/v1/crawled/search?q=fox";
    let found = world.get(&key, path).await.expect(200);
    let mut found = urls(&found);
    found.sort_unstable();
    assert_eq!(found, ["https://a.test:8443/0", "https://notworse.test:8443/3"]);
    assert_eq!(urls(&world.get(&other, path).await.expect(200)), Vec::<&str>::new());
    let foreign = world.get(&other, &format!("{path}&crawl={crawl}")).await;
    foreign.expect_problem(404, "not_found");
    let none = world.crawl(&key).await;
    let found = world.get(&key, &format!("{path}&crawl={none}")).await.expect(200);
    assert_eq!(urls(&found), Vec::<&str>::new(), "a crawl that is not indexed has no texts");
}

#[tokio::test]
async fn invalid_search_parameters_are_rejected_by_name() {
    let world = World::new().await;
    let key = world.key().await;
    let long = format!("q={}", "a".repeat(1_001));
    for (query, code, field) in [
        ("", "invalid_parameter", "q"),
        ("q=+", "invalid_parameter", "q"),
        (long.as_str(), "invalid_parameter", "q"),
        ("q=a&limit=101", "invalid_parameter", "limit"),
        ("q=a&after=0", "invalid_cursor", "after"),
        ("q=a&after=", "invalid_cursor", "after"),
        ("q=a&crawl=x", "invalid_parameter", "crawl"),
        ("q=a&sort=date", "unknown_field", "sort"),
    ] {
        let answer = world.get(&key, &format!("/v1/crawled/search?{query}")).await;
        let problem = answer.expect_problem(400, code);
        assert_eq!(problem["errors"][0]["field"], field, "{query}");
    }
}
