//! Tests that the fetcher only dials addresses on the public internet.

use std::sync::{Arc, atomic::Ordering};

use everytab_fetcher::{Blocklist, Outcome, RobotsPolicy, ShardOptions, fetch_shard};

use super::{
    shards::{host, outcomes, spool},
    support::*,
};

/// The fetcher treats loopback as private.
async fn strict(script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Net {
    let mut net = Net::start(script).await;
    net.settings.allow_ranges.clear();
    net.settings.dial_ports = [80, 443, 8080, 8443].map(|p| (p, net.server.address.port())).into();
    net
}

#[tokio::test]
async fn a_literal_private_address_is_rejected_in_every_spelling() {
    let net = strict(|_| ok(b"secret")).await;
    let fetcher = net.fetcher();
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "169.254.169.254",
        "10.0.0.1",
        "100.64.0.1",
        "192.168.1.1",
        "224.0.0.1",
        "255.255.255.255",
    ] {
        let fetched = fetch_one(&fetcher, &format!("http://{host}/")).await;
        assert_eq!(fetched.outcome, Outcome::IpBlocked, "{host}");
        assert!(fetched.hops.iter().all(|hop| hop.address.is_none()), "{host}");
    }
    assert_eq!(net.server.seen.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_name_with_any_private_address_is_rejected() {
    let net = strict(|_| ok(b"secret")).await;
    let ip = |text: &str| text.parse().expect("an address");
    net.dns.set("mixed.test", Name::Is(vec![ip("192.0.0.8"), ip("127.0.0.1")]));
    net.dns.set("rebound.test", Name::Is(vec![ip("93.184.216.34"), ip("127.0.0.1")]));
    net.dns.set("six.test", Name::Is(vec![ip("::ffff:127.0.0.1")]));
    let fetcher = net.fetcher();
    for name in ["a.test", "mixed.test", "rebound.test", "six.test", "localhost", "x.localhost"] {
        let fetched = fetch_one(&fetcher, &format!("http://{name}/")).await;
        assert_eq!(fetched.outcome, Outcome::IpBlocked, "{name}");
    }
    assert_eq!(net.server.seen.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn urls_that_are_not_http_are_rejected() {
    let net = strict(|_| ok(b"secret")).await;
    for url in ["file:///etc/passwd", "gopher://a.test/", "http://a.test:22/", "/relative", ""] {
        let fetched = fetch_one(&net.fetcher(), url).await;
        assert_eq!(fetched.outcome, Outcome::IpBlocked, "{url}");
    }
}

#[tokio::test]
async fn every_hop_is_vetted() {
    let mut net = Net::start(|asked| match asked.path.as_str() {
        "/literal" => redirect("http://169.254.169.254/latest/meta-data/"),
        "/mapped" => redirect("http://[::ffff:10.0.0.1]/"),
        "/decimal" => redirect("http://2852039166/"),
        "/name" => redirect("http://inside.test/"),
        _ => redirect("http://127.0.0.2/"),
    })
    .await;
    net.dns.point("inside.test", "10.1.2.3");
    net.settings.deny_ranges = vec!["127.0.0.2/32".parse().expect("a range")];
    for robots in [RobotsPolicy::Ignore, RobotsPolicy::Obey] {
        let fetcher = net.fetcher();
        for path in ["/literal", "/mapped", "/decimal", "/name", "/denied"] {
            let fetched = fetcher.fetch_one(&format!("http://a.test{path}"), robots).await;
            let fetched = fetched.expect("no local failure");
            assert_eq!(fetched.outcome, Outcome::RedirectBlocked, "{path} {robots:?}");
            assert_eq!(fetched.hops[1].address, None, "{path}");
        }
    }
}

#[tokio::test]
async fn dial_ports_change_neither_the_address_nor_the_host_header() {
    let net = Net::start(|asked| {
        assert_eq!(asked.host, "a.test");
        ok(b"icon")
    })
    .await;
    let fetched = fetch_one(&net.fetcher(), "http://a.test/icon").await;
    assert_eq!(fetched.outcome, Outcome::Ok);
    assert_eq!(fetched.hops[0].address, Some(net.server.address));
    assert_ne!(net.server.address.port(), 80);
}

#[tokio::test]
async fn proxies_in_the_environment_are_ignored() {
    // Setting proxy variables here would affect all tests in this process. The dialled address
    // shows that no proxy is used.
    let net = Net::start(|_| ok(b"icon")).await;
    let fetched = fetch_one(&net.fetcher(), "http://a.test/").await;
    assert_eq!(fetched.hops[0].address, Some(net.server.address));
    assert_eq!(net.server.seen.paths(), ["a.test/"]);
}

#[tokio::test]
async fn a_blocked_host_gets_no_request_from_other_hosts_icons_or_redirects() {
    let mut net = Net::start(|asked| match asked.path.as_str() {
        "/moved" => redirect("http://cdn.left.test/icon"),
        "/robots.txt" => status("404 Not Found"),
        _ => ok(&png(16, 0)),
    })
    .await;
    net.robots = RobotsPolicy::Obey;
    for name in ["left.test", "cdn.left.test", "alone.test"] {
        net.dns.point(name, "127.0.0.1");
    }
    let urls = [
        "http://a.test/icon",
        "http://left.test/icon",
        "http://LEFT.test./icon",
        "http://cdn.left.test/icon",
        "http://alone.test/icon",
        "http://a.test/moved",
    ];
    let mut blocklist = Blocklist::default();
    blocklist.suffixes.insert("left.test".to_owned());
    blocklist.hostnames.insert("alone.test".to_owned());
    let options = ShardOptions { blocklist: Arc::new(blocklist), ..net.options() };
    let ended = fetch_shard(&net.fetcher(), vec![host(0, &urls)], spool(), options).await;
    use Outcome::*;
    let shard = ended.expect("no local failure");
    assert_eq!(outcomes(&shard), [Ok, OptedOut, OptedOut, OptedOut, OptedOut, OptedOut]);
    let questions = net.dns.questions.lock().expect("unpoisoned").clone();
    assert!(questions.iter().all(|(name, _)| name == "a.test"), "{questions:?}");
    assert!(net.server.seen.paths().iter().all(|path| path.starts_with("a.test/")));
}
