//! Tests that webhooks are delivered only to the public internet and to valid certificates.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use everytab_fetcher::{
    Blocklist, Delivered, Delivery, Exclusion, FetchSettings, Fetcher, Outcome, PageOptions,
    TimeLimits,
};
use everytab_patience::{LIMIT, SILENCE};

use super::{
    page_safety::{SPECIAL, connections, strict},
    support::*,
    tls::{authority, serve},
};

fn delivery(url: &str) -> Delivery<'_> {
    let times = TimeLimits { connect: LIMIT, first_byte: LIMIT, total: LIMIT };
    Delivery { url, content_type: "application/json", fields: &[], body: "{}".into(), times }
}

async fn deliver(fetcher: &Fetcher, url: &str) -> Delivered {
    let delivered = fetcher.deliver(&PageOptions::default(), &delivery(url)).await;
    delivered.expect("no local failure")
}

#[tokio::test]
async fn nothing_is_delivered_to_a_special_address_in_any_spelling() {
    let net = strict().await;
    let fetcher = net.fetcher();
    for host in SPECIAL {
        for url in [format!("http://{host}/"), format!("https://{host}:8443/x")] {
            let delivered = deliver(&fetcher, &url).await;
            assert_eq!(delivered.outcome, Outcome::IpBlocked, "{url}");
        }
    }
    assert_eq!(connections(&net), 0);
    assert_eq!(net.dns.questions.lock().expect("unpoisoned").len(), 0);
}

#[tokio::test]
async fn nothing_is_delivered_to_a_name_with_a_special_address() {
    let net = strict().await;
    let literal = |host: &&str| host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
    let public: IpAddr = "93.184.216.34".parse().expect("an address");
    let fetcher = net.fetcher();
    for (number, address) in SPECIAL.iter().filter_map(literal).enumerate() {
        let (alone, mixed) = (format!("n{number}.test"), format!("m{number}.test"));
        net.dns.set(&alone, Name::Is(vec![address]));
        net.dns.set(&mixed, Name::Is(vec![public, address]));
        let names = if address.is_ipv4() { vec![alone, mixed] } else { vec![alone] };
        for name in names {
            let delivered = deliver(&fetcher, &format!("https://{name}/")).await;
            assert_eq!(delivered.outcome, Outcome::IpBlocked, "{address}");
        }
    }
    assert_eq!(connections(&net), 0);
}

#[tokio::test]
async fn nothing_is_delivered_once_a_name_has_a_special_address() {
    let mut net = Net::start(|_| ok(b"ok")).await;
    net.settings.allow_ranges = vec!["127.0.0.1/32".parse().expect("a range")];
    net.settings.remembers = false;
    let port = net.server.address.port();
    let other = tokio::net::TcpListener::bind(("127.0.0.2", port)).await.expect("a port");
    let fetcher = net.fetcher();
    assert_eq!(deliver(&fetcher, "http://a.test/").await.outcome, Outcome::Ok);
    net.dns.point("a.test", "127.0.0.2");
    assert_eq!(deliver(&fetcher, "http://a.test/").await.outcome, Outcome::IpBlocked);
    assert_eq!(connections(&net), 1);
    let knocked = tokio::time::timeout(Duration::ZERO, other.accept()).await;
    assert!(knocked.is_err(), "nothing was dialled");
}

#[tokio::test]
async fn a_receivers_redirect_is_a_failure_and_not_followed() {
    let net = Net::start(|asked| {
        let target = asked.path.trim_start_matches("/to/").replace('~', "%");
        redirect(&format!("http://{target}/"))
    })
    .await;
    let port = net.server.address.port();
    let other = tokio::net::TcpListener::bind(("127.0.0.2", port)).await.expect("a port");
    let fetcher = net.fetcher();
    let mut sent = 0;
    for host in SPECIAL.iter().chain(&["127.0.0.2", "b.test"]).filter(|host| host.is_ascii()) {
        let url = format!("http://a.test/to/{}", host.replace('%', "~"));
        let delivered = deliver(&fetcher, &url).await;
        let expected = (Outcome::Redirected, Some(302));
        assert_eq!((delivered.outcome, delivered.status), expected, "{host}");
        sent += 1;
    }
    assert_eq!(connections(&net), sent, "one request each, to the receiver");
    assert!(net.server.seen.paths().iter().all(|path| path.starts_with("a.test/to/")));
    let knocked = tokio::time::timeout(Duration::ZERO, other.accept()).await;
    assert!(knocked.is_err(), "nothing was dialled");
}

#[tokio::test]
async fn a_body_is_sent_with_its_fields_and_each_status_is_an_outcome() {
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&heads);
    let net = Net::start(move |asked| {
        log.lock().expect("unpoisoned").push(asked.head.clone());
        let line = asked.path.trim_start_matches('/').replace('+', " ");
        Reply::SendAndClose(answer_with(&line, &["retry-after: 7"], b"ignored"))
    })
    .await;
    let fetcher = net.fetcher();
    for (line, outcome) in [
        ("200 OK", Outcome::Ok),
        ("202 Accepted", Outcome::Ok),
        ("204 No Content", Outcome::Ok),
        ("304 Not Modified", Outcome::Redirected),
        ("400 Bad", Outcome::Http4xx),
        ("401 No", Outcome::Http401403),
        ("410 Gone", Outcome::Http404410),
        ("429 Slow", Outcome::Http429),
        ("500 Broken", Outcome::Http5xx),
        ("503 Away", Outcome::Http5xx),
    ] {
        let url = format!("http://a.test/{}", line.replace(' ', "+"));
        let delivered = deliver(&fetcher, &url).await;
        assert_eq!(delivered.outcome, outcome, "{line}");
        assert_eq!(delivered.status.map(|status| status.to_string()).as_deref(), line.get(..3));
        assert_eq!(delivered.retry_after, Some(Duration::from_secs(7)));
    }
    let fields = [("webhook-id", "msg_1".to_owned()), ("webhook-timestamp", "12".to_owned())];
    let whole = Delivery { fields: &fields, ..delivery("http://a.test/200?x=y#part") };
    fetcher.deliver(&PageOptions::default(), &whole).await.expect("no local failure");
    let heads = heads.lock().expect("unpoisoned");
    let head = heads.last().expect("a request");
    assert!(head.starts_with("POST /200?x=y HTTP/1.1\r\n"), "{head}");
    for (name, value) in [
        ("host", "a.test"),
        ("content-type", "application/json"),
        ("content-length", "2"),
        ("webhook-id", "msg_1"),
        ("webhook-timestamp", "12"),
        ("user-agent", fetcher.user_agent()),
    ] {
        assert_eq!(header(head, name).as_deref(), Some(value), "{head}");
    }
    for name in ["cookie", "authorization", "referer", "accept-encoding"] {
        assert_eq!(header(head, name), None, "{head}");
    }
}

#[tokio::test]
async fn a_receiver_needs_a_valid_certificate() {
    let authority = authority();
    let dns = TestDns::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let ca_file = folder.path().join("root.pem");
    std::fs::write(&ca_file, &authority.pem).expect("written");
    let protocols = [&b"h2"[..], b"http/1.1"];
    let (address, _server) = serve(&authority, &protocols, rustls::ALL_VERSIONS).await;
    for name in ["a.test", "b.test"] {
        dns.point(name, "127.0.0.1");
    }
    let unknown =
        FetchSettings { dial_ports: [(443, address.port())].into(), ..settings(&dns, address) };
    let known = FetchSettings { ca_file: Some(ca_file), ..unknown.clone() };
    let unknown = Fetcher::new(unknown).expect("settings");
    let known = Fetcher::new(known).expect("settings");
    assert_eq!(deliver(&known, "https://a.test/hook").await.outcome, Outcome::Ok);
    let outcome = deliver(&known, "https://b.test/hook").await.outcome;
    assert_eq!(outcome, Outcome::TlsHandshake);
    let outcome = deliver(&unknown, "https://a.test/hook").await.outcome;
    assert_eq!(outcome, Outcome::TlsHandshake);
}

#[tokio::test]
async fn http_is_only_for_allowed_addresses_and_invalid_or_excluded_urls_get_no_request() {
    let mut net = Net::start(|_| ok(b"ok")).await;
    net.settings.ports = "80,443".parse().expect("ports");
    net.dns.point("public.test", "93.184.216.34");
    let fetcher = net.fetcher();
    assert_eq!(deliver(&fetcher, "http://a.test/").await.outcome, Outcome::Ok);
    let sent = connections(&net);
    for (url, outcome) in [
        ("http://public.test/", Outcome::UrlScheme),
        ("http://93.184.216.34/", Outcome::UrlScheme),
        ("ftp://a.test/", Outcome::UrlScheme),
        ("http://a.test:8080/", Outcome::UrlPort),
        ("http://user@a.test/", Outcome::UrlCredentials),
        ("/x", Outcome::UrlUnparsable),
    ] {
        assert_eq!(deliver(&fetcher, url).await.outcome, outcome, "{url}");
    }
    let blocked = PageOptions {
        blocklist: Arc::new(Blocklist {
            suffixes: ["b.test".to_owned()].into(),
            ..Blocklist::default()
        }),
        ..PageOptions::default()
    };
    let excluded = PageOptions::default();
    excluded.exclusions.add([Exclusion::Network("127.0.0.0/8".parse().expect("a range"))], 1);
    for options in [blocked, excluded] {
        let delivered = fetcher.deliver(&options, &delivery("http://b.test/")).await;
        assert_eq!(delivered.expect("no local failure").outcome, Outcome::OptedOut);
    }
    assert_eq!(connections(&net), sent);
}

#[tokio::test]
async fn an_unreachable_or_silent_receiver_fails_in_time() {
    let net = Net::start(|_| Reply::SendAndHang(Vec::new())).await;
    let times = TimeLimits { connect: LIMIT, first_byte: SILENCE, total: LIMIT };
    let silent = Delivery { times, ..delivery("http://a.test/") };
    let delivered = net.fetcher().deliver(&PageOptions::default(), &silent).await;
    let expected = (Outcome::FirstByteTimeout, None);
    let delivered = delivered.expect("no local failure");
    assert_eq!((delivered.outcome, delivered.status), expected);
    let mut away = net.settings.clone();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    away.dial_ports = [(80, port)].into();
    let away = Fetcher::new(away).expect("settings");
    for host in ["a.test", "b.test", "a.test"] {
        let delivered = deliver(&away, &format!("http://{host}/")).await;
        assert_eq!(delivered.outcome, Outcome::ConnectRefused);
    }
    assert_eq!(net.server.seen.connections.load(Ordering::SeqCst), 1);
}
