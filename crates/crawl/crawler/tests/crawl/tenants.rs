//! Tests several crawl owners: their order, rates, delays and stricter robots rules.

use std::{collections::BTreeSet, time::Duration};

use everytab_coordinator::{RateChange, RobotsOverrideRow};
use everytab_crawl_settings::CrawlSettings;
use everytab_fetcher::FetchSettings;
use everytab_patience::until;
use everytab_testbed::{AccessLine, ClosedCrawl, GraphPage, GraphSettings, OracleScope};
use uuid::Uuid;

use crate::world::{World, assert_same, settings};

/// With one request at a time, the servers' log shows the order in which hosts were chosen.
const IN_FLIGHT: usize = 1;
/// Requests after which all hosts in the large crawl are known and due.
const SATURATED: usize = 700;

fn request_numbers(lines: &[AccessLine], hosts: &BTreeSet<String>) -> Vec<usize> {
    let own = lines.iter().enumerate().filter(|(_, line)| hosts.contains(&line.host));
    own.map(|(number, _)| number).collect()
}

/// Regression test: hosts were chosen in the order of their due times, so the second owner's ten
/// hosts had to wait for all hosts that were due before them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_with_ten_urls_is_served_while_another_saturates_the_worker() {
    let graph = GraphSettings { hosts: 500, sites: 500, pages: 60_000, ..GraphSettings::default() };
    let world = World::new(21, graph).await;
    let big: Vec<GraphPage> = (0..490).map(|host| world.graph().home(host)).collect();
    // The delay must not depend on response times, which are long while a worker is saturated.
    let quick = |scope| CrawlSettings { delay_factor: 0.0, ..settings(scope) };
    let (_, big_id) =
        world.start_as("big", serde_json::to_value(quick("site")).unwrap(), None, &big).await;
    let fetcher = FetchSettings { in_flight: IN_FLIGHT, ..world.fetcher() };
    let worker = world.worker_with("worker-1", fetcher, |_| {});
    until("many requests", async || world.running.access_lines().len() >= SATURATED).await;
    let small: Vec<GraphPage> = (490..500).map(|host| world.graph().home(host)).collect();
    let hosts: BTreeSet<String> = (490..500).map(|host| world.graph().host_name(host)).collect();
    let crawl_settings = serde_json::to_value(quick("page")).unwrap();
    let (_, small_id) = world.start_as("small", crawl_settings, None, &small).await;
    world.ended(small_id).await;
    assert_eq!(
        world.status(big_id).await.state,
        "running",
        "the big crawl must still saturate the worker"
    );
    let lines = world.requests();
    let own = request_numbers(&lines, &hosts);
    assert_eq!(own.len(), 20, "robots.txt and one page per host");
    // Every second request must be for the small owner while one of its hosts is ready.
    let span = own[19] - own[0];
    assert!(span <= 2 * 20, "{span} requests: {own:?}");
    worker.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_that_waits_for_its_last_page_holds_no_other_back() {
    // Every response takes longer than the interval at which a worker lists the crawls.
    let slow = GraphSettings { slow: 1_000, slow_ms: (7_000, 7_000), ..GraphSettings::default() };
    let world = World::new(26, GraphSettings { hosts: 2, sites: 2, pages: 20, ..slow }).await;
    let homes = [world.graph().home(0), world.graph().home(1)];
    let quick = CrawlSettings { delay_factor: 0.0, ..settings("page") };
    let crawl_settings = serde_json::to_value(quick).unwrap();
    // While the one allowed page is fetched from one host, the other host is scheduled repeatedly.
    let (limited, limited_id) =
        world.start_as("limited", crawl_settings.clone(), Some(1), &homes).await;
    let worker = world.worker("worker-1", |_| {});
    let reserved =
        format!("select sum(reserved) from everytab.crawl_slots where crawl = {limited}");
    until("a reserved page", async || world.sql(&reserved) == "1").await;
    let (_, other_id) = world.start_as("other", crawl_settings, None, &homes).await;
    world.ended(other_id).await;
    world.ended(limited_id).await;
    let mut pages = world.requests();
    pages.retain(|line| line.path != "/robots.txt");
    pages.sort_by_key(|line| line.start_us);
    let [first, second, ..] = pages.as_slice() else { panic!("{pages:?}") };
    assert!(second.start_us < first.end_us, "the other crawl waited: {pages:?}");
    worker.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_holds_back_only_its_owner() {
    let graph = GraphSettings { hosts: 40, sites: 40, pages: 1_200, ..GraphSettings::default() };
    let world = World::new(22, graph).await;
    let home = |hosts: std::ops::Range<u64>| -> Vec<GraphPage> {
        hosts.map(|host| world.graph().home(host)).collect()
    };
    let crawl_settings = serde_json::to_value(settings("site")).unwrap();
    let rate = RateChange::Rate(Some(5.0));
    assert!(world.owner.set_crawl_rate(Some("slow"), None, rate).await.unwrap());
    let (_, slow) = world.start_as("slow", crawl_settings.clone(), None, &home(0..20)).await;
    let (_, quick) = world.start_as("quick", crawl_settings, None, &home(20..40)).await;
    let worker = world.worker("worker-1", |_| {});
    world.ended(quick).await;
    assert_eq!(world.status(slow).await.state, "running");
    let hosts: BTreeSet<String> = (0..20).map(|host| world.graph().host_name(host)).collect();
    until("30 requests", async || request_numbers(&world.requests(), &hosts).len() >= 30).await;
    let lines = world.requests();
    let own = request_numbers(&lines, &hosts);
    // The requests take 5.8 s at this rate, but a busy server may log the first one late.
    let apart = Duration::from_micros(lines[own[29]].start_us - lines[own[0]].start_us);
    assert!(apart >= Duration::from_secs(4), "30 requests in {apart:?}");
    let lifted = RateChange::Rate(None);
    assert!(world.owner.set_crawl_rate(Some("slow"), None, lifted).await.unwrap());
    world.ended(slow).await;
    worker.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_longer_delay_of_one_owner_spaces_only_its_requests() {
    let graph = GraphSettings { hosts: 1, sites: 1, pages: 40, ..GraphSettings::default() };
    let world = World::new(23, graph).await;
    let home = world.graph().home(0);
    let crawl_settings = serde_json::to_value(settings("any")).unwrap();
    let delay = RateChange::MinDelay(Some(700));
    assert!(world.owner.set_crawl_rate(Some("slow"), None, delay).await.unwrap());
    let pages: Vec<GraphPage> = (0..4).map(|page| GraphPage { host: 0, page }).collect();
    let only = serde_json::to_value(settings("page")).unwrap();
    let (_, slow) = world.start_as("slow", only, None, &pages).await;
    let (_, quick) = world.start_as("quick", crawl_settings, None, &[home]).await;
    let worker = world.worker("worker-1", |_| {});
    world.ended(quick).await;
    world.ended(slow).await;
    worker.finish().await;
    assert_same(
        &world.recorded(quick).await,
        &world.expected(ClosedCrawl::new(vec![home], OracleScope::Any)),
    );
    let at = world.sql(&format!(
        "select round(extract(epoch from at - lag(at) over (order by at)) * 1000)::bigint
           from everytab.fetches f join everytab.crawls c using (crawl) where c.id = '{slow}'
          order by at offset 1"
    ));
    let apart: Vec<i64> = at.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(apart.len(), 3, "{at}");
    assert!(apart.iter().all(|ms| *ms >= 700), "{apart:?}");
    // Other crawls were not held back during this time. With the same delay, the quick crawl would
    // have fetched one page between two of these requests.
    let between = world.sql(&format!(
        "select count(*) from everytab.fetches f join everytab.crawls c using (crawl)
          where c.id = '{quick}'
            and f.at between (select min(s.at) from everytab.fetches s where s.crawl <> f.crawl)
                         and (select max(s.at) from everytab.fetches s where s.crawl <> f.crawl)"
    ));
    assert!(between.parse::<usize>().unwrap() > 4, "{between}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_obeys_its_own_rules_too_and_another_owner_does_not() {
    let graph = GraphSettings { hosts: 3, sites: 3, pages: 60, ..GraphSettings::default() };
    let world = World::new(24, graph).await;
    let home = world.graph().home(0);
    let path_of = |page: u64| {
        let url = world.graph().url(GraphPage { host: 0, page });
        let host = world.graph().host_name(0);
        url.split_once(&*host).unwrap().1.trim_start_matches(|c| c != '/').to_owned()
    };
    let seeds: Vec<GraphPage> = (0..6).map(|page| GraphPage { host: 0, page }).collect();
    let forbidden: Vec<String> = (2..6).map(path_of).collect();
    let rules = forbidden.iter().map(|path| format!("Disallow: {path}$\n")).collect();
    let row = RobotsOverrideRow {
        id: Uuid::new_v4(),
        owner: "strict".to_owned(),
        site: Some(world.graph().site_name(0)),
        user_agent: None,
        rules: Some(rules),
        delay_ms: None,
    };
    assert!(world.owner.add_robots_override(&row).await.unwrap());
    let only = serde_json::to_value(settings("page")).unwrap();
    let (_, strict) = world.start_as("strict", only.clone(), None, &seeds).await;
    let (_, other) = world.start_as("other", only, None, &seeds).await;
    let worker = world.worker("worker-1", |_| {});
    world.ended(strict).await;
    world.ended(other).await;
    worker.finish().await;
    let refused = |recorded: &std::collections::BTreeMap<String, String>| {
        recorded.values().filter(|outcome| *outcome == "robots_disallowed").count()
    };
    let (by_strict, by_other) = (world.recorded(strict).await, world.recorded(other).await);
    assert_eq!((by_strict.len(), by_other.len()), (6, 6));
    assert_eq!(refused(&by_strict), refused(&by_other) + 4, "{by_strict:#?}");
    assert_eq!(world.expected(ClosedCrawl::new(vec![home], OracleScope::Page)).len(), 1);
}

/// Prints how many queries the name server gets. The numbers are in
/// docs/decisions/0016-dns-over-eight-sockets.md.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures, and asserts nothing"]
async fn names_that_are_asked_for_again() {
    for (seed, workers) in [(31, 1), (32, 2), (33, 3)] {
        let graph = GraphSettings { hosts: 300, sites: 300, pages: 6_000, ..Default::default() };
        let world = World::new(seed, graph).await;
        let homes: Vec<GraphPage> = (0..300).map(|host| world.graph().home(host)).collect();
        let mut crawl_settings = settings("any");
        crawl_settings.delay_ms = 300;
        let id = world.start(&crawl_settings, None, &homes).await;
        let first = world.worker("worker-1", |_| {});
        let mut others = Vec::new();
        if workers > 1 {
            others.push(world.worker("worker-2", |_| {}));
        }
        tokio::time::sleep(Duration::from_secs(4)).await;
        if workers > 2 {
            first.stop().await;
            others.push(world.worker("worker-3", |_| {}));
            world.ended(id).await;
        } else {
            world.ended(id).await;
            first.finish().await;
        }
        for worker in others {
            worker.finish().await;
        }
        let questions = world.running.counts().dns_questions;
        let requests = world.running.access_lines().len();
        println!("{workers} workers: {questions} questions, 300 hosts, {requests} requests");
    }
}
