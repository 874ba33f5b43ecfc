//! Tests `inspect links`, `robots`, `sitemap` and `normalize`.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Said {
    fn json(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn inspect(arguments: &[&str], input: &str) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everytab-worker"));
    command.arg("inspect").args(arguments).env_remove("EVERYTAB_JSON");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The program does not read its input if it rejects its options.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    child.wait_with_output().unwrap().into()
}

const PAGE: &str = "<meta name=robots content=noarchive><a href=/b?b=2&a=1#c>x</a>\
    <a href=http://other.example/ rel=nofollow>y</a><img src=i.png><a href=mailto:a@b>z</a>";

#[test]
fn the_links_of_a_page_are_lines_with_kind_markup_nofollow_and_key() {
    let said = inspect(&["links", "-", "--url", "https://site.example/d/"], PAGE);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let expected = "page\ta\tfollow\thttps://site.example/b?a=1&b=2\n\
                    page\ta\tnofollow\thttp://other.example/\n\
                    requisite\timg\tfollow\thttps://site.example/d/i.png\n";
    assert_eq!(said.out, expected);
    let counts = "-: 2 links to pages, 1 requisites; skipped: 1 with another scheme; \
                  robots directives: noarchive\n";
    assert_eq!(said.err, counts);
}

#[test]
fn the_links_of_a_page_are_json_lines_and_its_counts_the_last_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    fs::write(&file, PAGE).unwrap();
    let said = inspect(&["links", "--json", file.to_str().unwrap()], "");
    let lines = said.json();
    let link = json!({
        "kind": "page", "origin": "a", "nofollow": false, "url": "https://example.com/b?b=2&a=1",
        "key": "https://example.com/b?a=1&b=2", "error": null,
    });
    assert_eq!((said.code, lines.len(), &lines[0]), (Some(0), 4, &link));
    let counts = json!({
        "page": "https://example.com/", "pages": 2, "requisites": 1,
        "left_out":
            {"over_limit": 0, "too_long": 0, "other_scheme": 1, "unparsable": 0, "empty": 0},
        "robots": {"is_noindex": false, "is_nofollow": false, "is_noarchive": true},
        "error": null,
    });
    assert_eq!(lines[3], counts);
}

#[test]
fn a_robots_txt_is_printed_with_group_delay_sitemaps_and_verdicts() {
    let file = "User-agent: *\nCrawl-delay: 2.5\nDisallow: /private\n\
                Sitemap: https://site.example/map.xml\nSitemap: /relative.xml";
    let urls = ["--url", "https://site.example/private/x", "--url", "/open"];
    let said = inspect(&[&["robots", "-"][..], &urls].concat(), file);
    let expected = "file\t-\ngroup\tthe groups for all robots\ncrawl-delay\t2.5 s\n\
                    sitemap\thttps://site.example/map.xml\nsitemaps left out\t1\n\
                    disallowed\thttps://site.example/private/x\tdisallow: /private\n\
                    allowed\t/open\tno rule matches\n";
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), expected, ""));

    let said = inspect(&[&["robots", "-", "--json"][..], &urls].concat(), file);
    let expected = json!({
        "file": "-", "robot": "EveryTabBot", "unavailable": false, "group": "everyone",
        "crawl_delay": 2.5,
        "crawl_delay_too_long": false, "sitemaps": ["https://site.example/map.xml"],
        "sitemaps_left_out": 1,
        "urls": [
            {"url": "https://site.example/private/x", "allowed": false,
             "rule": "disallow: /private"},
            {"url": "/open", "allowed": true, "rule": null},
        ],
        "error": null,
    });
    assert_eq!(said.json(), [expected]);

    let named = inspect(&["robots", "-"], "user-agent: everytabbot\ncrawl-delay: 1e9");
    assert!(named.out.contains("the groups that name EveryTabBot"), "{}", named.out);
    assert!(named.out.contains("more than 5 minutes"), "{}", named.out);
    let empty = inspect(&["robots", "-"], "");
    assert!(empty.out.contains("none, so everything is allowed"), "{}", empty.out);
}

const SITEMAP: &str = "<urlset><url><loc>https://site.example/1</loc><xhtml:link \
    rel='alternate' hreflang='de' href='https://site.example/de/1'/></url>\
    <url><loc>/relative</loc></url><url><loc>ftp://site.example/</loc></url></urlset>";

#[test]
fn the_urls_of_a_sitemap_are_lines_and_its_counts_follow() {
    let said = inspect(&["sitemap", "-"], SITEMAP);
    let expected = "page\thttps://site.example/1\nalternate\thttps://site.example/de/1\n";
    let counts = "-: urlset, 1 pages, 1 alternates, 0 sitemaps; skipped: 1 with another scheme, \
                  1 unparsable\n";
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), expected, counts));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index.xml.gz");
    let index = "<sitemapindex><sitemap><loc>https://site.example/1.xml</loc></sitemap>";
    let mut packed = flate2::write::GzEncoder::new(
        fs::File::create(&file).unwrap(),
        flate2::Compression::fast(),
    );
    packed.write_all(index.as_bytes()).unwrap();
    packed.finish().unwrap();
    let said = inspect(&["sitemap", "--json", file.to_str().unwrap()], "");
    let expected = [
        json!({ "kind": "sitemap", "url": "https://site.example/1.xml", "error": null }),
        json!({
            "file": file, "format": "index", "pages": 0, "alternates": 0, "sitemaps": 1,
            "left_out":
                {"over_limit": 0, "too_long": 0, "other_scheme": 0, "unparsable": 0, "empty": 0},
            "cut": true, "error": null,
        }),
    ];
    assert_eq!((said.code, said.json().as_slice()), (Some(0), &expected[..]));
    let said = inspect(&["sitemap", "-"], "<!DOCTYPE html><title>Not found</title>");
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", "-: not a sitemap\n"));
    let said = inspect(&["sitemap", "/nowhere/sitemap.xml"], "");
    assert_eq!(said.code, Some(1), "{}", said.err);
}

#[test]
fn a_sitemap_that_robots_txt_disallows_is_not_fetched() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 1_024];
        assert!(stream.read(&mut head).unwrap() > 0);
        let rules = "User-agent: *\nDisallow: /s";
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{rules}", rules.len());
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let dial = format!("80={port}");
    let options = ["--allow-range", "127.0.0.0/8", "--dial-port", &dial];
    let said = inspect(&[&["sitemap", "http://127.0.0.1/sitemap.xml"][..], &options].concat(), "");
    server.join().unwrap();
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.err.contains("robots.txt disallows it"), "{}", said.err);
}

#[test]
fn a_robots_txt_that_is_rate_limited_allows_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 1_024];
        assert!(stream.read(&mut head).unwrap() > 0);
        let answer = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let dial = format!("80={port}");
    let url = "http://127.0.0.1/";
    let options = ["--allow-range", "127.0.0.0/8", "--dial-port", &dial, "--url", "/open"];
    let said = inspect(&[&["robots", url][..], &options].concat(), "");
    server.join().unwrap();
    let expected = "file\thttp://127.0.0.1/robots.txt\n\
                    status\t429, so no requests are sent until it is available\n\
                    group\tunknown\ncrawl-delay\tnone\n\
                    disallowed\t/open\trobots.txt is unavailable\n";
    assert_eq!((said.code, said.out.as_str()), (Some(0), expected), "{}", said.err);
}

#[test]
fn a_url_is_printed_with_key_host_site_hash_and_slot() {
    let url = "https://WWW.example.com/?b=1&a=2&utm_source=x";
    let said = inspect(&["normalize", url], "");
    assert_eq!(said.code, Some(0), "{}", said.err);
    let lines: Vec<&str> = said.out.lines().collect();
    let [key, host, site, hash, slot] = lines[..] else { panic!("{}", said.out) };
    assert_eq!(key, "key\thttps://www.example.com/?a=2&b=1");
    // printf example.com | sha256sum
    assert_eq!([host, site, slot], ["host\twww.example.com", "site\texample.com", "slot\t163"]);
    let said = inspect(&["normalize", "--json", url, "nonsense"], "");
    let lines = said.json();
    assert_eq!((said.code, lines.len()), (Some(1), 2), "one of two is bad");
    assert_eq!(format!("hash\t{}", lines[0]["hash"].as_str().unwrap()), hash);
    assert_eq!((&lines[0]["slot"], &lines[1]["slot"]), (&json!(163), &Value::Null));
}

#[test]
fn unreadable_input_is_named_with_advice() {
    for (arguments, input, code, words) in [
        (&["links", "-"][..], "", 1, &["-: it is empty", "expected an HTML page"][..]),
        (&["links", "/nowhere/page.html"], "", 1, &["/nowhere/page.html", "No such file"]),
        (&["links", "/"], "", 1, &["directory"]),
        (&["links", "-", "--url", "site.example"], PAGE, 2, &["--url", "https://example.com/"]),
        (&["links", "-", "--url", "ftp://a.example/"], PAGE, 2, &["--url", "neither http"]),
        (&["links"], "", 2, &["FILE|URL"]),
        (&["links", "http://127.0.0.1/"], "", 1, &["http://127.0.0.1/", "cannot fetch"]),
        (&["robots", "/nowhere"], "", 1, &["/nowhere"]),
        (&["robots", "-", "--url", "nonsense"], "", 2, &["nonsense", "/path"]),
        (&["normalize"], "", 2, &["URLS"]),
        (&["normalize", ""], "", 1, &["\"\"", "not an absolute URL", "https://example.com/path"]),
        (&["normalize", "mailto:a@b"], "", 1, &["mailto:a@b", "only http:// and https://"]),
    ] {
        let said = inspect(arguments, input);
        assert_eq!((said.code, said.out.as_str()), (Some(code), ""), "{}", said.err);
        for word in words {
            assert!(said.err.contains(word), "{arguments:?}: no {word:?} in {}", said.err);
        }
        assert!(!said.err.contains("panicked"), "{}", said.err);
    }
    let said = inspect(&["links", "--json", "-"], "");
    assert_eq!((said.code, said.json()[0]["page"].as_str()), (Some(1), Some("-")));
    assert!(said.json()[0]["error"].as_str().unwrap().contains("empty"));
}
