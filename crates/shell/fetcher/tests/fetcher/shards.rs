//! Tests whole shards, whose results must not depend on the order of fetching.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use everytab_fetcher::{
    CandidateFetch, FetchSettings, HostCandidates, InFlight, KNOWN_NAMES, LocalFailure, Outcome,
    RobotsPolicy, ShardOptions, ShardResult, Span, Spool, fetch_shard,
};
use everytab_patience::{SILENCE, until};
use everytab_webpage::{Candidate, CandidateSource};

use super::support::*;

pub(super) fn host(host_no: u32, urls: &[&str]) -> HostCandidates {
    let candidate = |url: &&str| Candidate {
        url: (*url).to_owned(),
        source: CandidateSource::LinkRel,
        apple_touch: false,
        declared_type: None,
        declared_sizes: None,
    };
    let candidates = urls.iter().map(candidate).collect();
    HostCandidates { host_no, hostname: format!("{host_no}.test"), candidates }
}

pub(super) fn spool() -> Arc<Spool> {
    let folder = std::env::temp_dir();
    Arc::new(Spool::create(&folder, 100 << 20).expect("a spool"))
}

pub(super) async fn run(net: &Net, hosts: Vec<HostCandidates>) -> ShardResult {
    let shard = fetch_shard(&net.fetcher(), hosts, spool(), net.options()).await;
    shard.expect("no local failure")
}

pub(super) fn outcomes(shard: &ShardResult) -> Vec<Outcome> {
    shard.results.iter().map(|result| result.url_fetch.outcome).collect()
}

#[tokio::test]
async fn every_candidate_has_one_result_in_canonical_order_and_bodies_are_spooled_once() {
    let net = Net::start(|asked| match asked.path.as_str() {
        "/16" => ok(&png(16, 0)),
        "/same" => ok(&png(16, 0)),
        "/32" => ok(&png(32, 9)),
        "/html" => ok(b"<!doctype html><p>not found"),
        "/text" => ok(b"not found"),
        "/cut" => ok(&png(32, 9)[..20]),
        "/huge" => ok(&png(2_100, 1)),
        _ => status("404 Not Found"),
    })
    .await;
    let data = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'/%3E";
    let hosts = vec![
        host(7, &["http://a.test/16", "http://a.test/html", "http://b.test/32", data]),
        host(3, &["http://b.test/same", "http://a.test/text", "http://a.test/cut"]),
        host(5, &["http://127.0.0.1:22/", "http://A.test:80/16", "http://b.test/x"]),
        host(9, &["http://a.test/huge"]),
    ];
    let store = spool();
    let shard = fetch_shard(&net.fetcher(), hosts, Arc::clone(&store), net.options())
        .await
        .expect("no local failure");
    let got: Vec<(u32, u32, Outcome)> = shard
        .results
        .iter()
        .map(|r: &CandidateFetch| (r.host_no, r.candidate_no, r.url_fetch.outcome))
        .collect();
    use Outcome::*;
    assert_eq!(
        got,
        [
            (7, 0, Ok),
            (7, 1, NotImageHtml),
            (7, 2, Ok),
            (7, 3, Ok),
            (3, 0, Ok),
            (3, 1, NotImageOther),
            (3, 2, ImageCorrupt),
            (5, 0, IpBlocked),
            (5, 1, Ok),
            (5, 2, Http404410),
            (9, 0, ImageTooBig),
        ]
    );
    assert_eq!((shard.distinct_urls, shard.dedup_hits), (10, 1));
    assert_eq!(net.server.seen.count("a.test/16"), 1, "one URL is fetched once");
    let end = |at: usize| &shard.results[at].url_fetch;
    let facts = end(2).facts.expect("an image");
    assert_eq!((facts.content_type, facts.width, facts.height), ("image/png", 32, 32));
    let read = |span: Span| store.read(span).expect("spooled");
    assert_eq!(read(end(2).payload.expect("kept").body), png(32, 9));
    assert!(read(end(2).payload.expect("kept").head).starts_with(b"HTTP/1.1 200 OK\r\n"));
    assert_eq!(end(3).facts.expect("an image").content_type, "image/svg+xml");
    assert_eq!(end(3).payload.expect("kept").head.bytes(), 0);
    assert_eq!(end(0).sha256, end(4).sha256);
    assert_eq!(end(0).payload.map(|p| p.body), end(4).payload.map(|p| p.body));
    assert_eq!(end(1).payload, None, "only images are kept");
}

#[tokio::test]
async fn a_result_has_the_caching_fields_of_its_response() {
    let net = Net::start(|asked| match asked.path.as_str() {
        "/kept" => {
            let lines = ["etag: \"1\"", "cache-control: max-age=5184000"];
            Reply::Send(answer_with("200 OK", &lines, &png(16, 0)))
        }
        "/moved" => {
            let lines = ["location: /plain", "etag: \"1\"", "cache-control: max-age=5184000"];
            Reply::Send(answer_with("301 Moved", &lines, b""))
        }
        "/plain" => ok(&png(16, 0)),
        _ => Reply::Send(answer_with("404 Not Found", &["etag: \"1\""], b"no")),
    })
    .await;
    let data = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'/%3E";
    let urls = ["http://a.test/kept", "http://a.test/moved", "http://a.test/none", data];
    let shard = run(&net, vec![host(0, &urls)]).await;
    let found: Vec<_> = shard
        .results
        .iter()
        .map(|result| {
            let caching = result.url_fetch.caching?;
            Some((caching.has_validator, caching.is_fresh_after(30), caching.is_fresh_after(90)))
        })
        .collect();
    assert_eq!(found, [Some((true, true, false)), Some((false, false, false)), None, None]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_gets_at_most_two_concurrent_requests_over_few_connections() {
    let net = Net::start(|asked| {
        let icon = png(16, asked.path.len() as u8);
        Reply::Later(Duration::from_millis(5), answer_with("200 OK", &[], &icon))
    })
    .await;
    let mut hosts = Vec::new();
    for number in 0..20 {
        let a: Vec<String> = (0..3).map(|n| format!("http://a.test/{number}-{n}")).collect();
        let b = format!("http://b.test/{number}");
        let urls: Vec<&str> = a.iter().map(String::as_str).chain([b.as_str()]).collect();
        hosts.push(host(number, &urls));
    }
    let shard = run(&net, hosts).await;
    assert!(outcomes(&shard).iter().all(|outcome| *outcome == Outcome::Ok));
    let most = net.server.seen.most_at_once.lock().expect("unpoisoned").clone();
    assert_eq!(most, HashMap::from([("a.test".to_owned(), 2), ("b.test".to_owned(), 2)]));
    assert_eq!(net.server.seen.paths().len(), 80);
    assert!(net.server.seen.connections.load(Ordering::SeqCst) <= 4);
}

#[tokio::test]
async fn the_order_of_fetching_changes_nothing() {
    let net = Net::start(|asked| match asked.path.as_str() {
        path if path.starts_with("/slow") => Reply::SendAndHang(Vec::new()),
        path if path.starts_with("/no") => status("404 Not Found"),
        path => ok(&png(16, path.len() as u8)),
    })
    .await;
    for number in 0..6 {
        net.dns.point(&format!("h{number}.test"), "127.0.0.1");
        net.dns.point(&format!("dead{number}.test"), "127.0.0.9");
    }
    let mut net = net;
    net.settings.first_byte_timeout = SILENCE;
    let urls: Vec<String> = (0..6)
        .flat_map(|n| {
            ["a", "slow1", "b", "c", "no", "slow2"].map(|path| format!("http://h{n}.test/{path}"))
        })
        .chain((0..6).map(|n| format!("http://dead{n}.test/x")))
        .collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let mut seen: Option<Vec<Outcome>> = None;
    for seed in 0..3 {
        let options = ShardOptions { seed, ..net.options() };
        let shard = fetch_shard(&net.fetcher(), vec![host(0, &urls)], spool(), options).await;
        let now = outcomes(&shard.expect("no local failure"));
        assert_eq!(*seen.get_or_insert(now.clone()), now, "seed {seed}");
    }
    use Outcome::*;
    // In the first pass, "b" was in flight together with "slow1", which timed out. "c", "no" and
    // "slow2" were not requested, because the origin seemed dead. The later pass started with "c",
    // which showed that the server responds.
    let first = seen.expect("ran")[..6].to_vec();
    let hung = FirstByteTimeout;
    assert_eq!(first, [Ok, hung, Ok, Ok, Http404410, hung]);
}

#[tokio::test]
async fn a_dead_origin_costs_one_timeout_per_pass() {
    let mut net = Net::start(|_| Reply::SendAndHang(Vec::new())).await;
    net.settings.first_byte_timeout = SILENCE;
    let urls: Vec<String> = (0..20).map(|n| format!("http://a.test/{n}")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let shard = run(&net, vec![host(0, &urls)]).await;
    assert!(outcomes(&shard).iter().all(|outcome| *outcome == Outcome::FirstByteTimeout));
    assert_eq!(net.server.seen.paths(), ["a.test/0", "a.test/1"]);
    assert_eq!(shard.retried, 20);
}

#[tokio::test]
async fn an_address_that_rejected_two_hosts_is_not_tried_for_the_third() {
    let net = Net::start(|_| ok(b"")).await;
    for name in ["one.test", "two.test", "three.test"] {
        net.dns.point(name, "127.0.0.9");
    }
    let fetcher = net.fetcher();
    for (name, is_known) in [("one", false), ("two", false), ("three", true)] {
        let fetched = fetch_one(&fetcher, &format!("http://{name}.test/")).await;
        assert_eq!(fetched.outcome, Outcome::ConnectRefused);
        assert_eq!(fetched.hops[0].address.is_none(), is_known, "{name}: nothing is dialled");
    }
}

#[tokio::test]
async fn temporary_failures_are_retried_once_and_clear_rejections_are_not() {
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let net = Net::start(move |asked| match asked.path.as_str() {
        "/busy" if counted.fetch_add(1, Ordering::SeqCst) == 0 => {
            Reply::Send(answer_with("503 Service Unavailable", &["retry-after: 1"], b"come back"))
        }
        "/later" => Reply::Send(answer_with("429 Too Many", &["retry-after: 61"], b"")),
        "/broken" => status("500 Internal Server Error"),
        "/gone" => status("404 Not Found"),
        _ => ok(&png(16, 0)),
    })
    .await;
    let paths = ["busy", "x", "y", "z"].map(|path| format!("http://a.test/{path}"));
    let other = ["later", "broken", "gone"].map(|path| format!("http://b.test/{path}"));
    let urls: Vec<&str> = paths.iter().chain(&other).map(String::as_str).collect();
    let shard = run(&net, vec![host(0, &urls)]).await;
    use Outcome::*;
    assert_eq!(outcomes(&shard), [Ok, Ok, Ok, Ok, Http429, Http5xx, Http404410]);
    let seen = &net.server.seen;
    assert_eq!((seen.count("/busy"), seen.count("/x")), (2, 1));
    let paths = seen.paths();
    let at = |path: &str| paths.iter().rposition(|seen| seen.ends_with(path)).expect("asked");
    assert!(at("/busy") < at("/z"));
    assert_eq!((seen.count("/later"), seen.count("/broken"), seen.count("/gone")), (1, 1, 1));
}

#[tokio::test]
async fn when_most_origins_fail_to_resolve_the_shard_is_void() {
    let mut net = Net::start(|_| ok(&png(16, 0))).await;
    (net.settings.breaker_window, net.settings.breaker_minimum) = (20, 10);
    let mut urls = vec!["http://a.test/".to_owned()];
    for number in 0..20 {
        net.dns.set(&format!("f{number}.test"), Name::Fails);
        urls.push(format!("http://f{number}.test/"));
    }
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let fetcher = net.fetcher();
    let options = net.options();
    let ended = fetch_shard(&fetcher, vec![host(0, &urls)], spool(), options.clone()).await;
    assert_eq!(ended.err(), Some(LocalFailure::MostOriginsFail));
    KNOWN_NAMES.iter().for_each(|name| net.dns.set(name, Name::Fails));
    assert_eq!(fetcher.check_network().await, Err(LocalFailure::ResolverUnreachable));
    KNOWN_NAMES.iter().for_each(|name| net.dns.point(name, "127.0.0.1"));
    assert_eq!(fetcher.check_network().await, std::result::Result::Ok(()));
    let ended = fetch_shard(&fetcher, vec![host(0, &urls[..1])], spool(), options).await;
    assert_eq!(outcomes(&ended.expect("closed again")), [Outcome::Ok]);
}

#[tokio::test]
async fn many_hosts_at_one_dead_address_are_not_a_local_failure() {
    let mut net = Net::start(|_| ok(&png(16, 0))).await;
    let silent = Silent::start().await;
    net.settings = FetchSettings {
        dial_ports: [(80, silent.address.port())].into(),
        connect_timeout: SILENCE,
        breaker_window: 20,
        breaker_minimum: 10,
        in_flight: 1,
        ..net.settings
    };
    let urls: Vec<String> = (0..30).map(|number| format!("http://d{number}.test/")).collect();
    for number in 0..30 {
        net.dns.point(&format!("d{number}.test"), "127.0.0.1");
    }
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let options = ShardOptions { later_pass: false, ..net.options() };
    let ended = fetch_shard(&net.fetcher(), vec![host(0, &urls)], spool(), options).await;
    let shard = ended.expect("no local failure");
    assert_eq!(outcomes(&shard), [Outcome::ConnectTimeout; 30]);
    assert_eq!(shard.counts.connections_tried, 2);
}

#[tokio::test]
async fn only_as_many_origins_are_started_as_memory_is_reserved_for() {
    let mut net = Net::start(|_| Reply::SendAndHang(Vec::new())).await;
    net.settings =
        FetchSettings { in_flight: 3, per_address: 1, concurrent_origins: 12, ..net.settings };
    let fetcher = net.fetcher();
    let dns = &net.dns;
    assert!(fetcher.has_room());
    let shards = (0..10).map(|shard| {
        let hosts = (0..5).map(|number| {
            let name = format!("h{shard}-{number}.test");
            dns.point(&name, "127.0.0.1");
            host(number, &[&format!("http://{name}/")])
        });
        fetch_shard(&fetcher, hosts.collect(), spool(), net.options())
    });
    let shards = futures_util::future::join_all(shards);
    let names = || net.dns.questions.lock().expect("unpoisoned").len();
    let waiting = async {
        until("12 look-ups", async || names() >= 12).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
    };
    tokio::select! {
        _ = shards => panic!("no server answers"),
        () = waiting => {}
    }
    let in_flight = InFlight { requests: 1, limit: 3 };
    assert_eq!((names(), fetcher.in_flight()), (12, in_flight));
    assert!(!fetcher.has_room(), "two more requests may be sent, but no more origins may wait");
}

#[tokio::test]
async fn a_full_spool_is_a_local_failure() {
    let net = Net::start(|_| ok(&png(16, 0))).await;
    let small = Arc::new(Spool::create(&std::env::temp_dir(), 10).expect("a spool"));
    let hosts = vec![host(0, &["http://a.test/"])];
    let ended = fetch_shard(&net.fetcher(), hosts, small, net.options()).await;
    assert_eq!(ended.err(), Some(LocalFailure::Spool));
}

#[tokio::test]
async fn concurrent_fetches_share_one_lookup() {
    let net = Net::start(|_| ok(&png(16, 0))).await;
    let urls: Vec<String> = (0..10).map(|n| format!("http://a.test/{n}")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let mut net = net;
    net.robots = RobotsPolicy::Obey;
    run(&net, vec![host(0, &urls)]).await;
    let questions = net.dns.questions.lock().expect("unpoisoned").clone();
    assert_eq!(questions.iter().filter(|(name, _)| name == "a.test").count(), 1);
}
