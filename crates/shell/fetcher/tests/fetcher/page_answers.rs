//! Tests responses for a crawl's pages and media: the data for archive records, content types, and
//! size limits.

use std::{io::Write, sync::atomic::Ordering, time::Duration};

use everytab_fetcher::{
    ContentTypes, CutReason, DEFAULT_PAGE_BYTES, Outcome, PageFetchResult, PageOptions,
    PageRequest, Purpose, TimeLimits, Validators,
};
use everytab_patience::SILENCE;

use super::support::*;

pub(super) fn page() -> Purpose {
    Purpose::page(DEFAULT_PAGE_BYTES, ContentTypes::pages())
}

pub(super) async fn get(net: &Net, request: PageRequest<'_>) -> PageFetchResult {
    let fetched = net.fetcher().fetch_page(&PageOptions::default(), &request).await;
    fetched.expect("no local failure")
}

async fn get_page(net: &Net, url: &str) -> PageFetchResult {
    get(net, PageRequest::new(url, &page())).await
}

pub(super) fn html(body: &[u8]) -> Reply {
    Reply::Send(answer_with("200 OK", &["content-type: text/html; charset=utf-8"], body))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).expect("memory");
    packed.finish().expect("memory")
}

#[tokio::test]
async fn a_page_has_the_data_for_its_records() {
    let net = Net::start(|_| {
        let lines = ["content-type: Text/HTML", "etag: \"v1\"", "content-encoding: gzip", "x-n: 1"];
        Reply::Send(answer_with("200 Fine", &lines, &gzip(b"<title>Page</title>")))
    })
    .await;
    let before = chrono::Utc::now();
    let fetched = get_page(&net, "http://a.test/dir/page?q=1#part").await;
    assert_eq!((fetched.outcome, fetched.status), (Outcome::Ok, Some(200)));
    assert_eq!(&fetched.body[..], b"<title>Page</title>");
    assert_eq!((fetched.truncated, fetched.redirect.as_deref()), (None, None));
    assert_eq!(fetched.content_type().as_deref(), Some("text/html"));
    assert_eq!(fetched.headers["x-n"], "1");
    let etag = Some("\"v1\"".to_owned());
    assert_eq!(fetched.validators(), Validators { etag, last_modified: None });
    let [exchange] = &fetched.exchanges[..] else { panic!("{:?}", fetched.exchanges) };
    assert_eq!(exchange.url, "http://a.test/dir/page?q=1");
    assert_eq!((exchange.address, exchange.status), (net.server.address, Some(200)));
    assert!(exchange.asked_at >= before && exchange.asked_at <= chrono::Utc::now());
    assert!(exchange.duration > Duration::ZERO);
    let request = text(&exchange.request_head);
    assert!(request.starts_with("GET /dir/page?q=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n"), "{request}");
    assert_eq!(header(request, "host").as_deref(), Some("a.test"));
    let accept = "text/html,application/xhtml+xml,*/*;q=0.8";
    assert_eq!(header(request, "accept").as_deref(), Some(accept));
    let response = text(&exchange.response_head);
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.ends_with("content-length: 19\r\n\r\n"), "{response}");
    assert_eq!(header(response, "x-crawler-content-encoding").as_deref(), Some("gzip"));
}

#[tokio::test]
async fn the_recorded_request_is_the_one_that_was_sent() {
    let net = Net::start(|asked| html(asked.head.as_bytes())).await;
    let fetched = get_page(&net, "http://a.test/x").await;
    let sorted = |head: &[u8]| {
        let mut lines: Vec<String> = text(head).lines().map(str::to_owned).collect();
        lines[1..].sort();
        lines
    };
    assert_eq!(sorted(&fetched.exchanges[0].request_head), sorted(&fetched.body));
}

#[tokio::test]
async fn a_page_over_the_limit_is_cut_and_its_connection_is_not_reused() {
    let body = vec![b'x'; 5_000];
    for (types, name) in [(ContentTypes::pages(), "page"), (ContentTypes::any(), "any")] {
        let (plain, packed) = (body.clone(), gzip(&vec![b'x'; 1_000_000]));
        let net = Net::start(move |asked| match asked.path.as_str() {
            "/packed" => {
                let lines = ["content-type: text/html", "content-encoding: gzip"];
                Reply::Send(answer_with("200 OK", &lines, &packed))
            }
            _ => html(&plain),
        })
        .await;
        let purpose = Purpose::page(1_500, types);
        for (path, bytes, truncated) in
            [("packed", 1_500, Some(CutReason::Length)), ("", 1_500, Some(CutReason::Length))]
        {
            let url = format!("http://a.test/{path}");
            let fetched = get(&net, PageRequest::new(&url, &purpose)).await;
            assert_eq!((fetched.outcome, fetched.truncated), (Outcome::Ok, truncated), "{name}");
            assert_eq!(fetched.body.len(), bytes, "{name} {path}");
            let head = text(&fetched.exchanges[0].response_head);
            assert_eq!(header(head, "content-length").as_deref(), Some("1500"));
        }
        let exact = Purpose::page(5_000, ContentTypes::pages());
        let fetched = get(&net, PageRequest::new("http://a.test/", &exact)).await;
        assert_eq!((fetched.truncated, fetched.body.len()), (None, 5_000));
    }
    assert_eq!(CutReason::Length.as_str(), "length");
}

#[tokio::test]
async fn media_over_the_limit_are_rejected_before_and_during_reading() {
    let net = Net::start(|asked| {
        let line = ["content-type: image/png"];
        match asked.path.as_str() {
            "/declared" => Reply::SendAndHang(
                b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 9999\r\n\r\n"
                    .to_vec(),
            ),
            "/packed" => {
                let lines = ["content-type: image/png", "content-encoding: gzip"];
                Reply::Send(answer_with("200 OK", &lines, &gzip(&vec![0; 1_000_000])))
            }
            _ => Reply::Send(answer_with("200 OK", &line, b"a picture")),
        }
    })
    .await;
    let purpose = Purpose::media(1_000, ContentTypes::images());
    for (path, outcome) in
        [("declared", Outcome::BodyTooLarge), ("packed", Outcome::BodyTooLarge), ("", Outcome::Ok)]
    {
        let url = format!("http://a.test/{path}");
        let fetched = get(&net, PageRequest::new(&url, &purpose)).await;
        assert_eq!(fetched.outcome, outcome, "{path}");
        let accept = header(text(&fetched.exchanges[0].request_head), "accept");
        assert_eq!(accept.as_deref(), Some("image/*,*/*;q=0.8"));
    }
}

#[tokio::test]
async fn a_body_of_another_type_is_rejected_after_the_head() {
    // The server never sends the body, so reading it would cause a timeout.
    let net = Net::start(|asked| {
        let of = match asked.path.as_str() {
            "/video" => "video/mp4",
            _ => "application/octet-stream",
        };
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {of}\r\ncontent-length: 99\r\n\r\n");
        Reply::SendAndHang(head.into_bytes())
    })
    .await;
    for path in ["video", "bytes"] {
        let fetched = get_page(&net, &format!("http://a.test/{path}")).await;
        assert_eq!((fetched.outcome, fetched.status), (Outcome::TypeRefused, Some(200)), "{path}");
        assert_eq!(fetched.truncated, Some(CutReason::Length));
        assert!(fetched.body.is_empty());
        let head = text(&fetched.exchanges[0].response_head);
        assert_eq!(header(head, "x-crawler-content-length").as_deref(), Some("99"));
        assert_eq!(header(head, "content-length").as_deref(), Some("0"));
    }
}

#[tokio::test]
async fn a_page_without_a_declared_type_is_read() {
    let net = Net::start(|_| Reply::Send(answer_with("200 OK", &[], b"<p>"))).await;
    let fetched = get_page(&net, "http://a.test/").await;
    assert_eq!((fetched.outcome, fetched.content_type()), (Outcome::Ok, None));
}

#[tokio::test]
async fn an_error_page_keeps_the_part_that_arrives_in_time() {
    let net = Net::start(|asked| match asked.path.as_str() {
        "/long" => Reply::Send(answer_with("500 Oh", &[], &vec![b'x'; 100_000])),
        "/slow" => {
            Reply::SendAndHang(b"HTTP/1.1 503 Later\r\ncontent-length: 9\r\n\r\nfour".to_vec())
        }
        "/coded" => Reply::Send(answer_with("403 No", &["content-encoding: zstd"], b"x")),
        "/cut" => Reply::SendAndClose(b"HTTP/1.1 404 No\r\ncontent-length: 9\r\n\r\nfour".to_vec()),
        "/empty" => Reply::Send(answer_with("404 No", &[], b"")),
        _ => status("404 Not Found"),
    })
    .await;
    use CutReason::{Disconnect, Length, Time};
    let net = Net { settings: impatient(net.settings), ..net };
    use Outcome::{Http5xx, Http401403, Http404410};
    for (path, outcome, bytes, truncated) in [
        ("short", Http404410, 2, None),
        ("long", Http5xx, 65_536, Some(Length)),
        ("slow", Http5xx, 4, Some(Time)),
        ("cut", Http404410, 4, Some(Disconnect)),
        ("coded", Http401403, 1, None),
        ("empty", Http404410, 0, None),
    ] {
        let fetched = get_page(&net, &format!("http://a.test/{path}")).await;
        let found = (fetched.outcome, fetched.body.len(), fetched.truncated);
        assert_eq!(found, (outcome, bytes, truncated), "{path}");
        let length = header(text(&fetched.exchanges[0].response_head), "content-length");
        assert_eq!(length, Some(bytes.to_string()), "{path}");
    }
}

#[tokio::test]
async fn not_modified_is_accepted_only_for_conditional_requests() {
    let net = Net::start(|asked| {
        let is_same = header(&asked.head, "if-none-match").as_deref() == Some("\"v1\"")
            || header(&asked.head, "if-modified-since").is_some();
        if is_same || asked.path == "/broken" {
            return Reply::Send(b"HTTP/1.1 304 Not Modified\r\netag: \"v1\"\r\n\r\n".to_vec());
        }
        html(b"new")
    })
    .await;
    let purpose = page();
    let ask = |path: &'static str, etag: Option<&str>, date: Option<&str>| {
        let validators =
            Validators { etag: etag.map(str::to_owned), last_modified: date.map(str::to_owned) };
        let url = ["http://a.test/", path].concat();
        let net = &net;
        let purpose = &purpose;
        async move { get(net, PageRequest { validators, ..PageRequest::new(&url, purpose) }).await }
    };
    let fetched = ask("", Some("\"v1\""), None).await;
    assert_eq!((fetched.outcome, fetched.status), (Outcome::NotModified, Some(304)));
    assert_eq!((fetched.truncated, fetched.body.len()), (None, 0));
    let date = Some("Wed, 21 Oct 2015 07:28:00 GMT");
    assert_eq!(ask("", None, date).await.outcome, Outcome::NotModified);
    assert_eq!(ask("", Some("\"v0\""), None).await.outcome, Outcome::Ok);
    assert_eq!(ask("", None, None).await.outcome, Outcome::Ok);
    assert_eq!(ask("broken", None, None).await.outcome, Outcome::Http4xx, "not conditional");
    assert_eq!(ask("broken", Some("\"v1\""), None).await.outcome, Outcome::NotModified);
}

#[tokio::test]
async fn a_pages_outcome_depends_on_where_the_connection_breaks() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 9\r\n\r\nfour";
    for (reply, outcome, status) in [
        (Reply::SendAndClose(head.to_vec()), Outcome::BodyTruncated, Some(200)),
        (Reply::SendAndReset(head.to_vec()), Outcome::BodyReset, Some(200)),
        (Reply::SendAndHang(head.to_vec()), Outcome::TotalTimeout, Some(200)),
        (Reply::SendAndClose(Vec::new()), Outcome::ConnectReset, None),
        (Reply::SendAndHang(Vec::new()), Outcome::FirstByteTimeout, None),
    ] {
        let reply = std::sync::Mutex::new(Some(reply));
        let net = Net::start(move |_| {
            let reply = reply.lock().expect("unpoisoned").take();
            reply.unwrap_or_else(|| html(b"asked again"))
        })
        .await;
        let purpose =
            page().within(TimeLimits { connect: SILENCE, first_byte: SILENCE, total: SILENCE * 2 });
        let fetched = get(&net, PageRequest::new("http://a.test/", &purpose)).await;
        assert_eq!((fetched.outcome, fetched.status), (outcome, status));
        assert_eq!(fetched.exchanges.len(), 1, "{outcome}");
        assert!(b"four".starts_with(&fetched.body), "{outcome}");
        let answered = !fetched.exchanges[0].response_head.is_empty();
        assert_eq!(answered, status.is_some(), "{outcome}");
        assert_eq!(net.server.seen.connections.load(Ordering::SeqCst), 1, "{outcome}");
    }
}

#[tokio::test]
async fn an_unreachable_host_has_an_outcome_and_no_exchange() {
    let net = Net::start(|_| html(b"page")).await;
    net.dns.point("refuses.test", "127.0.0.9");
    net.dns.set("fails.test", Name::Fails);
    for (host, outcome) in [
        ("missing.test", Outcome::DnsNxdomain),
        ("fails.test", Outcome::DnsServfail),
        ("refuses.test", Outcome::ConnectRefused),
    ] {
        let fetched = get_page(&net, &format!("http://{host}/")).await;
        assert_eq!((fetched.outcome, fetched.status), (outcome, None), "{host}");
        assert!(fetched.exchanges.is_empty() && fetched.truncated.is_none(), "{host}");
    }
}
