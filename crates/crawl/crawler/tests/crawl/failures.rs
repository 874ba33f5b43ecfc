//! Tests failing stores and database calls, host state that the next crawl reuses, and two crawls
//! with different delays on one host.

use std::{fs, time::Duration};

use everytab_crawl_settings::CrawlSettings;
use everytab_patience::until;
use everytab_testbed::{ClosedCrawl, GraphSettings, OracleScope};

use crate::world::{World, assert_same, settings};

async fn one_host(seed: u64, pages: u64) -> World {
    World::new(seed, GraphSettings { hosts: 1, sites: 1, pages, ..GraphSettings::default() }).await
}

fn robots_requests(world: &World) -> usize {
    world.requests().iter().filter(|line| line.path == "/robots.txt").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorded_robots_txt_is_used_by_the_next_crawl_of_another_worker() {
    let world = one_host(20, 10).await;
    let home = world.graph().home(0);
    for number in 1..=2 {
        let id = world.start(&settings("any"), None, &[home]).await;
        let worker = world.worker(&format!("worker-{number}"), |_| {});
        world.ended(id).await;
        worker.finish().await;
        assert_eq!(robots_requests(&world), 1, "in crawl {number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_leaves_memory_after_its_last_crawl_and_is_loaded_for_the_next() {
    let world = one_host(21, 10).await;
    let home = world.graph().home(0);
    let first = world.start(&settings("any"), None, &[home]).await;
    let worker = world.worker("worker-1", |settings| settings.exit_when_done = false);
    world.ended(first).await;
    world.sql(
        r#"update everytab.frontier_hosts
              set robots = convert_to(regexp_replace(convert_from(robots, 'UTF8'),
                  '"text":"[^"]*"', '"text":"User-agent: *\\nDisallow: /"'), 'UTF8')"#,
    );
    // The worker periodically checks which hosts it can drop.
    until("a crawl that obeys the stored robots.txt", async || {
        tokio::time::sleep(Duration::from_secs(8)).await;
        let next = world.start(&settings("any"), None, &[home]).await;
        world.ended(next).await;
        let outcomes: Vec<String> = world.recorded(next).await.into_values().collect();
        outcomes == ["robots_disallowed"]
    })
    .await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_too_long_crawl_delay_is_read_again_with_robots_txt() {
    let world = one_host(22, 10).await;
    let home = world.graph().home(0);
    let first = world.start(&settings("any"), None, &[home]).await;
    let worker = world.worker("worker-1", |_| {});
    world.ended(first).await;
    worker.finish().await;
    world.sql(
        "update everytab.frontier_hosts
            set crawl_delay_ms = 400000, robots = null, robots_until = null",
    );
    let second = world.start(&settings("any"), None, &[home]).await;
    let worker = world.worker("worker-2", |_| {});
    world.ended(second).await;
    worker.finish().await;
    let crawl = ClosedCrawl::new(vec![home], OracleScope::Any);
    assert_same(&world.recorded(second).await, &world.expected(crawl));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_requests_are_sent_while_a_store_accepts_no_archive() {
    let world = one_host(23, 200).await;
    let home = world.graph().home(0);
    // A file in place of the store's directory makes uploads fail.
    fs::create_dir_all(world.directory("store")).unwrap();
    fs::write(world.directory("store").join("crawl-data"), "").unwrap();
    let crawl_settings = CrawlSettings { delay_ms: 100, ..settings("any") };
    let id = world.start(&crawl_settings, None, &[home]).await;
    let short = Duration::from_millis(300);
    let worker = world.worker("worker-1", |settings| settings.record_after = short);
    let mut before = 0;
    let requests = loop {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let requests = world.running.access_lines().len();
        if requests == before && requests > 0 {
            break requests;
        }
        before = requests;
    };
    assert!(requests < 150, "{requests} requests");
    assert_eq!(world.status(id).await.captured, 0);
    fs::remove_file(world.directory("store").join("crawl-data")).unwrap();
    world.ended(id).await;
    worker.finish().await;
    let crawl = ClosedCrawl::new(vec![home], OracleScope::Any);
    assert_same(&world.recorded(id).await, &world.expected(crawl));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_reserved_by_a_call_without_a_reply_are_used() {
    let world = one_host(24, 40).await;
    let home = world.graph().home(0);
    let reserve = "coordinator.reserve_pages(smallint, integer, uuid, integer, bigint)";
    let function = world.sql(&format!("select pg_get_functiondef('{reserve}'::regprocedure)"));
    let broken = function.replacen("begin", "begin raise exception 'no reply';", 1);
    world.sql(&broken);
    let id = world.start(&settings("any"), Some(5), &[home]).await;
    let worker = world.worker("worker-1", |_| {});
    let pending = "select count(*) from everytab.crawl_slots where pending > 0";
    until("a pending URL", async || world.sql(pending) != "0").await;
    // Simulate a reservation that commits although its reply is lost.
    world.sql(
        "update everytab.crawls set budget_left = budget_left - 3;
         update everytab.crawl_slots set reserved = reserved + 3 where pending > 0",
    );
    world.sql(&function);
    let status = world.ended(id).await;
    worker.finish().await;
    assert_eq!((status.ended_by.as_deref(), status.captured), (Some("limit"), 5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_keeps_its_longer_delay_next_to_one_with_a_shorter_delay() {
    let world = one_host(25, 60).await;
    let home = world.graph().home(0);
    let slow = CrawlSettings { delay_ms: 700, depth: 1, ..settings("any") };
    let fast = CrawlSettings { delay_ms: 20, ..settings("any") };
    let (number, slow) =
        world.start_with(serde_json::to_value(slow).unwrap(), Some(5), &[home]).await;
    let fast = world.start(&fast, None, &[home]).await;
    let worker = world.worker("worker-1", |_| {});
    world.ended(slow).await;
    world.ended(fast).await;
    worker.finish().await;
    let early = world.sql(&format!(
        "select count(*) from (select at - lag(at) over (order by at) as pause
           from everytab.fetches where crawl = {number} and status is not null) p
          where pause < interval '700 ms'"
    ));
    assert_eq!(early, "0");
}
