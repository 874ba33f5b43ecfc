//! Tests origins that fail while the host's other origins continue.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use everytab_crawl_settings::CrawlSettings;
use everytab_crawler::CrawlerSettings;
use everytab_testbed::GraphSettings;

use crate::{
    server::{Act, Server, page},
    world::{World, settings},
};

const PAGES: usize = 12;

async fn world(seed: u64) -> World {
    World::new(seed, GraphSettings { hosts: 1, sites: 1, pages: 1, ..GraphSettings::default() })
        .await
}

fn home(more: &str) -> Act {
    let links: String = (0..PAGES).map(|page| format!("<a href=/p{page}>.</a>")).collect();
    page(&format!("<title>home</title>{links}{more}"))
}

fn not_found() -> Act {
    Act::Respond(404, "", String::new())
}

fn host_settings() -> CrawlSettings {
    CrawlSettings { delay_ms: 250, delay_factor: 0.0, ..settings("host") }
}

/// A long patience, as in operation, but short pauses.
fn patient(settings: &mut CrawlerSettings) {
    settings.host_patience = Duration::from_secs(24 * 60 * 60);
    settings.origin_pause = Duration::from_secs(1);
    settings.retry_pause = Duration::from_secs(1);
    settings.exit_when_done = false;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_port_holds_back_only_its_own_urls() {
    let world = world(60).await;
    let more = "<a href=http://127.6.0.1:8443/dead>.</a><a href=https://127.6.0.1:8080/tls>.</a>";
    let server = Server::start("127.6.0.1:8080", move |path, _| match path {
        "/robots.txt" => not_found(),
        "/" => home(more),
        path => page(path),
    })
    .await;
    let dead = "http://127.6.0.1:8443/seed".to_owned();
    let (_, one) =
        world.start_urls("one", &host_settings(), &[dead, "http://127.6.0.1:8080/".into()]).await;
    let worker = world.worker("worker-1", patient);
    let good = i64::try_from(PAGES).unwrap() + 1;
    world.waited(one, |status| status.captured == good).await;
    // The dead port must not hold back another owner's URL on the same host, either.
    let url = "http://127.6.0.1:8080/other".to_owned();
    let (_, other) = world.start_urls("other", &host_settings(), &[url]).await;
    world.waited(other, |status| status.captured == 1 && status.state == "ended").await;
    let status = world.status(one).await;
    assert_eq!((status.pending, status.state.as_str()), (3, "running"), "{status:?}");

    let paused = |hosts: &[everytab_coordinator::CrawlHost]| {
        let origins = hosts.first()?.origins.clone()?;
        let of = |origin: &str| {
            let of = |one: &&serde_json::Value| one["origin"] == origin;
            Some(origins.as_array()?.iter().find(of)?["outcome"].clone())
        };
        Some((of("http://127.6.0.1:8443")?, of("https://127.6.0.1:8080")?))
    };
    let hosts = loop {
        let hosts = world.owner.crawl_hosts(one, 10).await.unwrap();
        if let Some(paused) = paused(&hosts) {
            // A TLS handshake with a plain HTTP server fails in one of two ways.
            assert_eq!(paused.0, "connect_refused");
            assert!(["tls_handshake", "connect_reset"].contains(&paused.1.as_str().unwrap()));
            break hosts;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(hosts[0].failures > 0);
    assert_eq!(server.count("/robots.txt"), 1);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_costs_no_page_whatever_the_failure() {
    const OUTAGE: std::ops::Range<usize> = 4..12;
    // The outage lasts for more requests than there are pages left, so a page would use up its
    // retries.
    const LONG_OUTAGE: std::ops::Range<usize> = 4..15;
    // Used instead of an HTTP status.
    const CLOSED: u16 = 0;
    const CUT: u16 = 1;
    let world = world(61).await;
    let mut crawls = Vec::new();
    let mut servers = Vec::new();
    let kinds = [500, 502, 503, 504, 520, 527, 408, 429, CLOSED, CUT];
    for (number, status) in kinds.into_iter().enumerate() {
        let requests = Arc::new(AtomicUsize::new(0));
        let address = format!("127.6.1.{number}:8080");
        let server = Server::start(&address, move |path, _| {
            let number = requests.fetch_add(1, Ordering::SeqCst);
            match path {
                _ if OUTAGE.contains(&number) && status == CLOSED => Act::Close,
                _ if LONG_OUTAGE.contains(&number) && status == CUT => Act::Cut("<p>It".to_owned()),
                _ if OUTAGE.contains(&number) => {
                    Act::Respond(status, "Retry-After: 1\r\n", String::new())
                }
                "/robots.txt" => not_found(),
                "/" => home(""),
                path => page(path),
            }
        })
        .await;
        servers.push(server);
        let url = format!("http://{address}/");
        let settings = CrawlSettings { retries: 1, ..host_settings() };
        crawls.push((status, world.start_urls("one", &settings, &[url]).await.1));
    }
    let worker = world.worker("worker-1", |settings| {
        patient(settings);
        settings.origin_pause = Duration::from_millis(200);
    });
    for (kind, crawl) in crawls {
        let status = world.ended(crawl).await;
        let good = i64::try_from(PAGES).unwrap() + 1;
        assert_eq!((status.captured, status.failed), (good, 0), "{kind}: {status:?}");
    }
    worker.stop().await;
    assert_eq!(world.sql("select count(*) from everytab.fetches where truncated <> ''"), "0");
}

/// There are fewer pages left than failures after which an origin is paused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_during_the_last_pages_of_a_site_costs_none() {
    let world = world(67).await;
    let failed = Arc::new(AtomicUsize::new(0));
    let _server = Server::start("127.6.4.1:8080", move |path, _| match path {
        "/robots.txt" => not_found(),
        "/" if failed.load(Ordering::SeqCst) == 0 => {
            failed.store(1, Ordering::SeqCst);
            page("<a href=/a>.</a><a href=/b>.</a>")
        }
        // Fail more requests than both pages together have attempts.
        _ if failed.fetch_add(1, Ordering::SeqCst) <= 7 => Act::Close,
        path => page(path),
    })
    .await;
    let url = "http://127.6.4.1:8080/".to_owned();
    let crawl_settings = CrawlSettings { retries: 2, ..host_settings() };
    let crawl = world.start_urls("one", &crawl_settings, &[url]).await.1;
    let worker = world.worker("worker-1", |settings| {
        patient(settings);
        settings.origin_pause = Duration::from_millis(200);
    });
    let status = world.ended(crawl).await;
    assert_eq!((status.captured, status.failed), (3, 0), "{status:?}");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_always_fail_on_a_working_site_fail_after_their_retries() {
    let world = world(62).await;
    let bad = |path: &str| path.starts_with("/bad");
    let server = Server::start("127.6.2.1:8080", move |path, _| match path {
        "/robots.txt" => not_found(),
        "/" => home(&(0..9).map(|at| format!("<a href=/bad{at}>.</a>")).collect::<String>()),
        path if bad(path) => Act::Respond(500, "", String::new()),
        path => page(path),
    })
    .await;
    let settings = CrawlSettings { delay_ms: 250, retries: 2, ..host_settings() };
    let seed = "http://127.6.2.1:8080/".to_owned();
    let (_, id) = world.start_urls("one", &settings, &[seed]).await;
    let worker = world.worker("worker-1", patient);
    let status = world.ended(id).await;
    worker.stop().await;
    let good = i64::try_from(PAGES).unwrap() + 1;
    assert_eq!((status.captured, status.failed), (good, 9), "{status:?}");
    for at in 0..9 {
        assert_eq!(server.count(&format!("/bad{at}")), 3, "{:?}", server.requests());
    }
    assert!((1..=12).contains(&server.count("/")), "{:?}", server.requests());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn urls_of_a_dead_origin_are_left_after_the_patience_of_their_crawl() {
    let world = world(63).await;
    let _server = Server::start("127.6.3.1:8080", |path, _| match path {
        "/robots.txt" => not_found(),
        path => page(path),
    })
    .await;
    let dead = "http://127.6.3.1:8443/dead".to_owned();
    let impatient = CrawlSettings { host_patience_s: Some(2), ..host_settings() };
    let (_, one) = world.start_urls("one", &impatient, std::slice::from_ref(&dead)).await;
    let worker = world.worker("worker-1", patient);
    let status = world.ended(one).await;
    assert_eq!(status.left, serde_json::json!({ "robots_unreachable": 1 }));
    let urls = ["http://127.6.3.1:8080/a".to_owned(), dead];
    let (_, other) = world.start_urls("other", &impatient, &urls).await;
    let status = world.ended(other).await;
    let left = serde_json::json!({ "robots_unreachable": 1 });
    assert_eq!((status.captured, &status.left), (1, &left));
    worker.stop().await;
}
