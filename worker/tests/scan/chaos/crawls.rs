//! Chaos tests for live crawls: a crawl records the content of its graph of sites, each URL once,
//! and its sums add up after every transaction.

use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

use everytab_testbed::{AccessLogTarget, GraphSettings, Settings, check_politeness};

use super::{
    ChaosTest,
    chaos_environment::{ChaosEnvironment, ChaosSettings},
    number, report,
};
use crate::{
    consistency::OwnedDatabase as _,
    environment::{Internet, internet_with},
    live_crawls::{expected, graph, own_sites, recorded, sites},
    netns::in_own_namespaces,
};

const MAX_LINES: usize = 4_000_000;

/// Makes a transaction fail if a slot's sums do not add up.
const ADDS_UP: &str = r#"
    create function everytab.sum_of(jsonb) returns numeric language sql immutable as
        'select coalesce(sum(value::numeric), 0) from jsonb_each_text($1)';
    alter table everytab.crawl_slots add constraint adds_up check (known = pending + captured
        + failed + everytab.sum_of(refused) + everytab.sum_of("left"))"#;

const SLOT_LEASE: Duration = Duration::from_secs(30);

fn settings(internet: &Internet, temporary_bytes: u64) -> ChaosSettings {
    let arguments = ["--role", "crawl", "--own", &own_sites(internet)].map(str::to_owned).to_vec();
    ChaosSettings { lease: SLOT_LEASE, temporary_bytes, arguments, ..ChaosTest::short().settings }
}

fn crawl_with_faults(test: &ChaosTest, internet: &Internet, delay: &str, has_network: bool) {
    let mut environment = ChaosEnvironment::new(internet, &test.settings, has_network);
    environment.psql(ADDS_UP);
    let expected = expected(internet);
    let began = Instant::now();
    let mut crawls = 0;
    while crawls == 0 || environment.fault_counts.values().sum::<usize>() < test.faults {
        internet.running.log_accesses(&AccessLogTarget::Memory(MAX_LINES)).unwrap();
        let id = environment.start_crawl(internet, delay);
        environment.run_with_faults(test.faults, test.gap_ms);
        crawls += 1;
        let found = recorded(&environment, &id);
        let wrong: Vec<_> = expected
            .iter()
            .filter(|(url, outcome)| found.get(*url) != Some(*outcome))
            .map(|(url, outcome)| format!("{url}: {outcome}, found {:?}", found.get(url)))
            .collect();
        let more: Vec<_> = found.keys().filter(|url| !expected.contains_key(*url)).collect();
        let numbers = (expected.len(), found.len(), wrong.len());
        assert!(
            wrong.is_empty() && more.is_empty(),
            "{numbers:?} {:#?} {more:?}",
            wrong.iter().take(20).collect::<Vec<_>>(),
        );
        let requests = internet.running.access_lines();
        let asked: BTreeSet<_> = requests.iter().map(|line| (&line.host, &line.path)).collect();
        println!(
            "{} URLs recorded as expected, {} requests, {} URLs requested",
            found.len(),
            requests.len(),
            asked.len()
        );
    }
    println!("{crawls} crawls with faults in {:.0?}", began.elapsed());
    println!("{}", report::table(&environment, &[]));
    assert_eq!(report::count_in_logs(&environment, "panicked at"), 0, "a worker panicked");
}

#[test]
fn a_crawl_whose_workers_are_killed_frozen_and_cut_off_records_what_its_graph_holds() {
    in_own_namespaces(|has_network| {
        // A third of the hosts have sitemaps, which list pages without links to them.
        let graph = GraphSettings { sitemaps: 350, walled: 50, ..sites(60, 2_400) };
        let internet = internet_with(|scratch| Settings::graph(11, graph, scratch));
        let settings = settings(&internet, 16 << 20);
        let test = ChaosTest { faults: 20, settings, ..ChaosTest::short() };
        crawl_with_faults(&test, &internet, "250ms", has_network);
    });
}

#[test]
#[ignore = "takes half an hour: scripts/stress/chaos-crawl.sh"]
fn a_large_crawl_with_faults_records_what_its_graph_holds() {
    in_own_namespaces(|has_network| {
        let graph = GraphSettings {
            sitemaps: 350,
            walled: 50,
            hosts: number("HOSTS", 2_000),
            sites: number("HOSTS", 2_000) / 2,
            pages: number("PAGES", 200_000),
            ..GraphSettings::default()
        };
        let internet = internet_with(|scratch| Settings::graph(12, graph, scratch));
        let settings = settings(&internet, 256 << 20);
        let test = ChaosTest { settings, ..ChaosTest::long() };
        crawl_with_faults(&test, &internet, "250ms", has_network);
    });
}

#[test]
#[ignore = "takes minutes: scripts/stress/chaos-crawl.sh"]
fn two_crawls_whose_workers_are_killed_every_five_seconds_ask_no_host_early() {
    let internet = internet_with(|scratch| {
        let graph = GraphSettings { crawl_delay: 200, ..GraphSettings::default() };
        let graph = GraphSettings { crawl_delay_ms: (500, 4_000), slow: 200, ..graph };
        let graph = GraphSettings { hosts: 300, sites: 150, pages: 60_000, ..graph };
        Settings::graph(13, graph, scratch)
    });
    internet.running.log_accesses(&AccessLogTarget::Memory(MAX_LINES)).unwrap();
    let settings = settings(&internet, 64 << 20);
    let mut environment = ChaosEnvironment::new(&internet, &settings, false);
    environment.psql(ADDS_UP);
    let delay = Duration::from_millis(250);
    for _ in 0..2 {
        environment.start_crawl(&internet, "250ms");
    }
    let until = Instant::now() + Duration::from_secs(number("POLITE_SECONDS", 180));
    let mut kills = 0;
    let mut next = Instant::now() + Duration::from_secs(20);
    environment.run_until(|_| Instant::now() > next);
    while Instant::now() < until {
        let worker = environment.random.below(environment.workers.len());
        environment.workers.get_mut(worker).unwrap().kill(Duration::from_millis(500));
        kills += 1;
        next = Instant::now() + Duration::from_secs(5);
        environment.run_until(|_| Instant::now() > next);
    }
    for worker in &mut environment.workers {
        worker.kill(Duration::ZERO);
    }
    // Wait for the last response.
    thread::sleep(Duration::from_secs(6));
    let requests = internet.running.access_lines();
    let graph = graph(&internet);
    let faults = check_politeness(&requests, |host| {
        let crawl_delay = graph.host_of_name(host).and_then(|host| graph.crawl_delay(host));
        crawl_delay.unwrap_or_default().max(delay)
    });
    println!("{kills} kills, {} requests, {} sent early", requests.len(), faults.len());
    let shown: Vec<_> = faults.iter().take(8).collect();
    assert!(requests.len() > 1_000 && faults.is_empty(), "{shown:#?}");
}
