//! Tests pages as Markdown, and pages with their contents, for a single URL and in the feed.

use serde_json::{Value, json};

use crate::{
    captures::{Archive, Archived, check_headers},
    world::generous,
};

impl Archive {
    fn feed(&self, query: &str) -> String {
        format!("/v1/crawls/{}/feed?{query}", self.crawl)
    }

    /// Reads all fetches in the feed. Returns them with the number of pages.
    async fn all(&self, query: &str) -> (Vec<Value>, usize) {
        let mut found = Vec::new();
        let mut after = String::new();
        let mut pages = 0;
        loop {
            let page = self.world.get(&self.key, &self.feed(&format!("{query}{after}"))).await;
            assert!(page.bytes.len() < 24 << 20, "{}", page.bytes.len());
            let page = page.expect(200);
            found.extend(page["fetches"].as_array().unwrap().iter().cloned());
            pages += 1;
            if page["has_more"] == false {
                return (found, pages);
            }
            after = format!("&after={}", page["next"].as_str().unwrap());
        }
    }
}

fn url_of(fetch: &Value) -> String {
    fetch["url"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_page_or_its_main_content_is_served_as_markdown() {
    let archive = Archive::new().await;
    let sentence = "This sentence is about a fox, which is quick and brown, and jumps over dogs. ";
    let body = format!(
        "<meta charset=windows-1252><base href=/base/><nav><a href=/home>Home</a></nav>\
         <article><h1>Foxes</h1><p>{0}<p><a href=more?a=1>More</a>, {0}</article>\
         <a href='javascript:alert(1)'>run</a>",
        sentence.repeat(4)
    );
    let (before, after) = body.split_at(body.find("own").unwrap());
    let body = [before.as_bytes(), b"\xf6", after.as_bytes()].concat();
    let page = Archived {
        charset: Some("windows-1252"),
        head: "content-type: text/html\r\n",
        ..Archived::page("https://a.test/x/y", &body)
    };
    archive.keep(&page);
    let main = archive.get("html", page.url, "&as=markdown").await;
    check_headers(&main, "text/markdown; charset=utf-8");
    assert_eq!(main.headers["content-disposition"], "attachment; filename=\"capture.md\"");
    assert!(main.text.contains("Foxes") && main.text.contains("br\u{f6}own"), "{}", main.text);
    assert!(main.text.contains("[More](https://a.test/base/more?a=1)"), "{}", main.text);
    assert!(!main.text.contains("Home"), "{}", main.text);
    assert_eq!(archive.get("html", page.url, "&as=markdown&content=main").await.text, main.text);
    let whole = archive.get("html", page.url, "&as=markdown&content=whole").await.text;
    assert!(whole.contains("[Home](https://a.test/home)"), "{whole}");
    assert!(whole.ends_with("\n\nrun") && !whole.contains("javascript"), "{whole}");
    for (query, field) in [("&content=main", "content"), ("&as=text&content=whole", "content")]
        .into_iter()
        .chain([("&as=markdown&content=all", "content"), ("&as=md", "as")])
    {
        let problem = archive.get("html", page.url, query).await;
        let problem = problem.expect_problem(400, "invalid_parameter");
        assert_eq!(problem["errors"][0]["field"], field, "{query}");
    }
    let plain = Archived {
        mime: Some("text/plain"),
        head: "content-type: text/plain\r\n",
        ..Archived::page("https://a.test/plain", b"<b>a</b> ``` *b*")
    };
    archive.keep(&plain);
    let text = archive.get("html", plain.url, "&as=markdown").await;
    check_headers(&text, "text/markdown; charset=utf-8");
    assert_eq!(text.text, "````\n<b>a</b> ``` *b*\n````\n");
    let picture =
        Archived { mime: Some("image/png"), ..Archived::page("https://a.test/i.png", b"\x89PNG") };
    archive.keep(&picture);
    let refused = archive.get("html", picture.url, "&as=markdown").await;
    assert_eq!(refused.expect_problem(400, "invalid_parameter")["errors"][0]["field"], "as");
    let deep = "<blockquote><ul><li>".repeat(20_000) + "a";
    let deep = Archived::page("https://a.test/deep", deep.as_bytes());
    archive.keep(&deep);
    let deep = archive.get("html", deep.url, "&as=markdown").await;
    assert!(deep.status.is_success() && deep.text.trim_end().ends_with('a'), "{}", deep.text);
}

#[tokio::test]
async fn a_url_is_returned_with_the_requested_parts_of_its_page() {
    let archive = Archive::new().await;
    let body = b"<title>t</title><p>caf\xe9 <a href=/a rel=nofollow>a</a>\
                 <a href='javascript:b'>b</a><link rel=next href=c><img src=/d.png>";
    let page = Archived {
        charset: Some("windows-1252"),
        head: "content-type: text/html; charset=latin1\r\n",
        ..Archived::page("https://a.test/x/", body)
    };
    archive.keep(&page);
    let get = async |path: String| archive.world.get(&archive.key, &path).await.expect(200);
    let fed = get(archive.feed("include=html,text,markdown,links")).await;
    let contents = &fed["fetches"][0]["contents"];
    let expected = json!({
        "html": "<title>t</title><p>caf\u{e9} <a href=/a rel=nofollow>a</a>\
                 <a href='javascript:b'>b</a><link rel=next href=c><img src=/d.png>",
        "text": "caf\u{e9} ab",
        "markdown": "caf\u{e9} [a](https://a.test/a)b![](https://a.test/d.png)",
        "links": [
            { "url": "https://a.test/a", "origin": "a", "nofollow": true },
            { "url": "https://a.test/x/c", "origin": "link", "nofollow": false },
        ],
    });
    assert_eq!(*contents, expected);
    let id = fed["fetches"][0]["id"].as_str().unwrap();
    for part in ["html", "text", "markdown", "links"] {
        let one = get(format!("/v1/url/{id}?wait=10&include={part}")).await;
        assert_eq!(one["contents"], json!({ part: expected[part] }), "{part}");
    }
    assert_eq!(get(format!("/v1/url/{id}")).await.get("contents"), None);
    assert_eq!(get(archive.feed("limit=1")).await["fetches"][0].get("contents"), None);
    for (query, field) in [
        ("include=", "include"),
        ("include=pdf", "include"),
        ("include=html,", "include"),
        ("include=html&limit=101", "limit"),
        ("include=html&newest=1", "include"),
    ] {
        let refused = archive.world.get(&archive.key, &archive.feed(query)).await;
        let problem = refused.expect_problem(400, "invalid_parameter");
        assert_eq!(problem["errors"][0]["field"], field, "{query}");
    }
}

#[tokio::test]
async fn missing_contents_have_a_reason_and_others_are_returned() {
    let archive = Archive::new().await;
    let page = |url| Archived::page(url, b"<p>here");
    archive.keep(&page("https://a.test/good"));
    let picture = Archived { mime: Some("image/png"), ..page("https://a.test/picture") };
    archive.keep(&picture);
    archive.keep(&page("https://blocked.test/"));
    archive.keep(&page("https://forgotten.test/"));
    archive.record(&page("https://a.test/lost"), &("crawl-data/none".to_owned(), 0, 10));
    let changed = page("https://a.test/changed");
    let place = archive.put(&changed);
    archive.record(&Archived { body: b"else", ..page(changed.url) }, &place);
    let plain = Archived {
        mime: Some("text/plain"),
        head: "content-type: text/plain\r\n",
        ..Archived::page("https://a.test/plain", b"<b> *c*")
    };
    archive.keep(&plain);
    // This URL's row refers to another URL's record with the same body. The offset of its own
    // record is wrong, so that reading that record would fail.
    let again = Archived { body: b"<p>here", ..page("https://a.test/again") };
    archive.keep(&again);
    archive.world.sql(
        "update everytab.fetches f set body_archive = g.archive, body_offset = g.record_offset,
                body_length = g.record_length, record_offset = 1
           from everytab.fetches g
          where f.url = 'https://a.test/again' and g.url = 'https://a.test/good'",
    );
    archive.world.sql(
        "insert into everytab.blocklist (kind, pattern, reason)
         values ('hostname', 'blocked.test', 'x')",
    );
    archive.world.sql("select coordinator.forget('site', 'forgotten.test', 1, null, 7::smallint)");
    archive.world.sql(&format!(
        "insert into everytab.fetches (crawl, slot, lease_number, host_hash, url_hash, url, at,
                                       depth, outcome)
         select crawl, 0, 1, 7, 7, 'https://a.test/failed', now(), 0, 'connect_refused'
           from everytab.crawls where id = '{}'",
        archive.crawl
    ));
    let (fetches, pages) = archive.all("include=html,text,markdown,links").await;
    assert_eq!((fetches.len(), pages), (9, 1));
    let contents = |url: &str| {
        let fetch = fetches.iter().find(|fetch| fetch["url"] == url);
        &fetch.unwrap_or_else(|| panic!("{url}"))["contents"]
    };
    let here = json!({ "html": "<p>here", "text": "here", "markdown": "here", "links": [] });
    assert_eq!(*contents("https://a.test/good"), here);
    assert_eq!(*contents("https://a.test/again"), here);
    let expected = json!({
        "html": "<b> *c*", "text": "<b> *c*", "markdown": "```\n<b> *c*\n```\n", "links": [],
    });
    assert_eq!(*contents("https://a.test/plain"), expected);
    for (url, missing) in [
        ("https://a.test/picture", "not_text"),
        ("https://blocked.test/", "withheld"),
        ("https://forgotten.test/", "withheld"),
        ("https://a.test/lost", "damaged"),
        ("https://a.test/changed", "damaged"),
        ("https://a.test/failed", "not_captured"),
    ] {
        assert_eq!(*contents(url), json!({ "missing": missing }), "{url}");
    }
    let submitted = json!({ "url": "https://due.test/", "crawl": archive.crawl });
    let due = archive.world.post(&archive.key, "/v1/url", &submitted).await.expect(202);
    let path = format!("/v1/url/{}?include=html", due["id"].as_str().unwrap());
    let due = archive.world.get(&archive.key, &path).await.expect(200);
    assert_eq!(due["contents"], json!({ "missing": "not_captured" }));
}

#[tokio::test]
async fn a_feed_with_long_pages_is_split_and_has_each_page_once() {
    let archive = Archive::new().await;
    let long = |number: u32| {
        // Each character in the body takes two bytes in JSON.
        let body = format!("<p>{number}{}", "\n\"".repeat(700_000));
        (format!("https://a.test/{number}"), body)
    };
    let keep = |number: u32| {
        let (url, body) = long(number);
        archive.keep(&Archived::page(&url, body.as_bytes()));
    };
    (0..14).for_each(keep);
    let mut fetches = Vec::new();
    let mut after = String::new();
    loop {
        let path = archive.feed(&format!("include=html,markdown{after}"));
        let page = archive.world.get(&archive.key, &path).await;
        assert!(page.bytes.len() < 24 << 20, "{}", page.bytes.len());
        let page = page.expect(200);
        if after.is_empty() {
            assert_eq!(page["has_more"], true);
            (14..16).for_each(keep);
        }
        fetches.extend(page["fetches"].as_array().unwrap().iter().cloned());
        let count = page["fetches"].as_array().unwrap().len();
        assert!(count <= 6, "{count}");
        if page["has_more"] == false && count == 0 {
            break;
        }
        after = format!("&after={}", page["next"].as_str().unwrap());
    }
    let expected: Vec<String> = (0..16).map(|number| long(number).0).collect();
    assert_eq!(fetches.iter().map(url_of).collect::<Vec<_>>(), expected);
    for fetch in &fetches {
        let digits = url_of(fetch).len() - "https://a.test/".len();
        assert_eq!(fetch["contents"]["html"].as_str().unwrap().len(), 1_400_003 + digits);
    }
    let huge = format!("<p>{}<a href=/>", "\u{e9}".repeat(2 << 20));
    archive.keep(&Archived::page("https://a.test/huge", huge.as_bytes()));
    let path = archive.feed(&format!("include=html,text,markdown{after}"));
    let page = archive.world.get(&archive.key, &path).await.expect(200);
    let contents = &page["fetches"][0]["contents"];
    for part in ["html", "text", "markdown"] {
        assert!(contents[part].as_str().unwrap().len() <= 2 << 20, "{part}");
        assert_eq!(contents[format!("{part}_truncated")], true, "{part}");
    }
}

#[tokio::test]
async fn contents_cost_one_request_per_page() {
    let mut archive = Archive::new().await;
    let slow =
        everytab_coordinator::NewApiKey { requests_per_second: 0.001, burst: 10, ..generous() };
    archive.key = archive.world.key_with(slow).await;
    // Starting a crawl costs one request and a hundredth.
    archive.crawl = archive.world.crawl(&archive.key).await;
    for number in 0..5 {
        archive.keep(&Archived::page(&format!("https://a.test/{number}"), b"a"));
    }
    let get = async |query: &str| archive.world.get(&archive.key, &archive.feed(query)).await;
    assert_eq!(get("include=text").await.expect(200)["fetches"].as_array().unwrap().len(), 5);
    // The requests so far took 7.01 of the bucket's 10. The feed takes 1 more, and the remaining
    // 1.99 are not enough for three pages.
    get("include=text&limit=3").await.expect_problem(429, "throttled");
}
