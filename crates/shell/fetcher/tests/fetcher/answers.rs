//! Tests the outcome of fetching one URL for each kind of response and failure.

use std::{io::Write, sync::atomic::Ordering, time::Duration};

use everytab_fetcher::{FetchResult, LocalFailure, Outcome, RobotsPolicy};
use everytab_patience::SILENCE;

use super::support::*;

async fn fetch(net: &Net, url: &str) -> FetchResult {
    fetch_one(&net.fetcher(), url).await
}

async fn outcome_of(reply: impl Fn() -> Reply + Send + Sync + 'static) -> Outcome {
    let net = Net::start(move |_| reply()).await;
    let net = Net { settings: impatient(net.settings), ..net };
    fetch(&net, "http://a.test/favicon.ico").await.outcome
}

#[tokio::test]
async fn an_icon_has_its_redirects_and_its_head() {
    let icon = png(16, 0);
    let served = icon.clone();
    let net = Net::start(move |asked| match asked.path.as_str() {
        "/old" => redirect("http://b.test/new"),
        _ => ok(&served),
    })
    .await;
    let fetched = fetch(&net, "http://a.test/old#part").await;
    assert_eq!(fetched.outcome, Outcome::Ok);
    assert_eq!(fetched.body, icon);
    assert_eq!(fetched.final_url, "http://b.test/new");
    let hops: Vec<_> = fetched.hops.iter().map(|hop| (hop.url.as_str(), hop.status)).collect();
    assert_eq!(hops, [("http://a.test/old", Some(302)), ("http://b.test/new", Some(200))]);
    assert!(fetched.hops.iter().all(|hop| hop.address == Some(net.server.address)));
    assert_eq!(fetched.content_type_header.as_deref(), Some("image/png"));
    let head = String::from_utf8(fetched.http_head).expect("text");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.ends_with(&format!("content-length: {}\r\n\r\n", icon.len())), "{head}");
}

#[tokio::test]
async fn a_status_is_an_outcome() {
    for (line, outcome) in [
        ("404 Not Found", Outcome::Http404410),
        ("403 Forbidden", Outcome::Http401403),
        ("500 Internal Server Error", Outcome::Http5xx),
        ("418 I'm a teapot", Outcome::Http4xx),
    ] {
        assert_eq!(outcome_of(move || status(line)).await, outcome, "{line}");
    }
    let net = Net::start(|_| {
        Reply::Send(answer_with("429 Too Many Requests", &["retry-after: 7"], b"later"))
    })
    .await;
    let fetched = fetch(&net, "http://a.test/").await;
    assert_eq!(fetched.outcome, Outcome::Http429);
    assert_eq!(fetched.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn the_outcome_depends_on_where_the_connection_breaks() {
    let reset = |bytes: &'static [u8]| move || Reply::SendAndReset(bytes.to_vec());
    assert_eq!(outcome_of(reset(b"")).await, Outcome::ConnectReset);
    let part = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart";
    assert_eq!(outcome_of(reset(part)).await, Outcome::BodyReset);
    let close = |bytes: &'static [u8]| move || Reply::SendAndClose(bytes.to_vec());
    assert_eq!(outcome_of(close(b"")).await, Outcome::ConnectReset);
    assert_eq!(outcome_of(close(part)).await, Outcome::BodyTruncated);
    assert_eq!(outcome_of(close(b"SSH-2.0-x\r\n\r\n")).await, Outcome::H1Parse);
    let unended = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n";
    assert_eq!(outcome_of(close(unended)).await, Outcome::BodyTruncated);
}

#[tokio::test]
async fn the_outcome_depends_on_where_the_peer_goes_silent() {
    let hang = |bytes: &'static [u8]| move || Reply::SendAndHang(bytes.to_vec());
    assert_eq!(outcome_of(hang(b"")).await, Outcome::FirstByteTimeout);
    assert_eq!(outcome_of(hang(b"HTTP/1.1 200 OK\r\nx: y")).await, Outcome::FirstByteTimeout);
    let part = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart";
    assert_eq!(outcome_of(hang(part)).await, Outcome::TotalTimeout);
}

#[tokio::test]
async fn heads_over_the_limit_are_rejected() {
    let fields = || {
        let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
        for number in 0..1_000 {
            head.extend_from_slice(format!("x-{number}: y\r\n").as_bytes());
        }
        Reply::Send([head.as_slice(), b"\r\n"].concat())
    };
    assert_eq!(outcome_of(fields).await, Outcome::HeaderTooLarge);
    let long = || Reply::Send(format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(200_000)).into());
    assert_eq!(outcome_of(long).await, Outcome::HeaderTooLarge);
}

/// Runs the case over the limit 30 times, because the limit must not depend on timing.
#[tokio::test]
async fn too_many_interim_responses_are_rejected_even_if_a_final_one_follows() {
    let after = |interim: usize| {
        move || {
            let heads = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(interim);
            Reply::Send([heads, answer_with("200 OK", &[], b"an icon")].concat())
        }
    };
    assert_eq!(outcome_of(after(8)).await, Outcome::Ok);
    for _ in 0..30 {
        assert_eq!(outcome_of(after(9)).await, Outcome::HeaderTooLarge);
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_rejected_with_and_without_a_length() {
    let declared =
        || Reply::SendAndHang(b"HTTP/1.1 200 OK\r\ncontent-length: 600000\r\n\r\n".into());
    assert_eq!(outcome_of(declared).await, Outcome::BodyTooLarge);
    let undeclared = || {
        let head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        Reply::SendAndClose([head, vec![1; 600_000]].concat())
    };
    assert_eq!(outcome_of(undeclared).await, Outcome::BodyTooLarge);
    let just_fits = || Reply::Send(answer_with("200 OK", &[], &vec![1; 524_288]));
    assert_eq!(outcome_of(just_fits).await, Outcome::Ok);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

#[tokio::test]
async fn a_gzip_body_is_decoded_and_a_bomb_is_not() {
    let net = Net::start(|asked| {
        assert_eq!(header(&asked.head, "accept-encoding").as_deref(), Some("gzip, br"));
        let line = ["content-encoding: gzip"];
        Reply::Send(match asked.path.as_str() {
            "/icon" => answer_with("200 OK", &line, &gzip(b"an icon")),
            "/bomb" => answer_with("200 OK", &line, &gzip(&vec![0; 20_000_000])),
            "/lie" => answer_with("200 OK", &line, b"an icon"),
            _ => answer_with("200 OK", &["content-encoding: br"], b"an icon"),
        })
    })
    .await;
    let fetched = fetch(&net, "http://a.test/icon").await;
    assert_eq!((fetched.outcome, &fetched.body[..]), (Outcome::Ok, &b"an icon"[..]));
    assert_eq!(fetch(&net, "http://a.test/bomb").await.outcome, Outcome::BodyTooLarge);
    assert_eq!(fetch(&net, "http://a.test/lie").await.outcome, Outcome::ContentDecode);
    assert_eq!(fetch(&net, "http://a.test/brotli").await.outcome, Outcome::ContentDecode);
}

#[tokio::test]
async fn a_success_without_a_body_is_empty() {
    assert_eq!(outcome_of(|| ok(b"")).await, Outcome::EmptyBody);
    let none = || Reply::Send(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec());
    assert_eq!(outcome_of(none).await, Outcome::EmptyBody);
}

#[tokio::test]
async fn redirects_are_followed_up_to_a_limit() {
    let net = Net::start(|asked| {
        let number: usize = asked.path.trim_start_matches("/n").parse().unwrap_or(0);
        match asked.path.as_str() {
            "/self" => redirect("/self"),
            "/ping" => redirect("/pong"),
            "/pong" => redirect("/ping"),
            "/ftp" => redirect("ftp://a.test/"),
            "/port" => redirect("http://a.test:22/"),
            "/n0" => ok(b"icon"),
            _ => redirect(&format!("/n{}", number - 1)),
        }
    })
    .await;
    for (path, outcome, hops) in [
        ("/n5", Outcome::Ok, 6),
        ("/n6", Outcome::RedirectLimit, 6),
        ("/self", Outcome::RedirectLoop, 1),
        ("/ping", Outcome::RedirectLoop, 2),
        ("/ftp", Outcome::RedirectBadScheme, 1),
        ("/port", Outcome::RedirectBlocked, 1),
    ] {
        let fetched = fetch(&net, &format!("http://a.test{path}")).await;
        assert_eq!((fetched.outcome, fetched.hops.len()), (outcome, hops), "{path}");
    }
}

#[tokio::test]
async fn a_redirect_with_a_cookie_is_followed_and_the_cookie_is_sent_to_its_host_only() {
    let net =
        Net::start(|asked| match (asked.host.as_str(), header(&asked.head, "cookie").as_deref()) {
            ("a.test", None) => {
                let lines = ["set-cookie: seen=1; Path=/", "location: /icon"];
                Reply::Send(answer_with("302 Found", &lines, b""))
            }
            ("a.test", Some("seen=1")) => redirect("http://b.test/icon"),
            ("b.test", None) => ok(b"icon"),
            _ => status("500 Wrong Cookie"),
        })
        .await;
    let fetched = fetch(&net, "http://a.test/icon").await;
    assert_eq!((fetched.outcome, fetched.hops.len()), (Outcome::Ok, 3));
}

#[tokio::test]
async fn each_dns_failure_has_its_outcome() {
    let mut net = Net::start(|_| ok(b"icon")).await;
    net.settings.dns_timeout = SILENCE;
    net.dns.set("fails.test", Name::Fails);
    net.dns.set("empty.test", Name::Empty);
    net.dns.set("silent.test", Name::Silent);
    net.dns.point("refuses.test", "127.0.0.9");
    let long = format!("{}.test", "x".repeat(64));
    for (name, outcome) in [
        ("missing.test", Outcome::DnsNxdomain),
        (long.as_str(), Outcome::DnsNxdomain),
        ("fails.test", Outcome::DnsServfail),
        ("empty.test", Outcome::DnsNoAddress),
        ("silent.test", Outcome::DnsTimeout),
        ("refuses.test", Outcome::ConnectRefused),
    ] {
        assert_eq!(fetch(&net, &format!("http://{name}/")).await.outcome, outcome, "{name}");
    }
    let questions = net.dns.questions.lock().expect("unpoisoned").clone();
    let aaaa = questions.iter().filter(|(_, record)| record.to_string() == "AAAA");
    let aaaa: Vec<_> = aaaa.map(|(name, _)| name.as_str()).collect();
    assert_eq!(aaaa, ["empty.test"], "AAAA is queried only if there is no A record");
}

#[tokio::test]
async fn a_connection_that_is_not_accepted_times_out() {
    let mut net = Net::start(|_| ok(b"icon")).await;
    let silent = Silent::start().await;
    net.settings.dial_ports = [(80, silent.address.port())].into();
    net.settings.connect_timeout = SILENCE;
    assert_eq!(fetch(&net, "http://a.test/").await.outcome, Outcome::ConnectTimeout);
}

#[tokio::test]
async fn a_silent_resolver_is_a_local_failure() {
    let mut net = Net::start(|_| ok(b"icon")).await;
    let deaf = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    net.settings.dns = Some(deaf.local_addr().expect("an address"));
    net.settings.dns_timeout = SILENCE;
    let failure = net
        .fetcher()
        .fetch_one("http://a.test/", RobotsPolicy::Ignore)
        .await
        .expect_err("a local failure");
    assert_eq!(failure, LocalFailure::ResolverUnreachable);
    net.settings.dns = Some("127.0.0.1:9".parse().expect("an address"));
    let failure = net
        .fetcher()
        .fetch_one("http://a.test/", RobotsPolicy::Ignore)
        .await
        .expect_err("a local failure");
    assert_eq!(failure, LocalFailure::ResolverUnreachable);
}

#[tokio::test]
async fn a_connection_is_reused_and_a_closed_one_is_replaced() {
    let net = Net::start(|asked| match asked.path.as_str() {
        "/1" => redirect("/2"),
        "/2" => Reply::SendAndClose(answer_with("302 Found", &["location: /3"], b"")),
        _ => ok(b"icon"),
    })
    .await;
    assert_eq!(fetch(&net, "http://a.test/1").await.outcome, Outcome::Ok);
    assert_eq!(net.server.seen.connections.load(Ordering::SeqCst), 2);
}
