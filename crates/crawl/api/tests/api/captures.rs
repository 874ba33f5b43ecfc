//! Tests that captures are served with exactly the archive's content.

use std::{io::Read as _, path::Path, process::Command, time::Duration};

use everytab_commoncrawl::warc::write::{
    ArchiveInfo, ArchiveWriter, Response, TruncatedBecause, stored_head,
};
use everytab_frontier::{CanonicalUrl, ParameterList, site_hash};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::world::{Answer, World};

const CONTENT_SECURITY_POLICY: &str =
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'";
const TIME: &str = "2026-01-31T12:00:00Z";

pub(crate) struct Archived<'a> {
    pub(crate) url: &'a str,
    pub(crate) mime: Option<&'a str>,
    pub(crate) charset: Option<&'a str>,
    pub(crate) head: &'a str,
    pub(crate) body: &'a [u8],
    pub(crate) subset: &'a str,
    pub(crate) truncated: Option<TruncatedBecause>,
}

impl<'a> Archived<'a> {
    pub(crate) fn page(url: &'a str, body: &'a [u8]) -> Self {
        Self {
            url,
            mime: Some("text/html"),
            charset: Some("utf-8"),
            head: "content-type: text/html; charset=utf-8\r\n",
            body,
            subset: "warc",
            truncated: None,
        }
    }
}

pub(crate) struct Archive {
    pub(crate) world: World,
    pub(crate) folder: TempDir,
    pub(crate) key: String,
    pub(crate) crawl: String,
}

impl Archive {
    pub(crate) async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = format!("file://{}", folder.path().display());
        let world = World::with_store(&store).await;
        let key = world.key().await;
        let crawl = world.crawl(&key).await;
        Self { world, folder, key, crawl }
    }

    /// Returns the archive's name, and the record's offset and length.
    pub(crate) fn put(&self, archived: &Archived<'_>) -> (String, u64, u64) {
        let id = self.world.sql("select count(*) from everytab.fetches");
        let object = format!(
            "crawl-data/LIVE-20260131120000-0a1b2c3d/segments/0/{0}/\
             LIVE-20260131120000-0a1b2c3d-w-{id}.warc.gz",
            archived.subset
        );
        let info = ArchiveInfo { file_name: "x", date_micros: 0, fields: &[] };
        let mut writer = ArchiveWriter::new(Vec::new(), &info).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\n{}\r\n", archived.head);
        let head = stored_head(head.as_bytes(), archived.body.len() as u64);
        let written = writer.response(&Response {
            target_uri: archived.url,
            date_micros: 0,
            ip_address: None,
            http_head: &head,
            body: archived.body,
            truncated: archived.truncated,
        });
        let position = written.unwrap().position;
        let path = self.folder.path().join(&object);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, writer.finish().unwrap()).unwrap();
        (object, position.offset, position.length)
    }

    pub(crate) fn record(&self, archived: &Archived<'_>, place: &(String, u64, u64)) {
        let url = CanonicalUrl::parse(archived.url, &ParameterList::default()).unwrap();
        let signed = |hash: u64| (hash ^ (1 << 63)).cast_signed();
        let (host, hash) = (signed(site_hash(url.host())), signed(url.hash().0));
        let digest = hex::encode(Sha256::digest(archived.body));
        let text = |value: Option<&str>| value.map_or("null".to_owned(), |v| format!("'{v}'"));
        let ((object, offset, length), crawl) = (place, &self.crawl);
        self.world.sql(&format!(
            "with written as (
                 insert into everytab.crawl_archives (crawl, object)
                 select crawl, '{object}' from everytab.crawls where id = '{crawl}'
                 on conflict (crawl, object) do update set object = excluded.object
                 returning crawl, archive)
             insert into everytab.fetches (crawl, slot, lease_number, host_hash, url_hash, url, at,
                 depth, status, outcome, bytes, sha256, mime, charset, archive, record_offset,
                 record_length, truncated)
             select crawl, 7, 1, {host}, {hash}, '{}', '{TIME}', 0, 200, 'ok', {}, '\\x{digest}',
                    {}, {}, archive, {offset}, {length}, {} from written",
            archived.url,
            archived.body.len(),
            text(archived.mime),
            text(archived.charset),
            text(archived.truncated.map(TruncatedBecause::as_str)),
        ));
    }

    pub(crate) fn keep(&self, archived: &Archived<'_>) {
        let place = self.put(archived);
        self.record(archived, &place);
    }

    pub(crate) async fn get(&self, path: &str, url: &str, more: &str) -> Answer {
        let url: String = url::form_urlencoded::byte_serialize(url.as_bytes()).collect();
        self.world.get(&self.key, &format!("/v1/crawled/{path}?url={url}{more}")).await
    }
}

#[track_caller]
pub(crate) fn check_headers(answer: &Answer, content_type: &str) {
    let header = |name: &str| answer.headers.get(name).map(|value| value.to_str().unwrap());
    assert_eq!(answer.status.as_u16(), 200, "{answer:?}");
    assert_eq!(header("content-type"), Some(content_type), "{answer:?}");
    assert_eq!(header("content-security-policy"), Some(CONTENT_SECURITY_POLICY));
    assert_eq!(header("x-content-type-options"), Some("nosniff"));
    assert!(header("content-disposition").unwrap().starts_with("attachment; filename="));
    assert_eq!(header("cache-control"), Some("private"));
    assert_eq!(header("referrer-policy"), Some("no-referrer"));
    assert_eq!(header("cross-origin-resource-policy"), Some("same-origin"));
    for absent in ["set-cookie", "refresh", "link", "location", "access-control-allow-origin"] {
        assert_eq!(header(absent), None, "{absent}");
    }
}

#[tokio::test]
async fn a_page_is_served_unchanged_as_bytes_as_text_and_as_its_record() {
    let archive = Archive::new().await;
    let body = b"<title>t</title><p>caf\xe9 &amp; <script>bar()</script>bar<pre>####</pre>";
    let page = Archived {
        charset: Some("windows-1252"),
        head: "content-type: text/html; charset=latin1\r\nset-cookie: a=b\r\nrefresh: 0;url=/x\r\n\
               content-security-policy: script-src *\r\nlink: </a.css>; rel=stylesheet\r\n",
        ..Archived::page("https://a.test/x?b=1", body)
    };
    archive.keep(&page);
    let html = archive.get("html", page.url, "").await;
    check_headers(&html, "text/html; charset=windows-1252");
    let header = |name: &str| html.headers[name].to_str().unwrap();
    assert_eq!(header("x-archived-url"), page.url);
    assert_eq!((header("x-archived-status"), header("x-archived-crawl")), ("200", &*archive.crawl));
    assert_eq!(header("memento-datetime"), "Sat, 31 Jan 2026 12:00:00 GMT");
    assert_eq!(html.bytes, body);
    let same = archive.get("html", "HTTPS://A.TEST:443/x?b=1&utm_source=y#z", "&as=html").await;
    assert_eq!(same.bytes, body);
    let raw = archive.get("html", page.url, "&as=raw").await;
    check_headers(&raw, "application/octet-stream");
    assert_eq!(raw.bytes, body);
    let text = archive.get("html", page.url, "&as=text").await;
    check_headers(&text, "text/plain; charset=utf-8");
    assert_eq!(text.text, "caf\u{e9} & bar");
    let warc = archive.get("html", page.url, "&as=warc").await;
    check_headers(&warc, "application/gzip");
    let limits = everytab_commoncrawl::warc::Limits::default();
    let record = everytab_commoncrawl::warc::read_record(&warc.bytes, limits).unwrap();
    assert_eq!(record.target_uri().as_deref(), Some(page.url));
    assert_eq!(record.http_response().unwrap().body, body);
    for at in ["2026-01-31T12:00:00Z", "20200101000000"] {
        let query = format!("&at={at}&crawl={}", archive.crawl);
        let found = archive.get("html", page.url, &query);
        assert_eq!(found.await.bytes, body, "{at}");
    }
}

#[tokio::test]
async fn types_are_served_from_a_closed_list() {
    let archive = Archive::new().await;
    for (index, (mime, subset, expected)) in [
        (Some("image/svg+xml"), "media", "image/svg+xml"),
        (Some("application/javascript"), "media", "application/octet-stream"),
        (Some("text/javascript"), "media", "application/octet-stream"),
        (Some("text/html"), "media", "text/html"),
        (Some("multipart/x-mixed-replace"), "media", "application/octet-stream"),
        (Some("text/plain"), "warc", "text/plain"),
        (Some("application/x-shockwave-flash"), "warc", "application/octet-stream"),
        (None, "crawldiagnostics", "text/html"),
    ]
    .into_iter()
    .enumerate()
    {
        let url = format!("https://a.test/{index}");
        let body = format!("body {index}");
        let page = Archived::page(&url, body.as_bytes());
        archive.keep(&Archived { mime, charset: None, subset, ..page });
        let (own, other) = if subset == "media" { ("media", "html") } else { ("html", "media") };
        let answer = archive.get(own, &url, "").await;
        check_headers(&answer, expected);
        assert_eq!(answer.text, body);
        archive.get(other, &url, "").await.expect_problem(404, "not_found");
        let has_text = mime.is_none_or(|mime| mime.starts_with("text/"));
        let text = archive.get(own, &url, "&as=text").await;
        assert_eq!(text.status.as_u16(), if has_text { 200 } else { 400 }, "{mime:?}");
    }
    let robots =
        Archived { subset: "robotstxt", ..Archived::page("https://a.test/robots.txt", b"") };
    archive.keep(&robots);
    archive.get("html", robots.url, "").await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn a_truncated_page_is_marked() {
    let archive = Archive::new().await;
    let cut = Some(TruncatedBecause::Length);
    archive.keep(&Archived { truncated: cut, ..Archived::page("https://a.test/", b"<p>a") });
    for form in ["html", "markdown", "raw", "text", "warc"] {
        let answer = archive.get("html", "https://a.test/", &format!("&as={form}")).await;
        assert_eq!(answer.headers["x-archived-truncated"], "length", "{form}");
    }
}

#[tokio::test]
async fn a_record_that_does_not_match_its_row_is_never_served() {
    let archive = Archive::new().await;
    let one = Archived::page("https://a.test/1", b"one");
    let two = Archived::page("https://a.test/2", b"two");
    let three = Archived::page("https://a.test/3", b"three");
    let place = archive.put(&one);
    archive.record(&one, &place);
    // The record of another URL, the wrong offset, and an object that does not exist.
    archive.record(&two, &place);
    archive.record(&three, &(place.0.clone(), place.1 + 1, place.2));
    let absent = Archived::page("https://a.test/4", b"four");
    archive.record(&absent, &("crawl-data/none".to_owned(), 0, 10));
    let changed = Archived::page("https://a.test/5", b"five");
    let place = archive.put(&changed);
    archive.record(&Archived { body: b"5", ..Archived::page(changed.url, b"") }, &place);
    let six = Archived::page("https://a.test/6", b"six");
    let (object, offset, _) = archive.put(&six);
    archive.record(&six, &(object, 0, offset));
    assert_eq!(archive.get("html", one.url, "").await.text, "one");
    for url in [two.url, three.url, changed.url, six.url] {
        for form in ["html", "markdown", "raw", "text", "warc"] {
            let answer = archive.get("html", url, &format!("&as={form}")).await;
            let problem = answer.expect_problem(500, "internal");
            assert_eq!(problem.get("detail"), None, "{problem}");
        }
    }
    archive.get("html", absent.url, "").await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn missing_captures_are_not_found_and_bad_parameters_are_named() {
    let archive = Archive::new().await;
    archive.keep(&Archived::page("https://a.test/", b"a"));
    archive.get("html", "https://a.test/y", "").await.expect_problem(404, "not_found");
    let other = archive.world.key().await;
    let path = "/v1/crawled/html?url=https://a.test/";
    archive.world.get(&other, path).await.expect_problem(404, "not_found");
    let foreign = archive.world.crawl(&other).await;
    let answer = archive.get("html", "https://a.test/", &format!("&crawl={foreign}")).await;
    answer.expect_problem(404, "not_found");
    for (query, code, field) in [
        ("", "invalid_parameter", "url"),
        ("?url=", "invalid_url", "url"),
        ("?url=ftp://a.test/", "invalid_url", "url"),
        ("?url=a.test&as=pdf", "invalid_parameter", "as"),
        ("?url=a.test&at=now", "invalid_parameter", "at"),
        ("?url=a.test&crawl=x", "invalid_parameter", "crawl"),
        ("?url=a.test&limit=1", "unknown_field", "limit"),
    ] {
        for kind in ["html", "media"] {
            let path = format!("/v1/crawled/{kind}{query}");
            let answer = archive.world.get(&archive.key, &path);
            let problem = answer.await.expect_problem(400, code);
            assert_eq!(problem["errors"][0]["field"], field, "{query}");
        }
    }
}

#[tokio::test]
async fn forgotten_captures_are_not_served_but_later_ones_are() {
    let archive = Archive::new().await;
    let of_site = ["https://a.test/", "https://www.a.test/b"];
    for url in of_site.into_iter().chain(["https://b.test/", "https://b.test/c"]) {
        archive.keep(&Archived::page(url, url.as_bytes()));
    }
    let status = async |url: &str| archive.get("html", url, "").await.status.as_u16();
    let forget = |kind: &str, name: &str, hashes: &str| {
        archive.world.sql(&format!("select coordinator.forget('{kind}', '{name}', {hashes})"))
    };
    let url = CanonicalUrl::parse("https://b.test/c", &ParameterList::default()).unwrap();
    let signed = |hash: u64| (hash ^ (1 << 63)).cast_signed();
    let (host, hash) = (signed(site_hash(url.host())), signed(url.hash().0));
    // No crawler sent requests to these hosts, so their captures are not counted.
    assert_eq!(forget("site", "a.test", "1, null, 7::smallint"), "0");
    assert_eq!(forget("url", url.key(), &format!("{host}, {hash}, null")), "1");
    for url in of_site.into_iter().chain(["https://b.test/c"]) {
        assert_eq!(status(url).await, 404, "{url}");
    }
    assert_eq!(status("https://b.test/").await, 200);
    archive.world.sql("update everytab.forgotten set forgotten_at = '2026-01-31T11:59:59Z'");
    for url in of_site.into_iter().chain(["https://b.test/c"]) {
        assert_eq!(status(url).await, 200, "{url}");
    }
}

#[tokio::test]
async fn a_capture_is_read_from_the_store_of_its_slot() {
    let archive = Archive::new().await;
    let page = Archived::page("https://a.test/", b"here");
    archive.keep(&page);
    let folder = archive.folder.path().display();
    let crawl = &archive.crawl;
    let settings = format!(
        "{{\"stores\": [{{\"first\": 0, \"last\": 7, \"store\": \"file://{folder}\"}},
                        {{\"first\": 8, \"last\": 255, \"store\": \"file:///no/such\"}}]}}"
    );
    archive.world.sql(&format!(
        "update everytab.crawls set settings = settings || '{settings}', store = 'file:///none'
          where id = '{crawl}'"
    ));
    assert_eq!(archive.get("html", page.url, "").await.text, "here");
}

/// Pages that try to run scripts, to contact a host, or to imitate something else. `HOST` is a
/// server that must not get a request.
const TRICKS: [(&str, &str, &str, &[u8]); 15] = [
    (
        "script",
        "text/html",
        "utf-8",
        b"<script>fetch('HOST/script')</script>\
     <script src=HOST/src></script>",
    ),
    (
        "events",
        "text/html",
        "utf-8",
        b"<body onload=\"fetch('HOST/onload')\">\
     <img src=x onerror=\"fetch('HOST/onerror')\"><svg onload=\"fetch('HOST/svgonload')\">",
    ),
    ("refresh", "text/html", "utf-8", b"<meta http-equiv=refresh content='0;url=HOST/refresh'>"),
    (
        "base",
        "text/html",
        "utf-8",
        b"<base href=HOST/><img src=base>\
     <link rel=stylesheet href=base.css><link rel=icon href=icon>\
     <link rel=preload as=script href=preload><link rel=prefetch href=prefetch>\
     <link rel=dns-prefetch href=HOST><link rel=preconnect href=HOST>",
    ),
    (
        "svg",
        "image/svg+xml",
        "",
        b"<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='htt\
     p://www.w3.org/1999/xlink' onload=\"fetch('HOST/svg')\"><script>fetch('HOST/svgscript')\
     </script><image xlink:href='HOST/svgimage'/></svg>",
    ),
    (
        "javascript",
        "text/html",
        "utf-8",
        b"<iframe src=\"javascript:fetch('HOST/jsurl')\">\
     </iframe><meta http-equiv=refresh content=\"0;url=javascript:fetch('HOST/jsrefresh')\">",
    ),
    ("plain", "text/plain", "", b"<html><script>fetch('HOST/plain')</script>"),
    (
        "utf7",
        "text/html",
        "utf-8",
        b"<meta charset=utf-7>+ADw-script+AD4-fetch('HOST/utf7')\
     +ADw-/script+AD4-",
    ),
    (
        "utf16",
        "text/html",
        "utf-16le",
        b"<\0s\0c\0r\0i\0p\0t\0>\0f\0e\0t\0c\0h\0(\0'\0H\0O\0S\
     \0T\0/\0u\0t\0f\x001\x006\0'\0)\0<\0/\0s\0c\0r\0i\0p\0t\0>\0",
    ),
    ("sniff", "application/x-unknown", "", b"<!doctype html><script>fetch('HOST/sniff')</script>"),
    ("image", "image/png", "", b"<!doctype html><script>fetch('HOST/image')</script>"),
    (
        "worker",
        "text/html",
        "utf-8",
        b"<script>\
     navigator.serviceWorker.register('/v1/crawled/media?url=x')</script>",
    ),
    (
        "frames",
        "text/html",
        "utf-8",
        b"<iframe src=HOST/frame></iframe>\
     <iframe srcdoc=\"<script>parent.fetch('HOST/srcdoc')</script>\"></iframe>\
     <object data=HOST/object></object><embed src=HOST/embed>\
     <video src=HOST/video poster=HOST/poster></video>",
    ),
    (
        "style",
        "text/html",
        "utf-8",
        b"<style>@import 'HOST/import';\
     body{background:url(HOST/background)}@font-face{font-family:x;src:url(HOST/font)}\
     p{font-family:x}</style><p>a",
    ),
    (
        "form",
        "text/html",
        "utf-8",
        b"<form action=HOST/form>\
     <input autofocus onfocus=\"this.form.submit()\"></form><a href=HOST/ping ping=HOST/ping2>\
     a</a><portal src=HOST/portal></portal>",
    ),
];

/// A real browser opens every response as an attachment. It also opens them in a window and in
/// frames without `Content-Disposition`, as if a proxy had removed this header.
#[tokio::test(flavor = "multi_thread")]
async fn no_browser_runs_archived_content_or_sends_requests_because_of_it() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/captures.mjs");
    if Command::new("node").arg("--version").output().is_err() {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "node is missing");
        println!("skipped: captures in browsers: no node");
        return;
    }
    let archive = Archive::new().await;
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = format!("http://{}", outside.local_addr().unwrap());
    let wide: Vec<u8> = host.bytes().flat_map(|byte| [byte, 0]).collect();
    for (name, mime, charset, body) in TRICKS {
        let is_wide = charset == "utf-16le";
        let (from, to): (&[u8], &[u8]) =
            if is_wide { (b"H\0O\0S\0T\0", &wide) } else { (b"HOST", host.as_bytes()) };
        let body = replaced(body, from, to);
        for subset in ["warc", "media"] {
            let url = format!("https://a.test/{subset}/{name}");
            let page = Archived::page(&url, &body);
            let charset = Some(charset).filter(|charset| !charset.is_empty());
            archive.keep(&Archived { mime: Some(mime), charset, subset, ..page });
        }
    }
    let names: Vec<&str> = TRICKS.iter().map(|(name, ..)| *name).collect();
    outside.set_nonblocking(true).unwrap();
    let mut command = Command::new("node");
    command.arg(script).args([&archive.world.base, &archive.key, &names.join(",")]);
    let ran = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    print!("{said}");
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    // A `preconnect` is not a request, and no policy forbids it, so a browser may open a connection
    // through which it sends nothing.
    while let Ok((mut connection, from)) = outside.accept() {
        connection.set_nonblocking(false).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut sent = Vec::new();
        connection.read_to_end(&mut sent).ok();
        assert!(sent.is_empty(), "{from} asked {:?}", String::from_utf8_lossy(&sent));
    }
}

fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut result = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    result.extend_from_slice(rest);
    result
}
