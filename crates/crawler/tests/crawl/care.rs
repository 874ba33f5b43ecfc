//! What a crawl takes care of beside its pages: who waits, what kills workers, where records go.

use std::{collections::BTreeSet, fs, time::Duration};

use everytab_coordinator::CrawlVerb;
use everytab_crawler::{MediaOption, StoreRange};
use everytab_frontier::{CanonicalUrl, ParameterList};
use everytab_patience::until;
use everytab_testbed::{ClosedCrawl, GraphPage, GraphSettings, OracleScope, PageKind};
use serde_json::json;

use crate::world::{TestWorker, World, assert_same, settings};

/// Longer than any test: nothing is recorded by its age.
const NEVER: Duration = Duration::from_secs(3_600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_that_somebody_waits_for_is_recorded_before_a_crawl_of_the_same_hosts() {
    let graph = GraphSettings { hosts: 8, sites: 4, pages: 2_000, ..GraphSettings::default() };
    let world = World::new(6, graph).await;
    let home = world.graph().home(0);
    let mut asked = settings("any");
    asked.delay_ms = 100;
    // Otherwise servers that are slow because the machine is busy have all hosts wait at once, and
    // then everything is recorded.
    asked.delay_factor = 0.0;
    let asked = serde_json::to_value(asked).unwrap();
    let (number, id) = world.start_with(asked, None, &[home]).await;
    let worker = world.worker("worker-1", |settings| settings.record_after = NEVER);
    until("100 requests", async || world.running.access_lines().len() >= 100).await;
    let asked: BTreeSet<String> =
        world.running.access_lines().into_iter().map(|line| line.host + &line.path).collect();
    let mut waited_for =
        (0..world.graph().pages_of(1)).rev().map(|page| GraphPage { host: 1, page });
    let is_asked = |page: &GraphPage| {
        let url = world.graph().url(*page);
        asked.iter().any(|line| url.ends_with(line))
    };
    let waited_for = waited_for.find(|page| !is_asked(page)).unwrap();
    world.add_urgent(number, &[waited_for]).await;
    let url = world.graph().url(waited_for);
    let url = CanonicalUrl::parse(&url, &ParameterList::default()).unwrap();
    until("its record", async || world.recorded(id).await.contains_key(url.key())).await;
    let status = world.status(id).await;
    assert!(status.state == "running" && status.captured < 1_000, "{status:?}");
    // Nothing else is recorded before it but what shares its slot.
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

/// The key of a URL.
fn key(url: &str) -> String {
    CanonicalUrl::parse(url, &ParameterList::default()).unwrap().key().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_that_kills_its_workers_is_found_and_left_behind() {
    // So slow that a worker dies before the page that it asks for has come.
    let slow = GraphSettings { slow: 1_000, slow_ms: (1_500, 1_500), ..GraphSettings::default() };
    let world = World::new(7, GraphSettings { hosts: 2, sites: 1, pages: 12, ..slow }).await;
    let home = world.graph().home(0);
    let id = world.start(&settings("any"), None, &[home]).await;
    world.sql("update everytab.slots set isolated_until = now() + interval '1 hour'");
    let page = |line: &everytab_testbed::AccessLine| line.path != "/robots.txt";
    let pages = |world: &World| world.running.access_lines().iter().filter(|l| page(l)).count();
    // The third page is the one: its worker dies while it is asked.
    let one: TestWorker = world.worker("worker-1", |_| {});
    until("three pages", async || pages(&world) >= 3).await;
    one.kill();
    let lines = world.running.access_lines();
    let poison = lines.iter().filter(|line| page(line)).nth(2).unwrap();
    let poison = poison.host.clone() + &poison.path;
    let times = |world: &World| {
        let asked = world.running.access_lines();
        asked.iter().filter(|line| line.host.clone() + &line.path == poison).count()
    };
    // A few deaths may have had other causes: it is asked again, and its worker dies again.
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
    assert_eq!(times(&world), 4, "it is not asked again");
    for (url, outcome) in world.expected(crawl) {
        let found = recorded.get(&url);
        assert!(found.is_none_or(|found| *found == outcome || found == "crashed"), "{url}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_of_a_crawl_that_a_worker_cannot_read_wait_for_one_that_can() {
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
    // Without that crawl it goes on.
    world.owner.move_crawl(newer, CrawlVerb::Cancel).await.unwrap().unwrap();
    world.ended(id).await;
    worker.finish().await;
    let crawl = ClosedCrawl::new(vec![home], OracleScope::Any);
    assert_same(&world.recorded(id).await, &world.expected(crawl));
    assert_eq!(world.status(newer).await.read, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_go_to_the_store_of_their_slot_and_those_of_requisites_to_their_own() {
    let graph = GraphSettings { hosts: 10, sites: 6, pages: 120, ..GraphSettings::default() };
    let world = World::new(9, GraphSettings { media: 300, ..graph }).await;
    let home = world.graph().home(0);
    let url = |name: &str| format!("file://{}", world.folder(name).display());
    let mut asked = settings("any");
    asked.media = MediaOption::Images;
    asked.stores = vec![
        StoreRange { first: 0, last: 127, store: url("low") },
        StoreRange { first: 128, last: 255, store: url("high") },
    ];
    asked.media_store = Some(url("media"));
    let id = world.start(&asked, None, &[home]).await;
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
        assert!(world.folder(store).join(object).is_file(), "{row} is not in {store}");
        used.insert(store);
    }
    assert_eq!(used.len(), 3, "{rows}");
    // robots.txt is kept with the pages of its host.
    for store in ["low", "high"] {
        let robots =
            walkdir(&world.folder(store)).into_iter().any(|path| path.contains("robotstxt"));
        assert!(robots, "{store}");
    }
}

/// What a crawl obeyed is kept, though its worker dies when nothing is left to ask for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_is_answered_when_the_robots_txt_that_disallows_it_is_stored() {
    let graph =
        GraphSettings { hosts: 1, sites: 1, pages: 200, no_robots: 0, ..GraphSettings::default() };
    let world = World::new(26, graph).await;
    let mut pages = (0..world.graph().pages_of(0)).map(|page| GraphPage { host: 0, page });
    let forbidden = pages.find(|page| world.graph().kind(*page) == PageKind::Forbidden).unwrap();
    // A file where the store wants a folder.
    let folder = world.folder("store");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("crawl-data"), "").unwrap();
    let id = world.start(&settings("any"), None, &[forbidden]).await;
    let first = world.worker("worker-1", |settings| settings.record_after = Duration::ZERO);
    until("a request", async || !world.running.access_lines().is_empty()).await;
    world.waited(id, |status| status.known == 1).await;
    // Long enough for many checkpoints.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let status = world.status(id).await;
    assert_eq!((status.state.as_str(), status.pending), ("running", 1), "{status:?}");
    first.kill();
    fs::remove_file(folder.join("crawl-data")).unwrap();
    world.expire_leases();
    let second = world.worker("worker-2", |_| {});
    world.ended(id).await;
    let stored = |name: &str| walkdir(&folder).iter().any(|path| path.contains(name));
    assert!(stored("/robotstxt/"), "when it has ended, all is stored");
    second.finish().await;
    let outcomes: Vec<String> = world.recorded(id).await.into_values().collect();
    assert_eq!(outcomes, ["robots_disallowed"]);
}

/// They wait for the robots.txt to be put, and more of them than may wait do not stop their host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_urls_is_answered_by_a_robots_txt_that_disallows_them() {
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

/// The files below a folder.
fn walkdir(folder: &std::path::Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walkdir(&path));
        } else {
            files.push(path.display().to_string());
        }
    }
    files
}
