//! Tests that a crawl reads its hosts' sitemaps, and ends despite sitemap traps.

use std::{collections::BTreeMap, time::Duration};

use everytab_crawl_settings::{CrawlSettings, SitemapsOption};
use everytab_testbed::{
    ClosedCrawl, GraphPage, GraphSettings, OracleScope, OracleSitemaps, PageKind, PageSpread, Trap,
    check_politeness,
};
use uuid::Uuid;

use crate::world::{World, assert_same, settings};

const KEPT: &str = "select count(*) from (select url, outcome, a.object from everytab.fetches f
    join everytab.crawl_archives a using (crawl, archive)) kept";

/// Returns a graph in which most hosts have sitemaps. Some pages are linked only from a sitemap.
fn with_sitemaps(hosts: u64, sites: u64, pages: u64) -> GraphSettings {
    GraphSettings { hosts, sites, pages, sitemaps: 800, hidden: 100, ..GraphSettings::default() }
}

fn with_sitemaps_option(sitemaps: SitemapsOption, scope: &str) -> CrawlSettings {
    CrawlSettings { sitemaps, ..settings(scope) }
}

/// Returns each recorded URL's outcome, with the digest if it is `ok`, because only such bodies are
/// parsed.
fn recorded(world: &World, id: Uuid) -> BTreeMap<String, String> {
    let rows = world.sql(&format!(
        "select url, outcome, case outcome when 'ok' then encode(sha256, 'hex') end
           from everytab.fetches join everytab.crawls c using (crawl) where c.id = '{id}'"
    ));
    let mut recorded = BTreeMap::new();
    for row in rows.lines() {
        let (url, rest) = row.split_once('|').unwrap();
        let key = everytab_frontier::CanonicalUrl::parse(url, &Default::default()).unwrap();
        let before = recorded.insert(key.key().to_owned(), rest.to_owned());
        assert_eq!(before, None, "{url} is recorded twice");
    }
    recorded
}

fn expected(world: &World, crawl: ClosedCrawl) -> BTreeMap<String, String> {
    let fetches = world.graph().oracle(crawl);
    fetches
        .map(|fetch| {
            let digest = fetch.sha256.filter(|_| fetch.outcome == "ok").map(hex::encode);
            (fetch.url, format!("{}|{}", fetch.outcome, digest.unwrap_or_default()))
        })
        .collect()
}

fn hidden(world: &World, urls: &BTreeMap<String, String>) -> usize {
    let pages = urls.keys().filter_map(|url| world.graph().page_of_url(url));
    pages.filter(|page| world.graph().kind(*page) == PageKind::Hidden).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_that_reads_sitemaps_records_the_pages_they_list() {
    let world = World::new(40, with_sitemaps(30, 12, 900)).await;
    let home = world.graph().home(0);
    let mut crawls = Vec::new();
    for (option, sitemaps) in [
        (SitemapsOption::Off, OracleSitemaps::Off),
        (SitemapsOption::Robots, OracleSitemaps::Robots),
        (SitemapsOption::Also, OracleSitemaps::Also),
    ] {
        for (scope, of_oracle) in [("any", OracleScope::Any), ("host", OracleScope::Host)] {
            let crawl = ClosedCrawl { sitemaps, ..ClosedCrawl::new(vec![home], of_oracle) };
            crawls.push((
                world.start(&with_sitemaps_option(option, scope), None, &[home]).await,
                crawl,
            ));
        }
    }
    let one = world.worker("worker-1", |_| {});
    let two = world.worker("worker-2", |_| {});
    let mut found = Vec::new();
    for (id, crawl) in crawls {
        let status = world.ended(id).await;
        let is_whole = crawl.scope == OracleScope::Any;
        let expected = expected(&world, crawl);
        assert_same(&recorded(&world, id), &expected);
        assert_eq!(status.ended_by.as_deref(), Some("empty"));
        assert_eq!(status.seeds + status.sent, status.read);
        found.extend(is_whole.then(|| hidden(&world, &expected)));
    }
    one.finish().await;
    two.finish().await;
    assert!(found[0] == 0 && found[1] > 20 && found[2] > found[1], "{found:?}");
    // Sitemaps are not pages, so the index of pages must not contain them.
    let others = world.sql(&format!("{KEPT} where url ~ '/sitemap' and object !~ '/media/'"));
    assert_eq!(others, "0");
    assert_eq!(check_politeness(&world.requests(), |_| Duration::ZERO), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_that_die_lose_no_sitemap() {
    let world = World::new(41, with_sitemaps(20, 10, 400)).await;
    let home = world.graph().home(0);
    let mut crawl_settings = with_sitemaps_option(SitemapsOption::Also, "any");
    crawl_settings.delay_ms = 150;
    let id = world.start(&crawl_settings, None, &[home]).await;
    for number in 0..2 {
        let worker = world.worker(&format!("worker-{number}"), |_| {});
        tokio::time::sleep(Duration::from_secs(3)).await;
        worker.kill();
    }
    let last = world.worker("worker-last", |_| {});
    let status = world.ended(id).await;
    last.finish().await;
    let sitemaps = OracleSitemaps::Also;
    let crawl = ClosedCrawl { sitemaps, ..ClosedCrawl::new(vec![home], OracleScope::Any) };
    assert_same(&recorded(&world, id), &expected(&world, crawl));
    assert_eq!(status.seeds + status.sent, status.read);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_with_a_cached_robots_txt_reads_sitemaps_too() {
    let world = World::new(42, with_sitemaps(6, 6, 120)).await;
    let homes: Vec<GraphPage> = (0..6).map(|host| world.graph().home(host)).collect();
    let crawl = ClosedCrawl::new(homes.clone(), OracleScope::Host);
    for number in 1..=2 {
        let id =
            world.start(&with_sitemaps_option(SitemapsOption::Robots, "host"), None, &homes).await;
        let worker = world.worker(&format!("worker-{number}"), |_| {});
        world.ended(id).await;
        worker.finish().await;
        let expected = expected(&world, crawl.clone());
        assert!(hidden(&world, &expected) > 3);
        assert_same(&recorded(&world, id), &expected);
        let robots = world.requests().iter().filter(|line| line.path == "/robots.txt").count();
        assert_eq!(robots, 6, "in crawl {number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sitemaps_do_not_count_against_the_page_limit() {
    let world = World::new(43, with_sitemaps(20, 10, 400)).await;
    let home = world.graph().home(0);
    let id =
        world.start(&with_sitemaps_option(SitemapsOption::Also, "any"), Some(60), &[home]).await;
    let worker = world.worker("worker-1", |_| {});
    let status = world.ended(id).await;
    worker.finish().await;
    assert_eq!(status.ended_by.as_deref(), Some("limit"));
    let captured = format!("{KEPT} where outcome in ('ok', 'redirected') and object");
    assert_eq!(world.sql(&format!("{captured} !~ '/media/'")), "60");
    let sitemaps = world.sql(&format!("{captured} ~ '/media/'"));
    assert!(sitemaps.parse::<u32>().unwrap() > 3, "{sitemaps}");
}

/// Each host has a different trap.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_ends_and_finds_its_pages_despite_sitemap_traps() {
    let traps: Vec<Trap> = Trap::ALL.into_iter().filter(|trap| trap.is_of_sitemaps()).collect();
    let hosts = traps.len() as u64;
    let graph = GraphSettings {
        traps: traps.clone(),
        trap_hosts: 1_000,
        spread: PageSpread::Equal,
        ..GraphSettings::plain(hosts, hosts, hosts * 100)
    };
    let world = World::new(44, graph).await;
    let crawl_settings =
        CrawlSettings { site_pages: 2_000, ..with_sitemaps_option(SitemapsOption::Robots, "site") };
    let mut crawls = Vec::new();
    for (host, trap) in traps.into_iter().enumerate() {
        let home = world.graph().home(host as u64);
        crawls.push((trap, home, world.start(&crawl_settings, None, &[home]).await));
    }
    let worker = world.worker("worker-1", |_| {});
    for (trap, home, id) in crawls {
        let status = world.ended(id).await;
        let recorded = recorded(&world, id);
        let pages = expected(&world, ClosedCrawl::new(vec![home], OracleScope::Site));
        for (url, how) in &pages {
            assert_eq!(recorded.get(url), Some(how), "{trap:?}: {url}");
        }
        let refused = &status.links_refused;
        let counted = |reason: &str| refused[reason].as_i64().unwrap_or_default();
        let others = recorded.len() - pages.len();
        println!("{}: {} pages, {others} others, {refused}", trap.as_str(), pages.len());
        match trap {
            Trap::SitemapLoop => assert_eq!(others, 3),
            // The index files nest five levels deep.
            Trap::SitemapTree => {
                assert_eq!(others, 64);
                assert!(counted("trap_sitemaps") > 0, "{refused}");
            }
            // The index and its list. One of the special addresses has two spellings.
            Trap::SitemapForeign => {
                assert!(others == 2 && counted("scope") >= 20, "{others} {refused}");
            }
            // The list, and the entry that needs no entity.
            Trap::SitemapEntities => {
                assert_eq!((others, counted("unparsable")), (2, 3), "{refused}");
            }
            Trap::SitemapBomb | Trap::SitemapLying => assert_eq!(others, 1),
            // A URL shape gets half of the site's budget, so most of its pages are left. The
            // crawler reads 10 MiB of the list, and takes 50,000 entries from this part.
            Trap::SitemapMany => {
                assert!(counted("trap_page_links") >= 50_000, "{refused}");
                assert!(counted("trap_shape") > 0 && others <= 1_010, "{others}");
                assert!(status.left["trap_shape"].as_i64() > Some(900), "{}", status.left);
            }
            // The index, 21 lists, and the pages that the budget allows.
            Trap::SitemapFlood => {
                assert!(counted("trap_shape") >= 1_000_000, "{refused}");
                assert!(others <= 22 + 1_010, "{others}");
            }
            _ => unreachable!("no trap of sitemaps"),
        }
    }
    worker.finish().await;
}
