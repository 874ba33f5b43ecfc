//! What an operator changes while workers work: the rate, a stage, the whole scan.

use std::time::Instant;

use everytab_testbed::Mix;

use crate::{
    outcomes,
    places::{Database, Internet, Stores, internet, stage},
    setup::{Running, assert_same, published, run, wait_for},
};

/// Requests for pages and icons that the small internet has had.
fn requests(internet: &Internet) -> u64 {
    internet.running.counts().requests.values().sum()
}

#[test]
fn the_fleet_keeps_to_a_rate_and_takes_a_new_one_without_a_restart() {
    const RATE: f64 = 10.0;
    let internet = internet(150, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, &dir.join("out")));
    database.start_scan(internet.crawl(), &[]);
    run(database.owner(&["scan", "set", "rate=10"])).expect_code(0);
    assert_eq!(database.status()["rate"], 10);
    let workers: Vec<Running> =
        (0..2).map(|_| Running::start(database.worker(&["--exit-when-done"]))).collect();
    wait_for("the first request", || (requests(&internet) > 0).then_some(()));
    let (began, before) = (Instant::now(), requests(&internet));
    for _ in 0..16 {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let seen = requests(&internet) - before;
        // Read after the count: that makes the bound a little wider, never too narrow.
        let most = RATE * began.elapsed().as_secs_f64();
        // A turn or two of each worker that were taken before the count and used after it.
        assert!(seen as f64 <= most + 6.0, "{seen} requests where {most} are allowed");
    }
    let paced = requests(&internet) - before;
    assert!(paced > 0, "nothing was asked at all");
    assert_eq!(database.status()["state"], "running");
    run(database.owner(&["scan", "set", "rate=off"])).expect_code(0);
    for worker in workers {
        worker.finish().expect_code(0);
    }
    let asked = requests(&internet) - before - paced;
    let took = began.elapsed().as_secs_f64() - 8.0;
    println!("{paced} requests in 8 s at rate=10, then {asked} in {took:.1} s without");
    // A rate delays, it decides nothing.
    let free = Database::new(&internet, Stores::folders(&internet, &dir.join("free")));
    free.start_scan(internet.crawl(), &[]);
    run(free.worker(&["--exit-when-done"])).expect_code(0);
    assert_same(&published(&dir.join("free/site")), &published(&dir.join("out/site")), "paced");
    outcomes::add_up(&dir.join("out/site"));
}

#[test]
fn a_paused_stage_stands_still_while_the_others_go_on() {
    let internet = internet(120, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    database.start_scan(internet.crawl(), &[]);
    run(database.owner(&["scan", "pause", "--kind", "icon"])).expect_code(0);
    let worker = Running::start(database.worker(&["--exit-when-done"]));
    wait_for("all pages", || {
        let status = database.status();
        let warc = stage(&status, "warc");
        (warc["done"].as_u64() > Some(0) && warc["outstanding"] == 0).then_some(())
    });
    wait_for("a worker without work", || worker.said().contains("no work now").then_some(()));
    let status = database.status();
    assert_eq!(stage(&status, "icon")["paused"], true);
    assert_eq!(stage(&status, "icon")["done"], 0, "{status}");
    assert_eq!(stage(&status, "icon")["leased"], 0, "{status}");
    let shown = run(database.owner(&["scan", "status"])).expect_code(0).stdout;
    assert!(shown.lines().any(|l| l.starts_with("icon") && l.ends_with("paused")), "{shown}");
    // Twice is once, and says so.
    let again = run(database.owner(&["scan", "pause", "--kind", "icon"])).expect_code(1);
    assert!(again.stderr.contains("nothing was changed"), "{}", again.stderr);
    run(database.owner(&["scan", "resume", "--kind", "icon"])).expect_code(0);
    worker.finish().expect_code(0);
    assert_eq!(database.status()["state"], "finished");
    outcomes::add_up(&dir.join("site"));
}

#[test]
fn a_cancelled_scan_takes_its_leases_from_workers_at_work() {
    let internet = internet(150, Mix::none());
    let dir = internet.folder.path();
    let gate = crate::gate::Gate::before(&internet.running.client.bucket_url);
    let source = format!("{}/", gate.endpoint);
    let stores = Stores { source, ..Stores::folders(&internet, dir) };
    let database = Database::new(&internet, stores);
    database.start_scan(internet.crawl(), &[]);
    gate.arm("GET", "/segments/", 10);
    let worker = Running::start(database.worker(&["--exit-when-done"]));
    gate.wait_until_held();
    run(database.owner(&["scan", "cancel"])).expect_code(0);
    // The gate stays shut: only the loss of its leases ends the runs, and then the worker.
    let ended = worker.finish().expect_code(0);
    assert!(ended.stderr.contains("the lease was lost"), "{}", ended.stderr);
    let status = database.status();
    assert_eq!(status["state"], "cancelled");
    assert_eq!(status["workers"], serde_json::json!([]), "{status}");
    let again = run(database.owner(&["scan", "cancel"])).expect_code(1);
    assert!(again.stderr.contains("has ended already"), "{}", again.stderr);
    assert!(!dir.join("site/manifest.json").exists());
}
