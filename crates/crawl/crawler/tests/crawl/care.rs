//! Tests urgent URLs, URLs that kill workers, unreadable crawls, stores for ranges of slots, and
//! robots.txt records.

use std::{collections::BTreeSet, fs, time::Duration};

use everytab_coordinator::CrawlVerb;
use everytab_crawl_settings::{MediaOption, StoreRange};
use everytab_frontier::{CanonicalUrl, ParameterList};
use everytab_patience::until;
use everytab_testbed::{ClosedCrawl, GraphPage, GraphSettings, OracleScope, PageKind};
use serde_json::json;

use crate::world::{TestWorker, World, assert_same, settings};

/// Longer than any test, so that records are not written because of their age.
const NEVER: Duration = Duration::from_secs(3_600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_urgent_url_is_recorded_before_other_urls_of_the_same_hosts() {
    let graph = GraphSettings { hosts: 8, sites: 4, pages: 2_000, ..GraphSettings::default() };
    let world = World::new(6, graph).await;
    let home = world.graph().home(0);
    let mut crawl_settings = settings("any");
    crawl_settings.delay_ms = 100;
    // With a delay factor, hosts with slow servers might all wait at the same time. The scheduler
    // would then be idle and record everything.
    crawl_settings.delay_factor = 0.0;
    let crawl_settings = serde_json::to_value(crawl_settings).unwrap();
    let (number, id) = world.start_with(crawl_settings, None, &[home]).await;
    let worker = world.worker("worker-1", |settings| settings.record_after = NEVER);
    until("100 requests", async || world.running.access_lines().len() >= 100).await;
    let requested: BTreeSet<String> =
        world.running.access_lines().into_iter().map(|line| line.host + &line.path).collect();
    let mut urgent = (0..world.graph().pages_of(1)).rev().map(|page| GraphPage { host: 1, page });
    let is_requested = |page: &GraphPage| {
        let url = world.graph().url(*page);
        requested.iter().any(|line| url.ends_with(line))
    };
    let urgent = urgent.find(|page| !is_requested(page)).unwrap();
    world.add_urgent(number, &[urgent]).await;
    let url = world.graph().url(urgent);
    let url = CanonicalUrl::parse(&url, &ParameterList::default()).unwrap();
    until("its record", async || world.recorded(id).await.contains_key(url.key())).await;
    let status = world.status(id).await;
    assert!(status.state == "running" && status.captured < 1_000, "{status:?}");
    // Until the urgent URL is recorded, only fetches from its own slot may be recorded.
    let rows = world.sql("select xid, slot, url from everytab.fetches order by xid");
    let rows = rows.lines().map(|row| row.splitn(3, '|').collect::<Vec<_>>());
    let rows: Vec<_> =
        rows.map(|row| (row[0].to_owned(), row[1].to_owned(), key(row[2]))).collect();
    let its = rows.iter().find(|(_, _, key)| key == url.key()).unwrap().0.clone();
    let until = rows.iter().rposition(|(xid, ..)| *xid == its).unwrap();
    let slots: BTreeSet<_> = rows[..=until].iter().map(|(_, slot, _)| slot).collect();
    assert_eq!(slots.len(), 1, "{slots:?}");
    worker.stop().await;
}

fn key(url: &str) -> String {
    CanonicalUrl::parse(url, &ParameterList::default()).unwrap().key().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_that_kills_its_workers_is_recorded_as_crashed() {
    // Pages are so slow that a worker can be killed while it waits for one.
    let slow = GraphSettings { slow: 1_000, slow_ms: (1_500, 1_500), ..GraphSettings::default() };
    let world = World::new(7, GraphSettings { hosts: 2, sites: 1, pages: 12, ..slow }).await;
    let home = world.graph().home(0);
    let id = world.start(&settings("any"), None, &[home]).await;
    world.sql("update everytab.slots set isolated_until = now() + interval '1 hour'");
    let page = |line: &everytab_testbed::AccessLine| line.path != "/robots.txt";
    let pages = |world: &World| world.running.access_lines().iter().filter(|l| page(l)).count();
    let one: TestWorker = world.worker("worker-1", |_| {});
    until("three pages", async || pages(&world) >= 3).await;
    one.kill();
    let lines = world.running.access_lines();
    let poison = lines.iter().filter(|line| page(line)).nth(2).unwrap();
    let poison = poison.host.clone() + &poison.path;
    let times = |world: &World| {
        let requests = world.running.access_lines();
        requests.iter().filter(|line| line.host.clone() + &line.path == poison).count()
    };
    // The first deaths may have other causes, so the page is requested again.
    for death in 2..=4 {
        world.expire_leases();
        let next = world.worker(&format!("worker-{death}"), |_| {});
        until("the page that kills", async || times(&world) >= death).await;
        next.kill();
    }
    world.expire_leases();
    let last = world.worker("worker-5", |_| {});
    world.ended(id).await;
    last.finish().await;
    let crawl = ClosedCrawl::new(vec![home], OracleScope::Any);
    let recorded = world.recorded(id).await;
    let crashed: Vec<&String> =
        recorded.iter().filter(|(_, outcome)| *outcome == "crashed").map(|(url, _)| url).collect();
    assert!(crashed.len() == 1 && crashed[0].ends_with(&poison), "{crashed:?} {poison}");
    assert_eq!(times(&world), 4, "the URL is not requested again");
    for (url, outcome) in world.expected(crawl) {
        let found = recorded.get(&url);
        assert!(found.is_none_or(|found| *found == outcome || found == "crashed"), "{url}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_cannot_read_an_open_crawl_holds_no_slots() {
    let graph = GraphSettings { hosts: 4, sites: 2, pages: 30, ..GraphSettings::default() };
    let world = World::new(8, graph).await;
    let home = world.graph().home(0);
    let unknown = json!({ "colour": "green" });
    let (_, newer) = world.start_with(unknown, None, &[home]).await;
    let id = world.start(&settings("any"), None, &[home]).await;
    let worker = world.worker("worker-1", |_| {});
    tokio::time::sleep(Duration::from_secs(3)).await;
    for crawl in [newer, id] {
        assert_eq!((world.status(crawl).await.read, world.status(crawl).await.known), (0, 0));
    }
    assert_eq!(world.sql("select count(*) from everytab.slots where holder <> ''"), "0");
    world.owner.move_crawl(newer, CrawlVerb::Cancel).await.unwrap().unwrap();
    world.ended(id).await;
    worker.finish().await;
    let crawl = ClosedCrawl::new(vec![home], OracleScope::Any);
    assert_same(&world.recorded(id).await, &world.expected(crawl));
    assert_eq!(world.status(newer).await.read, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_go_to_the_store_of_their_slot_or_of_requisites() {
    let graph = GraphSettings { hosts: 10, sites: 6, pages: 120, ..GraphSettings::default() };
    let world = World::new(9, GraphSettings { media: 300, ..graph }).await;
    let home = world.graph().home(0);
    let url = |name: &str| format!("file://{}", world.directory(name).display());
    let mut crawl_settings = settings("any");
    crawl_settings.media = MediaOption::Images;
    crawl_settings.stores = vec![
        StoreRange { first: 0, last: 127, store: url("low") },
        StoreRange { first: 128, last: 255, store: url("high") },
    ];
    crawl_settings.media_store = Some(url("media"));
    let id = world.start(&crawl_settings, None, &[home]).await;
    let worker = world.worker("worker-1", |_| {});
    world.ended(id).await;
    worker.finish().await;
    let crawl =
        ClosedCrawl { keeps_images: true, ..ClosedCrawl::new(vec![home], OracleScope::Any) };
    assert_same(&world.recorded(id).await, &world.expected(crawl));
    let rows = world.sql(
        "select f.slot, a.object
           from everytab.fetches f join everytab.crawl_archives a using (archive)",
    );
    let mut used = BTreeSet::new();
    for row in rows.lines() {
        let (slot, object) = row.split_once('|').unwrap();
        let is_low = slot.parse::<u8>().unwrap() < 128;
        let is_media = object.contains("/media/");
        let store = if is_media {
            "media"
        } else if is_low {
            "low"
        } else {
            "high"
        };
        assert!(world.directory(store).join(object).is_file(), "{row} is not in {store}");
        used.insert(store);
    }
    assert_eq!(used.len(), 3, "{rows}");
    for store in ["low", "high"] {
        let robots =
            files_below(&world.directory(store)).into_iter().any(|path| path.contains("robotstxt"));
        assert!(robots, "{store}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disallowed_url_finishes_only_once_its_robots_txt_is_stored() {
    let graph =
        GraphSettings { hosts: 1, sites: 1, pages: 200, no_robots: 0, ..GraphSettings::default() };
    let world = World::new(26, graph).await;
    let mut pages = (0..world.graph().pages_of(0)).map(|page| GraphPage { host: 0, page });
    let forbidden = pages.find(|page| world.graph().kind(*page) == PageKind::Forbidden).unwrap();
    // A file in place of the store's directory makes uploads fail.
    let directory = world.directory("store");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("crawl-data"), "").unwrap();
    let id = world.start(&settings("any"), None, &[forbidden]).await;
    let first = world.worker("worker-1", |settings| settings.record_after = Duration::ZERO);
    until("a request", async || !world.running.access_lines().is_empty()).await;
    world.waited(id, |status| status.known == 1).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let status = world.status(id).await;
    assert_eq!((status.state.as_str(), status.pending), ("running", 1), "{status:?}");
    first.kill();
    fs::remove_file(directory.join("crawl-data")).unwrap();
    world.expire_leases();
    let second = world.worker("worker-2", |_| {});
    world.ended(id).await;
    let stored = |name: &str| files_below(&directory).iter().any(|path| path.contains(name));
    assert!(stored("/robotstxt/"), "an ended crawl has stored its robots.txt");
    second.finish().await;
    let outcomes: Vec<String> = world.recorded(id).await.into_values().collect();
    assert_eq!(outcomes, ["robots_disallowed"]);
}

/// The limit for fetches that wait for the robots.txt's upload must not block their host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_robots_txt_can_disallow_thousands_of_urls() {
    let plain = GraphSettings::plain(1, 1, 4_000);
    let graph = GraphSettings { forbidden: 1_000, no_robots: 0, links: 400, ..plain };
    let world = World::new(27, graph).await;
    let home = world.graph().home(0);
    let crawl = ClosedCrawl::new(vec![home], OracleScope::Any);
    let expected = world.expected(crawl);
    let disallowed = expected.values().filter(|outcome| *outcome == "robots_disallowed").count();
    assert!(disallowed > 2_000, "{disallowed}");
    let id = world.start(&settings("any"), None, &[home]).await;
    let worker = world.worker("worker-1", |settings| settings.record_after = NEVER);
    world.ended(id).await;
    worker.finish().await;
    assert_same(&world.recorded(id).await, &expected);
}

fn files_below(directory: &std::path::Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path.display().to_string());
        }
    }
    files
}
