//! Tests that a crawl only reaches the public internet, even by redirects and for every kind of
//! request.

use std::{
    net::IpAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use everytab_fetcher::{
    Blocklist, ContentTypes, Exclusion, Exclusions, Fetcher, Outcome, PageFetchResult, PageOptions,
    PageRequest, Purpose,
};

use super::{
    page_answers::{html, page},
    support::*,
};

pub(super) const SPECIAL: &[&str] = &[
    "127.0.0.1",
    "127.1",
    "0x7f.1",
    "0x7f000001",
    "2130706433",
    "017700000001",
    "0177.0.0.1",
    "127.0.0.1.",
    "%31%32%37.0.0.1",
    "１２７.0.0.1",
    "127。0。0。1",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "0",
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "169.254.1.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[100::1]",
    "[2001::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[5f00::1]",
    "[fc00::1]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[::ffff:10.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::1]",
    "[4000::1]",
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "[::ffff:a9fe:a9fe]",
    "169.254.169.253",
    "169.254.169.123",
    "169.254.170.2",
    "169.254.170.23",
    "168.63.129.16",
    "[fd00:ec2::254]",
    "[fd00:ec2::253]",
    "localhost",
    "LOCALHOST.",
    "x.localhost",
];

fn purposes() -> [Purpose; 4] {
    let media = Purpose::media(1_000, ContentTypes::any());
    [page(), media, Purpose::robots(), Purpose::sitemap()]
}

async fn ask(fetcher: &Fetcher, url: &str, purpose: &Purpose) -> PageFetchResult {
    let request = PageRequest::new(url, purpose);
    let fetched = fetcher.fetch_page(&PageOptions::default(), &request).await;
    fetched.expect("no local failure")
}

/// The fetcher treats loopback as private. All ports that URLs may have lead to the server.
pub(super) async fn strict() -> Net {
    let mut net = Net::start(|_| html(b"secret")).await;
    net.settings.allow_ranges.clear();
    net.settings.dial_ports = [80, 443, 8080, 8443].map(|p| (p, net.server.address.port())).into();
    net
}

pub(super) fn connections(net: &Net) -> usize {
    net.server.seen.connections.load(Ordering::SeqCst)
}

#[tokio::test]
async fn a_special_address_is_rejected_in_every_spelling_with_one_outcome() {
    let net = strict().await;
    let fetcher = net.fetcher();
    for host in SPECIAL {
        for purpose in purposes() {
            for url in [format!("http://{host}/"), format!("https://{host}:8443/x")] {
                let fetched = ask(&fetcher, &url, &purpose).await;
                assert_eq!(fetched.outcome, Outcome::IpBlocked, "{url}");
                assert!(fetched.exchanges.is_empty(), "{url}");
            }
        }
    }
    assert_eq!(connections(&net), 0);
    assert_eq!(net.dns.questions.lock().expect("unpoisoned").len(), 0);
}

#[tokio::test]
async fn a_name_with_any_special_address_is_rejected() {
    let net = strict().await;
    let fetcher = net.fetcher();
    let literal = |host: &&str| host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
    let addresses: Vec<IpAddr> = SPECIAL.iter().filter_map(literal).collect();
    assert!(addresses.len() > 40);
    let public: IpAddr = "93.184.216.34".parse().expect("an address");
    for (number, address) in addresses.into_iter().enumerate() {
        let (alone, mixed) = (format!("n{number}.test"), format!("m{number}.test"));
        net.dns.set(&alone, Name::Is(vec![address]));
        net.dns.set(&mixed, Name::Is(vec![public, address]));
        let names = if address.is_ipv4() { vec![alone, mixed] } else { vec![alone] };
        for name in names {
            let fetched = ask(&fetcher, &format!("http://{name}/"), &page()).await;
            assert_eq!(fetched.outcome, Outcome::IpBlocked, "{address}");
            assert!(fetched.exchanges.is_empty(), "{address}");
        }
    }
    assert_eq!(connections(&net), 0);
}

#[tokio::test]
async fn a_redirect_to_a_special_address_reaches_nothing() {
    let mut net = Net::start(|asked| {
        let target = asked.path.trim_start_matches("/to/").replace('~', "%");
        redirect(&format!("http://{target}/"))
    })
    .await;
    net.settings.allow_ranges = vec!["127.0.0.1/32".parse().expect("a range")];
    let port = net.server.address.port();
    let other = tokio::net::TcpListener::bind(("127.0.0.2", port)).await.expect("a port");
    let fetcher = net.fetcher();
    let is_the_server = |host: &str| {
        let url = url::Url::parse(&format!("http://{host}/")).expect("a URL");
        let host = url.host_str().unwrap_or_default().to_owned();
        ["127.0.0.1", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"]
            .contains(&host.as_str())
    };
    let hosts = SPECIAL.iter().chain(&["127.0.0.2", "127.2"]);
    for host in hosts.filter(|host| host.is_ascii() && !is_the_server(host)) {
        let url = format!("http://a.test/to/{}", host.replace('%', "~"));
        let fetched = ask(&fetcher, &url, &Purpose::robots()).await;
        assert_eq!(fetched.outcome, Outcome::RedirectBlocked, "{host}");
        assert_eq!(fetched.exchanges.len(), 1, "{host}");
        for purpose in [page(), Purpose::sitemap()] {
            let fetched = ask(&fetcher, &url, &purpose).await;
            assert_eq!(fetched.outcome, Outcome::Redirected, "{host}");
            let target = fetched.redirect.expect("a target");
            assert_eq!(
                ask(&fetcher, &target, &purpose).await.outcome,
                Outcome::IpBlocked,
                "{host}"
            );
        }
    }
    let knocked = tokio::time::timeout(std::time::Duration::ZERO, other.accept()).await;
    assert!(knocked.is_err(), "nothing was dialled");
    assert!(net.server.seen.paths().iter().all(|path| path.starts_with("a.test/to/")));
}

#[tokio::test]
async fn each_forbidden_url_has_its_outcome() {
    let net = strict().await;
    let fetcher = net.fetcher();
    let long = format!("http://a.test/{}", "x".repeat(2_048));
    for (url, word) in [
        ("/relative", "url_unparsable"),
        ("", "url_unparsable"),
        ("a.test", "url_unparsable"),
        ("http://", "url_unparsable"),
        ("http://a b/", "url_unparsable"),
        ("http://256.256.256.256/", "url_unparsable"),
        ("file:///etc/passwd", "url_scheme"),
        ("gopher://a.test:80/", "url_scheme"),
        ("ftp://a.test/", "url_scheme"),
        ("data:text/html,x", "url_scheme"),
        ("javascript:alert(1)", "url_scheme"),
        ("ws://a.test/", "url_scheme"),
        ("unix:/run/socket", "url_scheme"),
        ("http://a.test:0/", "url_port"),
        ("http://a.test:22/", "url_port"),
        ("http://127.0.0.1:5432/", "url_port"),
        ("http://a.test:65535/", "url_port"),
        ("http://user@a.test/", "url_credentials"),
        ("http://user:word@127.0.0.1/", "url_credentials"),
        (long.as_str(), "url_too_long"),
    ] {
        for purpose in purposes() {
            let fetched = ask(&fetcher, url, &purpose).await;
            assert_eq!(fetched.outcome.as_str(), word, "{url}");
            assert!(fetched.exchanges.is_empty(), "{url}");
        }
        let refusal = fetcher.refusal(url, fetcher.ports());
        assert_eq!(refusal.map(Outcome::as_str), Some(word), "{url}");
    }
    let refusal = |url: &str| fetcher.refusal(url, &"80,8081".parse().expect("ports"));
    assert_eq!(refusal("http://127.0.0.1/"), Some(Outcome::IpBlocked));
    assert_eq!(refusal("http://[::1]:8081/"), Some(Outcome::IpBlocked));
    assert_eq!(refusal("https://a.test/"), Some(Outcome::UrlPort));
    assert_eq!(refusal("http://a.test:8081/"), None);
    assert_eq!(connections(&net), 0);
    assert_eq!(net.dns.questions.lock().expect("unpoisoned").len(), 0);
}

#[tokio::test]
async fn blocked_and_excluded_hosts_get_no_request_even_by_redirects() {
    let net = Net::start(|asked| match asked.path.as_str() {
        "/robots.txt" => redirect("http://b.test/robots.txt"),
        _ => html(b"page"),
    })
    .await;
    let fetcher = net.fetcher();
    let blocked = PageOptions {
        blocklist: Arc::new(Blocklist {
            suffixes: ["b.test".to_owned()].into(),
            ..Blocklist::default()
        }),
        ..PageOptions::default()
    };
    let excluded = PageOptions::default();
    let exclusions: &Exclusions = &excluded.exclusions;
    exclusions.add([Exclusion::Hostname("b.test".to_owned())], 1);
    let robots = Purpose::robots();
    for options in [blocked, excluded] {
        for url in ["http://b.test/", "http://a.test/robots.txt"] {
            let request = PageRequest::new(url, &robots);
            let fetched = fetcher.fetch_page(&options, &request).await.expect("no local failure");
            assert_eq!(fetched.outcome, Outcome::OptedOut, "{url}");
        }
    }
    assert!(net.server.seen.paths().iter().all(|path| path.starts_with("a.test/")));
}

#[tokio::test]
async fn addresses_from_another_worker_are_checked_like_lookups() {
    let net = strict().await;
    let fetcher = net.fetcher();
    let of = |texts: &[&str]| {
        texts.iter().map(|text| text.parse().expect("an address")).collect::<Vec<IpAddr>>()
    };
    let minute = Duration::from_secs(60);
    for addresses in
        [&["127.0.0.1"][..], &["93.184.216.34", "10.0.0.1"], &["::ffff:127.0.0.1"], &[]]
    {
        fetcher.learn_addresses("a.test", of(addresses), minute);
        assert_eq!(fetcher.known_addresses("a.test"), None, "{addresses:?}");
    }
    assert_eq!(ask(&fetcher, "http://a.test/", &page()).await.outcome, Outcome::IpBlocked);
    assert_eq!(connections(&net), 0);
}

#[tokio::test]
async fn a_name_with_known_addresses_is_not_resolved() {
    let net = Net::start(|_| html(b"page")).await;
    let fetcher = net.fetcher();
    let address: IpAddr = "127.0.0.1".parse().expect("an address");
    fetcher.learn_addresses("New.test.", vec![address], Duration::from_secs(7_200));
    let (addresses, left) = fetcher.known_addresses("new.test").expect("the name has addresses");
    assert_eq!(&addresses[..], [address]);
    assert!(left <= Duration::from_secs(3_600), "at most an hour");
    assert_eq!(ask(&fetcher, "http://new.test/", &page()).await.outcome, Outcome::Ok);
    assert_eq!(net.dns.questions.lock().expect("unpoisoned").len(), 0);
    assert_eq!(ask(&fetcher, "http://a.test/", &page()).await.outcome, Outcome::Ok);
    let (addresses, _) = fetcher.known_addresses("a.test").expect("the name was resolved");
    fetcher.learn_addresses("a.test", vec!["127.0.0.9".parse().expect("one")], left);
    let known = fetcher.known_addresses("a.test").map(|(known, _)| known);
    assert_eq!(known, Some(addresses), "the known addresses remain");
    assert_eq!(fetcher.known_addresses("missing.test"), None);
}
