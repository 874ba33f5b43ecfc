//! Tests that a crawl in a closed world records exactly the URLs that the oracle predicts, and
//! tests page limits and searchable texts.

use std::time::Duration;

use everytab_crawl_settings::{CrawlSettings, SearchOption};
use everytab_crawler::CrawlerEnd;
use everytab_testbed::{
    Behaviour, ClosedCrawl, ExpectedEnding, GraphSettings, OracleScope, check_politeness,
};

use crate::world::{World, assert_same, settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_crawl_matches_the_oracle() {
    let graph = GraphSettings { hosts: 6, sites: 2, pages: 120, ..GraphSettings::default() };
    let world = World::new(1, graph).await;
    let home = world.graph().home(0);
    let id = world.start(&settings("site"), None, &[home]).await;
    let worker = world.worker("worker-1", |_| {});
    let status = world.ended(id).await;
    assert_eq!(worker.finish().await, CrawlerEnd::Finished);
    let crawl = ClosedCrawl::new(vec![home], OracleScope::Site);
    assert_same(&world.recorded(id).await, &world.expected(crawl.clone()));
    assert_eq!(status.ended_by.as_deref(), Some("empty"));
    assert_eq!(status.captured, world.count(crawl, ExpectedEnding::Captured));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_match_the_oracle_in_a_world_with_dead_hosts() {
    let graph = GraphSettings {
        hosts: 60,
        sites: 30,
        pages: 900,
        dead: 150,
        dead_as: vec![Behaviour::DnsNxdomain, Behaviour::Reset],
        crawl_delay: 100,
        crawl_delay_ms: (20, 400),
        ..GraphSettings::default()
    };
    let world = World::new(2, graph).await;
    let home = world.graph().home(0);
    let id = world.start(&settings("any"), None, &[home]).await;
    let one = world.worker("worker-1", |_| {});
    let two = world.worker("worker-2", |_| {});
    let status = world.ended(id).await;
    assert_eq!(one.finish().await, CrawlerEnd::Finished);
    assert_eq!(two.finish().await, CrawlerEnd::Finished);
    let crawl = ClosedCrawl::new(vec![home], OracleScope::Any);
    assert_same(&world.recorded(id).await, &world.expected(crawl));
    assert_eq!(status.ended_by.as_deref(), Some("empty"));
    assert_eq!(status.seeds + status.sent, status.read);
    let delay = |host: &str| {
        let host = world.graph().host_of_name(host);
        host.and_then(|host| world.graph().crawl_delay(host)).unwrap_or_default()
    };
    assert_eq!(check_politeness(&world.requests(), delay), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_workers_hand_over_their_slots_and_keep_all_delays() {
    let graph = GraphSettings { hosts: 30, sites: 15, pages: 450, ..GraphSettings::default() };
    let world = World::new(3, graph).await;
    let home = world.graph().home(0);
    let mut crawl_settings = settings("any");
    crawl_settings.delay_ms = 50;
    let id = world.start(&crawl_settings, None, &[home]).await;
    let mut worker = world.worker("worker-0", |_| {});
    for number in 1..5 {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        let next = world.worker(&format!("worker-{number}"), |_| {});
        worker.stop().await;
        worker = next;
    }
    world.ended(id).await;
    worker.finish().await;
    let crawl = ClosedCrawl::new(vec![home], OracleScope::Any);
    assert_same(&world.recorded(id).await, &world.expected(crawl));
    let delay = |_: &str| Duration::from_millis(50);
    assert_eq!(check_politeness(&world.requests(), delay), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dying_worker_costs_requests_but_no_records() {
    let graph = GraphSettings { hosts: 20, sites: 10, pages: 300, ..GraphSettings::default() };
    let world = World::new(4, graph).await;
    let home = world.graph().home(0);
    let mut crawl_settings = settings("any");
    crawl_settings.delay_ms = 200;
    let id = world.start(&crawl_settings, None, &[home]).await;
    let one = world.worker("worker-1", |_| {});
    tokio::time::sleep(Duration::from_secs(4)).await;
    one.kill();
    let two = world.worker("worker-2", |_| {});
    world.ended(id).await;
    two.finish().await;
    let crawl = ClosedCrawl::new(vec![home], OracleScope::Any);
    assert_same(&world.recorded(id).await, &world.expected(crawl));
    let delay = |_: &str| Duration::from_millis(200);
    assert_eq!(check_politeness(&world.requests(), delay), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_limit_is_reached_and_never_exceeded() {
    let graph = GraphSettings { hosts: 20, sites: 10, pages: 400, ..GraphSettings::default() };
    let world = World::new(5, graph).await;
    let home = world.graph().home(0);
    let id = world.start(&settings("any"), Some(70), &[home]).await;
    let one = world.worker("worker-1", |_| {});
    let two = world.worker("worker-2", |_| {});
    let status = world.ended(id).await;
    one.finish().await;
    two.finish().await;
    assert_eq!((status.ended_by.as_deref(), status.captured), (Some("limit"), 70));
    let expected = world.expected(ClosedCrawl::new(vec![home], OracleScope::Any));
    for (url, outcome) in world.recorded(id).await {
        assert_eq!(expected.get(&url), Some(&outcome), "{url}");
    }
}

/// All hosts' state takes several times the memory limit, so sites must rotate through memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_with_little_memory_matches_the_oracle() {
    let graph =
        GraphSettings { hosts: 40, sites: 20, pages: 800, walled: 200, ..GraphSettings::default() };
    let world = World::new(6, graph).await;
    let home = world.graph().home(0);
    let mut crawl_settings = settings("any");
    crawl_settings.delay_ms = 20;
    let id = world.start(&crawl_settings, None, &[home]).await;
    let worker = world.worker("worker-1", |settings| settings.frontier_bytes = 60_000);
    let status = world.ended(id).await;
    assert_eq!(worker.finish().await, CrawlerEnd::Finished);
    let crawl = ClosedCrawl::new(vec![home], OracleScope::Any);
    assert_same(&world.recorded(id).await, &world.expected(crawl));
    assert_eq!(status.seeds + status.sent, status.read);
    let delay = |_: &str| Duration::from_millis(20);
    assert_eq!(check_politeness(&world.requests(), delay), []);
}

/// A few slots hold the last pages of the limit. Regression test: sites in other slots kept the
/// sites with these pages out of memory. With 25,000 bytes, many sites need more memory than one
/// rotation frees.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_with_little_memory_reaches_a_page_limit() {
    for bytes in [60_000, 25_000] {
        reaches_a_limit_with(bytes).await;
    }
}

async fn reaches_a_limit_with(bytes: usize) {
    let graph = GraphSettings { hosts: 40, sites: 30, pages: 1_000, ..GraphSettings::default() };
    let world = World::new(7, graph).await;
    let home = world.graph().home(0);
    let id = world.start(&settings("any"), Some(250), &[home]).await;
    let worker = world.worker("worker-1", |settings| settings.frontier_bytes = bytes);
    let status = world.ended(id).await;
    assert_eq!(worker.finish().await, CrawlerEnd::Finished);
    assert_eq!((status.ended_by.as_deref(), status.captured), (Some("limit"), 250));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_searchable_crawl_records_the_text_of_each_page_once() {
    let graph = GraphSettings { hosts: 4, sites: 2, pages: 60, ..GraphSettings::default() };
    let world = World::new(11, graph).await;
    let home = world.graph().home(0);
    let searched = CrawlSettings { search: SearchOption::On, ..settings("site") };
    let id = world.start(&searched, None, &[home]).await;
    let other = world.start(&settings("site"), None, &[world.graph().home(0)]).await;
    let worker = world.worker("worker-1", |_| {});
    world.ended(id).await;
    world.ended(other).await;
    assert_eq!(worker.finish().await, CrawlerEnd::Finished);
    let wrong = world.sql(&format!(
        "select count(*) from everytab.crawls c
           join everytab.fetches f using (crawl)
           left join everytab.fetch_texts t using (crawl, host_hash, url_hash)
          where (t.text is not null) <> (c.id = '{id}' and f.outcome = 'ok'
                                         and f.mime = 'text/html' and f.bytes > 0)
             or t.words <> coordinator.words_of_page(f.title, t.text) or t.text like '%<%'"
    ));
    assert_eq!(wrong, "0");
    let texts = world.sql("select count(*) > 5 from everytab.fetch_texts where text <> ''");
    assert_eq!(texts, "t");
}
