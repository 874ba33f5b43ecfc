//! Tests seeds without a scheme, seeds that have moved, and a robots.txt on another host.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use everytab_crawl_settings::CrawlSettings;
use everytab_frontier::site_hash;
use everytab_testbed::{GraphPage, GraphSettings};

use crate::{
    server::{Act, Server, page},
    world::{World, settings},
};

async fn world(seed: u64) -> World {
    World::new(seed, GraphSettings::plain(1, 1, 1)).await
}

fn moved(to: &'static str) -> Act {
    Act::Respond(301, to, String::new())
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(url, outcome)| ((*url).to_owned(), (*outcome).to_owned())).collect()
}

/// A TLS handshake with a plain HTTP server fails in one of two ways.
fn assert_failed_over_tls(recorded: &mut BTreeMap<String, String>, url: &str) {
    let outcome = recorded.remove(url).unwrap();
    assert!(["tls_handshake", "connect_reset"].contains(&outcome.as_str()), "{url}: {outcome}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seed_without_a_scheme_is_crawled_over_http_if_https_is_unreachable() {
    let world = world(90).await;
    let links = "<a href=/a>.</a><a href=/b>.</a>";
    let server = Server::start("127.9.0.1:8080", move |path, _| match path {
        "/" => page(links),
        path => page(path),
    })
    .await;
    let seeds = ["127.9.0.1:8080".to_owned()];
    let (_, id) = world.start_urls("one", &settings("host"), &seeds).await;
    // The patience is so long that it does not end either crawl.
    let worker = world.worker("worker-1", |settings| {
        settings.host_patience = Duration::from_secs(24 * 60 * 60);
        settings.origin_pause = Duration::from_secs(60 * 60);
        settings.exit_when_done = false;
    });
    world.ended(id).await;
    let (_, other) = world.start_urls("other", &settings("host"), &seeds).await;
    world.ended(other).await;
    worker.stop().await;
    for id in [id, other] {
        let mut recorded = world.recorded(id).await;
        assert_failed_over_tls(&mut recorded, "https://127.9.0.1:8080/");
        let urls = ["/", "/a", "/b"].map(|path| format!("http://127.9.0.1:8080{path}"));
        let expected: Vec<(&str, &str)> = urls.iter().map(|url| (url.as_str(), "ok")).collect();
        assert_eq!(recorded, map(&expected));
    }
    let via = "select distinct coordinator.via_of(f) from everytab.fetches f \
               where url = 'http://127.9.0.1:8080/'";
    assert_eq!(world.sql(via), "https://127.9.0.1:8080/");
    assert_eq!(server.count("/robots.txt"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seed_without_a_scheme_is_not_requested_over_http_if_https_works() {
    let graph = GraphSettings { https: 500, ..GraphSettings::plain(8, 8, 40) };
    let world = World::new(91, graph).await;
    let homes: Vec<GraphPage> = (0..8).map(|host| world.graph().home(host)).collect();
    let bare = |home: &GraphPage| {
        let url = world.graph().url(*home);
        url.strip_prefix("https://").map_or(url.clone(), str::to_owned)
    };
    let seeds: Vec<String> = homes.iter().map(bare).collect();
    assert!(seeds.iter().any(|seed| !seed.contains("://")), "{seeds:?}");
    let (_, id) = world.start_urls("one", &settings("host"), &seeds).await;
    let worker = world.worker("worker-1", |_| {});
    world.ended(id).await;
    worker.finish().await;
    let crawl = everytab_testbed::ClosedCrawl::new(homes, everytab_testbed::OracleScope::Host);
    crate::world::assert_same(&world.recorded(id).await, &world.expected(crawl));
}

/// http redirects to https, so the crawl must wait for https.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_https_redirect_target_waits_for_the_patience_of_its_crawl() {
    let world = world(92).await;
    let server = Server::start("127.9.1.1:8080", move |path, _| match path {
        "/robots.txt" => Act::Respond(404, "", String::new()),
        _ => moved("Location: https://127.9.1.1:8080/\r\n"),
    })
    .await;
    let seeds = ["127.9.1.1:8080".to_owned()];
    let (_, id) = world.start_urls("one", &settings("host"), &seeds).await;
    let worker = world.worker("worker-1", |_| {});
    let status = world.ended(id).await;
    worker.finish().await;
    assert_eq!(status.left["robots_unreachable"], 1, "{status:?}");
    let expected = [
        ("http://127.9.1.1:8080/", "redirected"),
        ("https://127.9.1.1:8080/", "robots_unreachable"),
    ];
    assert_eq!(world.recorded(id).await, map(&expected));
    assert_eq!(server.count("/"), 1);
}

/// Regression test: a listed site that had moved to another domain yielded only one page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_scope_of_a_list_follows_a_seed_that_has_moved() {
    let world = world(93).await;
    let new_site = |path: &str, _| match path {
        "/robots.txt" => Act::Respond(404, "", String::new()),
        "/" => page("<a href=/a>.</a><a href=http://127.9.2.3:8080/>.</a>"),
        "/a" => page("<a href=/b>.</a>"),
        path => page(path),
    };
    let _old = Server::start("127.9.2.1:8080", |path, _| match path {
        "/robots.txt" => Act::Respond(404, "", String::new()),
        _ => moved("Location: http://127.9.2.2:8080/\r\n"),
    })
    .await;
    let _new = Server::start("127.9.2.2:8080", new_site).await;
    let _other = Server::start("127.9.2.3:8080", new_site).await;
    let mut crawl_settings = settings("list");
    crawl_settings.list_sites = vec![site_hash("127.9.2.1")];
    let seeds = ["http://127.9.2.1:8080/".to_owned()];
    let (_, id) = world.start_urls("one", &crawl_settings, &seeds).await;
    let worker = world.worker("worker-1", |_| {});
    let status = world.ended(id).await;
    worker.finish().await;
    let expected = [
        ("http://127.9.2.1:8080/", "redirected"),
        ("http://127.9.2.2:8080/", "ok"),
        ("http://127.9.2.2:8080/a", "ok"),
        ("http://127.9.2.2:8080/b", "ok"),
    ];
    assert_eq!(world.recorded(id).await, map(&expected));
    assert_eq!(status.links_refused["scope"], 1, "the third site is not where a seed moved to");
}

/// Regression test: a host got a request for another host's robots.txt 57 ms after its last
/// request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_robots_txt_on_another_host_keeps_that_hosts_delay() {
    const DELAY: Duration = Duration::from_millis(300);
    const OLD: [&str; 4] = ["127.9.3.2", "127.9.3.3", "127.9.3.4", "127.9.3.5"];
    let world = world(94).await;
    let times: Arc<Mutex<Vec<(Instant, String)>>> = Arc::default();
    let seen = Arc::clone(&times);
    let links: String = (0..8).map(|page| format!("<a href=/{page}>.</a>")).collect();
    let _server = Server::start("127.9.3.1:8080", move |path, _| {
        seen.lock().unwrap().push((Instant::now(), path.to_owned()));
        match path {
            "/robots.txt" => Act::Respond(404, "", String::new()),
            "/" => page(&links),
            path => page(path),
        }
    })
    .await;
    let mut servers = Vec::new();
    for address in OLD {
        let act = |path: &str, _| match path {
            "/robots.txt" => moved("Location: http://127.9.3.1:8080/robots.txt\r\n"),
            path => page(path),
        };
        servers.push(Server::start(&format!("{address}:8080"), act).await);
    }
    let delay_ms = u64::try_from(DELAY.as_millis()).unwrap();
    let crawl_settings = CrawlSettings { delay_ms, delay_factor: 0.0, ..settings("host") };
    let seeds: Vec<String> = ["127.9.3.1"]
        .into_iter()
        .chain(OLD)
        .map(|address| format!("http://{address}:8080/"))
        .collect();
    let (_, id) = world.start_urls("one", &crawl_settings, &seeds).await;
    let worker = world.worker("worker-1", |_| {});
    let status = world.ended(id).await;
    worker.finish().await;
    assert_eq!(status.captured, 9 + 4, "{status:?}");
    let times = times.lock().unwrap();
    let robots = times.iter().filter(|(_, path)| path == "/robots.txt").count();
    assert_eq!(robots, 1 + OLD.len(), "{times:?}");
    let apart: Vec<Duration> = times.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(apart.iter().all(|apart| *apart >= DELAY), "{apart:?} {times:?}");
}
