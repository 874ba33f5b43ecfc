//! Tests the outcome, referrer and certificate fault in each URL's row.

use std::collections::BTreeMap;

use everytab_commoncrawl::warc::{Limits, RecordType, Records};
use everytab_coordinator::{CrawlFetch, FetchFilter, FetchPosition};
use everytab_crawl_settings::{CrawlSettings, SitemapsOption};
use everytab_fetcher::FetchSettings;
use everytab_frontier::CanonicalUrl;
use everytab_testbed::{Behaviour, GraphSettings};
use uuid::Uuid;

use crate::world::{World, settings};

fn key(url: &str) -> String {
    CanonicalUrl::parse(url, &Default::default()).unwrap().key().to_owned()
}

async fn fetches(world: &World, id: Uuid) -> BTreeMap<String, CrawlFetch> {
    let mut found = BTreeMap::new();
    let mut next = Some(FetchPosition::default());
    while let Some(after) = next {
        let all = FetchFilter::default();
        let page = world.owner.crawl_fetches(id, after, 1_000, &all).await.unwrap();
        found.extend(page.fetches.into_iter().map(|fetch| (key(&fetch.url), fetch)));
        next = page.next;
    }
    found
}

fn metadata(world: &World) -> BTreeMap<String, Vec<String>> {
    let archives = world.sql("select object from everytab.crawl_archives");
    let mut found = BTreeMap::new();
    for object in archives.lines() {
        let archive = std::fs::read(world.directory("store").join(object)).unwrap();
        for (_, record) in Records::new(&archive, Limits::default()) {
            let record = record.unwrap();
            if record.record_type == RecordType::Metadata {
                let url = key(&record.target_uri().unwrap());
                let text = String::from_utf8(record.block).unwrap();
                found.insert(url, text.lines().map(str::to_owned).collect());
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_row_names_its_referrer_and_failure_across_worker_restarts() {
    let graph = GraphSettings {
        hosts: 30,
        sites: 10,
        pages: 450,
        dead: 150,
        dead_as: vec![Behaviour::DnsNxdomain, Behaviour::Reset],
        sitemaps: 800,
        hidden: 100,
        ..GraphSettings::default()
    };
    let world = World::new(41, graph).await;
    let home = world.graph().home(0);
    let crawl_settings =
        CrawlSettings { sitemaps: SitemapsOption::Also, delay_ms: 20, ..settings("any") };
    let id = world.start(&crawl_settings, None, &[home]).await;
    // Without root certificates, every certificate has a fault.
    let fetcher = || FetchSettings { ca_file: None, ..world.fetcher() };
    // The first worker packs the pending URLs, and the next one unpacks them.
    let one = world.worker_with("worker-1", fetcher(), |_| {});
    world.waited(id, |status| status.captured > 40).await;
    one.stop().await;
    let two = world.worker_with("worker-2", fetcher(), |_| {});
    let status = world.ended(id).await;
    two.finish().await;

    let fetches = fetches(&world, id).await;
    let seed = key(&world.graph().url(home));
    let mut redirects = 0;
    for (url, fetch) in &fetches {
        let Some(via) = &fetch.via else {
            // If robots.txt names no sitemap, `/sitemap.xml` is tried, and has no referrer.
            assert!(*url == seed || url.ends_with("/sitemap.xml"), "{url}");
            continue;
        };
        if via.ends_with("/robots.txt") {
            assert!(url.contains("sitemap"), "{url}: {via}");
            continue;
        }
        let from = &fetches[&key(via)];
        match &from.redirect {
            Some(target) => assert_eq!((&key(target), fetch.depth), (url, from.depth)),
            None => assert!((from.depth..=from.depth + 1).contains(&fetch.depth), "{url}: {via}"),
        }
        redirects += usize::from(from.redirect.is_some());
    }
    assert!(redirects > 5 && fetches.len() > 300, "{redirects} of {}", fetches.len());

    let mut failures = BTreeMap::new();
    for fetch in fetches.values() {
        let sql = format!("select coordinator.ending_of('{}', 0)", fetch.outcome);
        if world.sql(&sql) == "failed" {
            *failures.entry(fetch.outcome.clone()).or_insert(0) += 1;
        }
    }
    assert_eq!(status.failures, serde_json::to_value(&failures).unwrap());
    assert!(failures.len() > 1, "{failures:?}");

    let metadata = metadata(&world);
    let of_rows = fetches.iter().filter(|(_, fetch)| fetch.object.is_some());
    let mut faulty = 0;
    for (url, fetch) in of_rows {
        let lines = &metadata[url];
        let value = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name));
        assert_eq!(value("via: "), fetch.via.as_deref(), "{url}");
        assert_eq!(value("certificate-fault: "), fetch.certificate.as_deref(), "{url}");
        let expected = url.starts_with("https:").then_some("unknown_issuer");
        assert_eq!(fetch.certificate.as_deref(), expected, "{url}");
        faulty += usize::from(expected.is_some());
    }
    assert!(faulty > 20, "{faulty}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_good_certificate_has_no_fault() {
    let graph =
        GraphSettings { hosts: 2, sites: 1, pages: 20, https: 1_000, ..GraphSettings::default() };
    let world = World::new(42, graph).await;
    let id = world.start(&settings("site"), None, &[world.graph().home(0)]).await;
    let worker = world.worker("worker-1", |_| {});
    world.ended(id).await;
    worker.finish().await;
    let fetches = fetches(&world, id).await;
    assert!(fetches.len() > 10 && fetches.values().all(|fetch| fetch.certificate.is_none()));
}
