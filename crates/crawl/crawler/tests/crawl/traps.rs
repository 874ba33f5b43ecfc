//! Tests that a crawl spends little on any kind of trap: it finds nearly all real pages early, and
//! stops early in repetitive pages.
//!
//! Each host has its own trap in addition to its real pages. Requests to a link farm's hosts count
//! only in the total.

use std::collections::{BTreeMap, HashSet};

use everytab_coordinator::CrawlStatus;
use everytab_crawl_settings::CrawlSettings;
use everytab_frontier::MAX_KNOWN_PER_HOST;
use everytab_testbed::{GraphPage, GraphSettings, PageSpread, Trap};

use crate::world::{World, settings};

const PAGES: u64 = 150;
/// Maximum requests until 95 % of the real pages were requested, as a multiple of the real pages.
/// We measured up to 1.97 (docs/benchmarks.md), and responses may arrive in another order.
const MOST_REQUESTS: f64 = 2.2;

/// Maximum total requests to hosts with repetitive traps, as a multiple of their real pages.
const MOST_IN_ALL: f64 = 2.0;
const REPEATING: [Trap; 9] = [
    Trap::Calendar,
    Trap::EndlessQuery,
    Trap::RepeatedSegments,
    Trap::SessionPath,
    Trap::BaseGame,
    Trap::EndlessWords,
    Trap::DeepFolders,
    Trap::Facets,
    Trap::SoftNotFound,
];

#[derive(Default)]
struct SiteRequests {
    requests: usize,
    of_farm: usize,
    pages: HashSet<GraphPage>,
    until_most: Option<usize>,
}

fn is_most(pages: usize) -> bool {
    pages as u64 * 100 >= PAGES * 95
}

/// Returns true if a trap costs few enough requests. The last two values are per page of the host.
fn is_contained(trap: Trap, site: &SiteRequests, until_most: Option<f64>, in_all: f64) -> bool {
    if trap.closes_host() {
        site.pages.is_empty()
    } else if REPEATING.contains(&trap) && in_all > MOST_IN_ALL {
        false
    } else {
        until_most.is_some_and(|until| until <= MOST_REQUESTS)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_with_any_trap_costs_at_most_about_two_requests_per_page() {
    let hosts = Trap::ALL.len() as u64;
    let graph = GraphSettings {
        traps: Trap::ALL.to_vec(),
        trap_hosts: 1_000,
        spread: PageSpread::Equal,
        ..GraphSettings::plain(hosts, hosts, hosts * PAGES)
    };
    let world = World::new(50, graph).await;
    let homes: Vec<GraphPage> = (0..hosts).map(|host| world.graph().home(host)).collect();
    let crawl_settings = CrawlSettings { site_pages: 4 * PAGES, ..settings("site") };
    let id = world.start(&crawl_settings, None, &homes).await;
    let worker = world.worker("worker-1", |_| {});
    let status = world.ended(id).await;
    worker.finish().await;
    assert_eq!(status.ended_by.as_deref(), Some("empty"));

    let mut sites: BTreeMap<u64, SiteRequests> = BTreeMap::new();
    for line in world.requests() {
        let graph = world.graph();
        let name = line.host.as_str();
        // The name of a host in a link farm ends with the name of the host that owns this farm.
        let Some(host) = graph.host_of_name(name) else {
            let host = name.split_once('.').and_then(|(_, name)| graph.host_of_name(name));
            sites.entry(host.unwrap()).or_default().of_farm += 1;
            continue;
        };
        let page = graph.page_of_url(&format!("{}{}", origin(&world, name, host), line.path));
        let site = sites.entry(host).or_default();
        site.requests += 1;
        if page.is_some_and(|page| site.pages.insert(page)) && is_most(site.pages.len()) {
            site.until_most.get_or_insert(site.requests);
        }
    }
    println!("| trap | pages found | requests until 95 % | in all |\n| --- | --- | --- | --- |");
    let mut wrong = Vec::new();
    for host in 0..hosts {
        let Some(trap) = world.graph().trap(host) else { continue };
        let site = sites.remove(&host).unwrap_or_default();
        let until = site.until_most.map(|requests| requests as f64 / PAGES as f64);
        println!(
            "| {} | {} of {PAGES} | {} | {:.2} |",
            trap.as_str(),
            site.pages.len(),
            until.map_or("-".to_owned(), |until| format!("{until:.2}")),
            (site.requests + site.of_farm) as f64 / PAGES as f64,
        );
        let in_all = (site.requests + site.of_farm) as f64 / PAGES as f64;
        if !is_contained(trap, &site, until, in_all) {
            wrong.push(trap);
        }
    }
    println!("left out: {}, left: {}", status.links_refused, status.left);
    assert!(status.left["trap_shape"].as_i64() > Some(0), "{}", status.left);
    for reason in [
        "trap_length",
        "trap_segments",
        "trap_repeated_segment",
        "trap_host_segment",
        "trap_page_links",
        "trap_site_pages",
        "trap_shape",
        "trap_sitemaps",
        "redirects",
    ] {
        assert!(status.links_refused.get(reason).is_some(), "{reason}: {}", status.links_refused);
    }
    assert_eq!(wrong, [], "{}", status.links_refused);
}

/// This host's state exceeds the worker's memory limit, but its URLs are fetched anyway.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_has_at_most_a_million_known_urls_and_all_crawls_continue() {
    let graph = GraphSettings {
        traps: vec![Trap::SitemapFlood, Trap::RedirectLoop],
        trap_hosts: 1_000,
        ..GraphSettings::plain(2, 2, 60)
    };
    let world = World::new(51, graph).await;
    // So high that neither the site's budget nor the limit for URL shapes takes effect.
    let crawl_settings =
        CrawlSettings { site_pages: 100_000_000, trap_pages: 1_000_000, ..settings("site") };
    let id = world.start(&crawl_settings, None, &[world.graph().home(0)]).await;
    let worker = world.worker("worker-1", |_| {});
    let is_full = |status: &CrawlStatus| status.links_refused.get("trap_host_known").is_some();
    let full = world.waited(id, is_full).await;
    let goes_on = |status: &CrawlStatus| status.captured > full.captured + 500;
    let later = world.waited(id, goes_on).await;
    let known = MAX_KNOWN_PER_HOST as i64;
    assert_eq!((full.known, later.known), (known, known), "{full:?}");
    let other = world.start(&settings("site"), None, &[world.graph().home(1)]).await;
    assert_eq!(world.ended(other).await.ended_by.as_deref(), Some("empty"));
    worker.stop().await;
}

fn origin(world: &World, name: &str, host: u64) -> String {
    let scheme = if world.graph().has_https(host) { "https" } else { "http" };
    format!("{scheme}://{name}")
}
