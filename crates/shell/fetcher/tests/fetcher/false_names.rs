//! Tests resolvers that deny names that exist, or return addresses for names that do not exist.

use std::sync::{Arc, OnceLock};

use everytab_fetcher::{
    FetchSettings, Fetcher, KNOWN_NAMES, LocalFailure, Outcome, PageOptions, PageRequest,
    RobotsPolicy, fetch_shard,
};
use everytab_patience::until;
use everytab_testbed::{GraphSettings, Mix, Settings, SmallInternet};

use super::{
    page_answers::{html, page},
    shards::{host, outcomes, spool},
    support::*,
};

const WINDOW: usize = 100;

fn deny(dns: &TestDns) {
    dns.set("iana.org", Name::Missing);
}

fn tell_the_truth(dns: &TestDns) {
    for name in KNOWN_NAMES {
        dns.point(name, "93.184.216.34");
    }
    dns.set(OTHERS, Name::Missing);
}

#[tokio::test]
async fn each_false_result_is_described_and_causes_no_outcome() {
    let net = Net::start(|_| ok(b"icon")).await;
    let fetcher = net.fetcher();
    let is = |address: &str| Name::Is(vec![address.parse().expect("an address")]);
    for (name, answer, named) in [
        ("iana.org", Name::Missing, "iana.org exists, but was reported missing (NXDOMAIN)"),
        ("iana.org", Name::Empty, "iana.org has addresses, but none was returned"),
        ("iana.org", is("10.0.0.1"), "iana.org resolved to 10.0.0.1, which is not public"),
        (OTHERS, is("10.0.0.1"), "does not exist, but resolved to 10.0.0.1"),
        (OTHERS, is("8.8.8.8"), "does not exist, but resolved to 8.8.8.8"),
        (OTHERS, is("2606:4700::1"), "does not exist, but resolved to 2606:4700::1"),
    ] {
        net.dns.set(name, answer);
        assert_eq!(fetcher.check_network().await, Err(LocalFailure::ResolverFalse), "{named}");
        let fault = fetcher.resolver_fault().expect("a fault");
        assert!(fault.contains(named), "{fault}: {named}");
        let described = fetcher.describe(LocalFailure::ResolverFalse);
        assert_eq!(described, format!("waiting for the resolver: {fault}"));
        for url in ["http://a.test/", "http://missing.test/"] {
            let fetched = fetcher.fetch_one(url, RobotsPolicy::Ignore).await;
            assert_eq!(fetched.err(), Some(LocalFailure::ResolverFalse), "{named}");
        }
        tell_the_truth(&net.dns);
        assert_eq!(fetcher.check_network().await, Ok(()), "{named}");
        assert_eq!(fetcher.resolver_fault(), None);
        assert_eq!(fetch_one(&fetcher, "http://a.test/").await.outcome, Outcome::Ok);
        let missing = fetch_one(&fetcher, "http://missing.test/").await;
        assert_eq!(missing.outcome, Outcome::DnsNxdomain);
    }
}

#[tokio::test]
async fn a_missing_response_is_retried_and_two_names_without_one_are_a_fault() {
    let net = Net::start(|_| ok(b"icon")).await;
    let fetcher = net.fetcher();
    net.dns.set("iana.org", Name::FailsOnce);
    assert_eq!(fetcher.check_network().await, Ok(()));
    // The name servers of a single known name may be down.
    net.dns.set("iana.org", Name::Fails);
    assert_eq!(fetcher.check_network().await, Ok(()));
    net.dns.set("wikipedia.org", Name::Fails);
    assert_eq!(fetcher.check_network().await, Err(LocalFailure::ResolverUnreachable));
    let fault = fetcher.resolver_fault().expect("a fault");
    assert!(fault.contains("no response for names that exist"), "{fault}");
    net.dns.set("example.com", Name::Missing);
    assert_eq!(fetcher.check_network().await, Err(LocalFailure::ResolverFalse));
}

#[tokio::test]
async fn a_resolver_that_is_false_at_the_end_voids_the_shard_and_clears_the_cache() {
    let net = Net::start(|_| ok(&png(16, 0))).await;
    let urls = ["http://a.test/icon", "http://missing.test/icon"];
    let fetcher = net.fetcher();
    let fetch = async || fetch_shard(&fetcher, vec![host(0, &urls)], spool(), net.options()).await;
    let shard = fetch().await.expect("a working resolver");
    assert_eq!(outcomes(&shard), [Outcome::Ok, Outcome::DnsNxdomain]);
    assert!(fetcher.known_addresses("a.test").is_some());
    deny(&net.dns);
    assert_eq!(fetch().await.err(), Some(LocalFailure::ResolverFalse));
    assert_eq!(fetcher.known_addresses("a.test"), None);
    let asked = net.server.seen.count("/icon");
    assert_eq!(asked, 1, "no request while the resolver is false");
}

#[tokio::test]
async fn a_resolver_that_becomes_false_during_a_shard_voids_it() {
    let lying: Arc<OnceLock<TestDns>> = Arc::default();
    let told = Arc::clone(&lying);
    let mut net = Net::start(move |_| {
        told.get().into_iter().for_each(deny);
        ok(&png(16, 0))
    })
    .await;
    let dns = TestDns::start().await;
    dns.point("a.test", "127.0.0.1");
    net.settings.dns = Some(dns.address);
    assert!(lying.set(dns).is_ok());
    let hosts = vec![host(0, &["http://a.test/icon"])];
    let ended = fetch_shard(&net.fetcher(), hosts, spool(), net.options()).await;
    assert_eq!(ended.err(), Some(LocalFailure::ResolverFalse));
    assert_eq!(net.server.seen.count("/icon"), 1);
}

#[tokio::test]
async fn the_resolver_is_checked_if_most_of_100_names_have_no_address_or_the_same() {
    let net = Net::start(|_| ok(b"icon")).await;
    for (answer, outcome) in [
        (Name::Missing, Outcome::DnsNxdomain),
        (Name::Empty, Outcome::DnsNoAddress),
        (Name::Is(vec!["10.0.0.1".parse().expect("an address")]), Outcome::IpBlocked),
        (Name::Is(vec!["127.0.0.1".parse().expect("an address")]), Outcome::Ok),
        (Name::Fails, Outcome::DnsServfail),
    ] {
        tell_the_truth(&net.dns);
        let fetcher = net.fetcher();
        assert_eq!(fetch_one(&fetcher, "http://a.test/").await.outcome, Outcome::Ok);
        net.dns.set(OTHERS, answer);
        deny(&net.dns);
        for number in 2..WINDOW {
            let url = format!("http://n{number}.test/");
            assert_eq!(fetch_one(&fetcher, &url).await.outcome, outcome, "{number}");
        }
        let last = fetcher.fetch_one("http://n100.test/", RobotsPolicy::Ignore).await;
        assert_eq!(last.err(), Some(LocalFailure::ResolverFalse), "{outcome}");
    }
}

#[tokio::test]
async fn a_page_gets_nxdomain_only_if_the_resolver_is_right_afterwards() {
    let net = Net::start(|_| html(b"page")).await;
    let fetcher = net.fetcher();
    let options = PageOptions::default();
    let purpose = page();
    let fetch = async |url: &str| {
        let fetched = fetcher.fetch_page(&options, &PageRequest::new(url, &purpose)).await;
        fetched.map(|fetched| fetched.outcome)
    };
    assert_eq!(fetch("http://a.test/").await, Ok(Outcome::Ok));
    assert_eq!(fetch("http://missing.test/").await, Ok(Outcome::DnsNxdomain));
    deny(&net.dns);
    assert_eq!(fetch("http://missing.test/").await, Err(LocalFailure::ResolverFalse));
    tell_the_truth(&net.dns);
    until("a look-up that counts", async || fetch("http://gone.test/").await.is_ok()).await;
    assert_eq!(fetch("http://missing.test/").await, Ok(Outcome::DnsNxdomain));
}

#[tokio::test]
async fn every_small_internet_has_the_known_names_and_no_others() {
    assert_eq!(everytab_testbed::KNOWN_NAMES, KNOWN_NAMES);
    let scratch = tempfile::tempdir().expect("a folder");
    let graph = GraphSettings { hosts: 2, sites: 2, pages: 2, ..GraphSettings::default() };
    let generated = Settings::generated(1, 3, scratch.path().join("generated"));
    for settings in [
        Settings { behaviours: Mix::none(), ..generated },
        Settings::graph(1, graph, scratch.path().join("graph")),
    ] {
        let net = SmallInternet::start(settings).await.expect("it starts");
        let fetcher = Fetcher::new(FetchSettings {
            dns: Some(net.client.dns),
            allow_ranges: vec!["127.0.0.0/8".parse().expect("a range")],
            dns_timeout: everytab_patience::LIMIT,
            ..FetchSettings::default()
        });
        assert_eq!(fetcher.expect("settings").check_network().await, Ok(()));
        net.stop().await;
    }
}
