//! Chaos tests: four workers scan while faults of every kind occur at random times. The result
//! equals that of a scan without faults, even after failovers to a standby that lacks commits that
//! workers saw succeed.
//!
//! Each test needs a thread with a separate network and mounts (`netns`). If the kernel does not
//! allow this, links and disks get no faults. `CHAOS_SEED`, `FAULTS` and `HOSTS` change the seed
//! and the length, for example in `scripts/stress/chaos.sh`.

mod chaos_environment;
mod chaos_workers;
mod crawls;
mod failover;
pub(crate) mod fault_proxy;
mod faults;
mod report;

use std::time::{Duration, Instant};

use chaos_environment::{ChaosEnvironment, ChaosSettings};
use chaos_workers::ChaosWorker;
use everytab_testbed::{Behaviour, Latency, Mix, Settings};
use faults::Fault;

use crate::{
    consistency::{self, OwnedDatabase as _, ScanResult},
    environment::{Database, Internet, Stores, internet_with},
    kills::processes_of,
    netns::in_own_namespaces,
    setup::corpus,
};

pub(crate) fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

/// A mix of all behaviours whose outcomes do not depend on our own faults.
fn mix() -> Mix {
    Mix::light()
        .with(Behaviour::NeverAnswers, 12_000)
        .with(Behaviour::StallsInBody, 0)
        .with(Behaviour::ConnectTimeout, 8_000)
        .with_shared_address(250_000)
}

struct ChaosTest {
    faults: usize,
    gap_ms: (u64, u64),
    settings: ChaosSettings,
}

impl ChaosTest {
    /// A test of about two minutes, for `make test`.
    fn short() -> Self {
        let settings = ChaosSettings {
            workers: 4,
            lease: Duration::from_secs(2),
            seed: number("CHAOS_SEED", 20_261_121),
            few_files: 120,
            temporary_bytes: 16 << 20,
            arguments: vec!["--in-flight".to_owned(), "16".to_owned()],
        };
        Self { faults: 24, gap_ms: (200, 700), settings }
    }

    /// A test with a large scan, whose longer leases let jobs end between faults.
    fn long() -> Self {
        let short = Self::short();
        let settings = ChaosSettings {
            lease: Duration::from_secs(12),
            temporary_bytes: 128 << 20,
            arguments: vec!["--in-flight".to_owned(), "128".to_owned()],
            ..short.settings
        };
        let faults = usize::try_from(number("FAULTS", 200)).unwrap();
        Self { faults, gap_ms: (800, 3_200), settings }
    }

    fn run(&self, internet: &Internet, has_network: bool) {
        let folder = internet.folder.path();
        let site = folder.join("s3/everytab/site");
        let began = Instant::now();
        let expected = undisturbed(internet);
        println!("undisturbed: {:.0?}", began.elapsed());
        let mut environment = ChaosEnvironment::new(internet, &self.settings, has_network);
        let began = Instant::now();
        let mut events = Vec::new();
        while events.is_empty() || environment.fault_counts.values().sum::<usize>() < self.faults {
            environment.start_scan(internet.crawl());
            environment.run_with_faults(self.faults, self.gap_ms);
            consistency::assert_consistent(&environment);
            expected.assert_same(&ScanResult::of(&environment, &site), "without and with faults");
            events.push(environment.status()["events"].take());
        }
        let collected = consistency::assert_garbage_collected(
            &environment,
            &folder.join("s3/everytab/private"),
        );
        let table = report::table(&environment, &events);
        println!("{} scans with faults in {:.0?}\n{table}", events.len(), began.elapsed());
        println!("{collected} objects of lost leases were collected");
        assert_eq!(report::count_in_logs(&environment, "panicked at"), 0, "a worker panicked");
        if self.faults >= 2 * Fault::ALL.len() {
            assert!(environment.lost.of_workers > 0, "no failover lost a commit by a worker");
        }
        let folders: Vec<_> =
            environment.workers.iter().map(|worker| worker.temporary.clone()).collect();
        drop(environment);
        for folder in folders {
            assert_eq!(processes_of(&folder), Vec::<String>::new());
        }
    }
}

fn undisturbed(internet: &Internet) -> ScanResult {
    let calm = internet.folder.path().join("undisturbed");
    let database = Database::new(internet, Stores::folders(internet, &calm));
    ScanResult::undisturbed(&database, internet.crawl(), &calm.join("site"))
}

fn generated(hosts: u64, mix: Mix, latency: Duration) -> Internet {
    internet_with(|scratch| Settings {
        behaviours: mix,
        latency: Latency { base: latency, ..Latency::default() },
        ..Settings::generated(7, hosts, scratch)
    })
}

#[test]
fn a_scan_whose_workers_are_killed_frozen_and_cut_off_writes_the_bytes_of_an_undisturbed_one() {
    in_own_namespaces(|has_network| {
        let internet = generated(350, mix(), Duration::from_millis(60));
        ChaosTest::short().run(&internet, has_network);
    });
}

#[test]
#[ignore = "takes half an hour: scripts/stress/chaos.sh"]
fn a_large_scan_with_faults_writes_the_bytes_of_an_undisturbed_one() {
    in_own_namespaces(|has_network| {
        let mix = mix().with(Behaviour::StallsInBody, 1_000);
        let internet = generated(number("HOSTS", 20_000), mix, Duration::from_millis(20));
        ChaosTest::long().run(&internet, has_network);
    });
}

#[test]
#[ignore = "takes minutes: scripts/stress/chaos.sh"]
fn the_recorded_sample_with_faults_gives_the_bytes_of_an_undisturbed_scan() {
    let Some(corpus) = corpus() else { return };
    in_own_namespaces(|has_network| {
        let internet = internet_with(|scratch| Settings {
            latency: Latency { base: Duration::from_millis(60), ..Latency::default() },
            ..Settings::recorded(7, corpus, scratch)
        });
        // A lease must outlast the longest freeze.
        let short = ChaosTest::short();
        let settings = ChaosSettings { lease: Duration::from_secs(41), ..short.settings };
        let test = ChaosTest { settings, ..short };
        test.run(&internet, has_network);
    });
}

#[test]
fn a_disk_that_is_full_for_a_while_costs_time_and_no_job() {
    assert_scan_survives_full_disk(ChaosWorker::fill_disk, ChaosWorker::free_disk);
}

#[test]
fn a_disk_without_room_for_one_more_file_costs_time_and_no_job() {
    assert_scan_survives_full_disk(ChaosWorker::take_all_files, ChaosWorker::give_files_back);
}

/// Runs a scan whose only worker cannot write to its disk for six seconds while it fetches icons.
fn assert_scan_survives_full_disk(fill: fn(&ChaosWorker), free: fn(&ChaosWorker)) {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let internet = generated(110, Mix::none(), Duration::from_millis(150));
        let expected = undisturbed(&internet);
        let before = internet.running.counts().connections;
        let settings = ChaosSettings { workers: 1, ..ChaosTest::short().settings };
        let mut environment = ChaosEnvironment::new(&internet, &settings, has_network);
        environment.start_scan(internet.crawl());
        environment.run_until(|_| internet.running.counts().connections > before + 20);
        fill(environment.workers.first().unwrap());
        let filled = Instant::now();
        environment.run_until(|_| filled.elapsed() > Duration::from_secs(6));
        free(environment.workers.first().unwrap());
        environment.run_with_faults(0, (1, 1));
        consistency::assert_consistent(&environment);
        let site = internet.folder.path().join("s3/everytab/site");
        expected
            .assert_same(&ScanResult::of(&environment, &site), "undisturbed and without a disk");
    });
}

#[test]
fn few_open_files_cost_time_and_no_job() {
    in_own_namespaces(|has_network| {
        let internet = generated(220, mix(), Duration::from_millis(20));
        let expected = undisturbed(&internet);
        let settings = ChaosSettings {
            workers: 2,
            few_files: 120,
            arguments: Vec::new(),
            ..ChaosTest::short().settings
        };
        let mut environment = ChaosEnvironment::new(&internet, &settings, has_network);
        for worker in &mut environment.workers {
            worker.files = Some(settings.few_files);
        }
        environment.start_scan(internet.crawl());
        environment.run_with_faults(0, (1, 1));
        consistency::assert_consistent(&environment);
        let site = internet.folder.path().join("s3/everytab/site");
        expected
            .assert_same(&ScanResult::of(&environment, &site), "undisturbed and with few files");
        println!("{}", environment.status()["events"]);
    });
}

#[test]
fn packets_that_our_own_link_swallows_make_no_outcome() {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let mix = Mix::none().with(Behaviour::NotFound, 200_000).with_shared_address(300_000);
        // Fewer hosts than the circuit breaker needs for a decision.
        let internet = generated(110, mix, Duration::from_millis(150));
        let expected = undisturbed(&internet);
        let before = internet.running.counts().connections;
        let arguments = vec!["--in-flight".to_owned(), "64".to_owned()];
        let settings = ChaosSettings { workers: 1, arguments, ..ChaosTest::short().settings };
        let mut environment = ChaosEnvironment::new(&internet, &settings, has_network);
        environment.start_scan(internet.crawl());
        environment.run_until(|_| internet.running.counts().connections > before + 20);
        let swallowed = Instant::now();
        environment.swallow(0);
        // Twice the time after which the fetcher gives up a URL, in the first and in the later
        // pass.
        environment.run_until(|_| swallowed.elapsed() > Duration::from_secs(24));
        assert_ne!(environment.status()["state"], "finished", "the link was cut too late");
        environment.find_route(0);
        environment.run_with_faults(0, (1, 1));
        consistency::assert_consistent(&environment);
        let site = internet.folder.path().join("s3/everytab/site");
        expected.assert_same(&ScanResult::of(&environment, &site), "undisturbed and swallowed");
    });
}
