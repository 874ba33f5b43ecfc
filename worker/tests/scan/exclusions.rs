//! Hosts, domains and networks that are excluded while a scan runs.

use std::time::{Duration, Instant};

use everytab_testbed::{Mix, Settings};

use crate::{
    environment::{Database, Internet, Stores, internet_with},
    outcomes,
    setup::{Running, run, wait_for},
};

const HOSTS: u64 = 1_500;

/// Requests that the sites of the small internet were asked.
fn asked(internet: &Internet) -> u64 {
    internet.running.counts().requests.values().sum()
}

#[test]
fn a_network_that_is_excluded_is_asked_nothing_more_by_any_worker_and_its_icons_opted_out() {
    let internet = internet_with(|scratch| Settings {
        behaviours: Mix::none(),
        ..Settings::generated(7, HOSTS, scratch)
    });
    let out = internet.folder.path().join("out");
    let database = Database::new(&internet, Stores::folders(&internet, &out));
    database.start_scan(internet.crawl(), &[]);
    // So slow that the scan would take minutes.
    run(database.owner(&["scan", "set", "rate=40"])).expect_code(0);
    let workers: Vec<Running> =
        (0..2).map(|_| Running::start(database.worker(&["--exit-when-done"]))).collect();
    wait_for("some icons", || (asked(&internet) > 60).then_some(()));
    // Every site of this internet.
    let excluded = run(database.owner(&["scan", "exclude", "127.0.0.0/8", "::1/128"]));
    let excluded_at = Instant::now();
    assert_eq!(excluded.expect_code(0).stdout, "network\t127.0.0.0/8\nnetwork\t::1/128\n");
    let (mut last, mut count) = (excluded_at, asked(&internet));
    let mut workers = workers;
    wait_for("the end of the scan", || {
        let now = asked(&internet);
        if now > count {
            (last, count) = (Instant::now(), now);
        }
        workers.iter_mut().all(Running::has_ended).then_some(())
    });
    let delay: Duration = last.duration_since(excluded_at);
    eprintln!("the last request came {:.2} s after the exclusion", delay.as_secs_f64());
    for worker in workers {
        worker.finish().expect_code(0);
    }
    // Twice as many hosts have at least two URLs each.
    assert!(count < HOSTS, "{count} requests");
    let opted_out = "select count(*) from everytab.icons where outcome = 'opted_out'";
    let opted_out: u64 = database.psql(opted_out).trim().parse().unwrap();
    assert!(opted_out > HOSTS, "{opted_out} opted out");
    outcomes::assert_totals(&out.join("site"));
    let listed = run(database.owner(&["scan", "exclude", "--list"])).expect_code(0);
    assert!(listed.stdout.contains("\tnetwork\t127.0.0.0/8\n"), "{}", listed.stdout);
    let late = run(database.owner(&["scan", "exclude", "a.page"])).expect_code(1);
    assert!(late.stderr.contains("takedown"), "{}", late.stderr);
}
