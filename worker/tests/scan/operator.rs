//! Tests an operator's commands while workers run.

use std::time::Instant;

use everytab_postgres::shared_for_tests;
use everytab_testbed::Mix;

use crate::{
    environment::{Database, Internet, Stores, internet, stage},
    outcomes,
    setup::{Running, assert_same, published, run, wait_for, worker},
};

fn requests(internet: &Internet) -> u64 {
    internet.running.counts().requests.values().sum()
}

#[test]
fn the_fleet_obeys_a_rate_and_a_changed_rate_without_a_restart() {
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
    let began = Instant::now();
    let before = requests(&internet);
    for _ in 0..16 {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let seen = requests(&internet) - before;
        // The clock is read after the count, so the bound can only be too wide.
        let most = RATE * began.elapsed().as_secs_f64();
        // Each worker may send a few requests that the rate permitted before the first count.
        assert!(seen as f64 <= most + 6.0, "{seen} requests where {most} are allowed");
    }
    let paced = requests(&internet) - before;
    assert!(paced > 0, "no request was sent");
    assert_eq!(database.status()["state"], "running");
    run(database.owner(&["scan", "set", "rate=off"])).expect_code(0);
    for worker in workers {
        worker.finish().expect_code(0);
    }
    let asked = requests(&internet) - before - paced;
    let took = began.elapsed().as_secs_f64() - 8.0;
    println!("{paced} requests in 8 s at rate=10, then {asked} in {took:.1} s without");
    // A rate only delays requests, so the outcomes do not change.
    let free = Database::new(&internet, Stores::folders(&internet, &dir.join("free")));
    free.start_scan(internet.crawl(), &[]);
    run(free.worker(&["--exit-when-done"])).expect_code(0);
    assert_same(&published(&dir.join("free/site")), &published(&dir.join("out/site")), "paced");
    outcomes::assert_totals(&dir.join("out/site"));
}

#[test]
fn the_fleet_obeys_the_rate_of_the_source_and_a_changed_rate_without_a_restart() {
    const RATE: f64 = 8.0;
    let internet = internet(150, Mix::none());
    let dir = internet.folder.path();
    let source = internet.running.client.bucket_url.clone();
    let stores = Stores { source, ..Stores::folders(&internet, &dir.join("out")) };
    let database = Database::new(&internet, stores);
    database.start_scan(internet.crawl(), &["--archive-rate", "8"]);
    assert_eq!(database.status()["archive_rate"], 8);
    let asked = || internet.running.counts().bucket_requests;
    let began = Instant::now();
    let before = asked();
    let workers: Vec<Running> =
        (0..2).map(|_| Running::start(database.worker(&["--exit-when-done"]))).collect();
    for _ in 0..16 {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let seen = asked() - before;
        // The clock is read after the count, so the bound can only be too wide.
        let most = RATE * began.elapsed().as_secs_f64();
        // A worker that does not know the other one yet may send a few more requests.
        assert!(seen as f64 <= most + 6.0, "{seen} requests where {most} are allowed");
    }
    assert!(asked() > before, "no request was sent");
    let shown = run(database.owner(&["scan", "status"])).expect_code(0).stdout;
    assert!(shown.contains("8 requests/s to the source"), "{shown}");
    run(database.owner(&["scan", "set", "archive-rate=off"])).expect_code(0);
    for worker in workers {
        worker.finish().expect_code(0);
    }
    let free = Database::new(&internet, Stores::folders(&internet, &dir.join("free")));
    // The rate does not apply to a directory.
    free.start_scan(internet.crawl(), &["--archive-rate", "1"]);
    assert_eq!(free.status()["archive_rate"], serde_json::Value::Null);
    run(free.worker(&["--exit-when-done"])).expect_code(0);
    assert_same(&published(&dir.join("free/site")), &published(&dir.join("out/site")), "paced");
}

#[test]
fn a_paused_stage_stops_while_the_others_continue() {
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
    wait_for("a worker without work", || {
        worker.stderr_text().contains("no work now").then_some(())
    });
    let status = database.status();
    assert_eq!(stage(&status, "icon")["paused"], true);
    assert_eq!(stage(&status, "icon")["done"], 0, "{status}");
    assert_eq!(stage(&status, "icon")["leased"], 0, "{status}");
    let shown = run(database.owner(&["scan", "status"])).expect_code(0).stdout;
    assert!(shown.lines().any(|l| l.starts_with("icon") && l.ends_with("paused")), "{shown}");
    let again = run(database.owner(&["scan", "pause", "--kind", "icon"])).expect_code(1);
    assert!(again.stderr.contains("nothing was changed"), "{}", again.stderr);
    run(database.owner(&["scan", "resume", "--kind", "icon"])).expect_code(0);
    worker.finish().expect_code(0);
    assert_eq!(database.status()["state"], "finished");
    outcomes::assert_totals(&dir.join("site"));
}

#[test]
fn cancelling_a_scan_revokes_the_leases_of_running_workers() {
    let internet = internet(150, Mix::none());
    let (proxy, database) = internet.held_scan();
    let worker = Running::start(database.worker(&["--exit-when-done"]));
    proxy.wait_until_held();
    run(database.owner(&["scan", "cancel"])).expect_code(0);
    // The proxy still holds the requests, so the lost leases must have ended the jobs.
    let ended = worker.finish().expect_code(0);
    assert!(ended.stderr.contains("the lease was lost"), "{}", ended.stderr);
    let status = database.status();
    assert_eq!(status["state"], "cancelled");
    let mut workers = status["workers"].as_array().unwrap().iter();
    assert!(workers.all(|worker| worker["leases"] == 0), "{status}");
    let again = run(database.owner(&["scan", "cancel"])).expect_code(1);
    assert!(again.stderr.contains("has already ended"), "{}", again.stderr);
    assert!(!internet.folder.path().join("site/manifest.json").exists());
}

#[test]
fn commands_report_changes_reject_wrong_values_and_survive_a_closed_pipe() {
    let internet = internet(40, Mix::none());
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let said = |arguments: &[&str], code: i32| {
        let ended = run(database.owner(arguments)).expect_code(code);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        ended.stdout + &ended.stderr
    };
    assert_eq!(said(&["scan", "list"], 0), "");
    for command in ["status", "cancel", "retry", "pause", "resume"] {
        assert!(said(&["scan", command], 1).contains("there is no scan yet"), "{command}");
    }
    database.start_scan(internet.crawl(), &[]);
    let unknown = "00000000-0000-0000-0000-000000000000";
    assert!(said(&["scan", "status", "--scan", unknown], 1).contains("there is no scan 0000"));
    for wrong in
        ["rate=0", "rate=-1", "rate=many", "rate", "speed=1", "rate=99999999999", "deadline=soon"]
    {
        let text = said(&["scan", "set", "rate=7", wrong], 2);
        assert!(text.contains(wrong), "{text}");
    }
    assert_eq!(database.status()["rate"], serde_json::Value::Null);
    assert_eq!(said(&["scan", "set", "rate=7"], 0), "rate=7\n");
    assert!(said(&["scan", "status"], 0).contains("rate         7 requests/s"));
    assert_eq!(said(&["scan", "set", "rate=off"], 0), "rate=off\n");
    assert_eq!(said(&["scan", "set", "deadline=45m"], 0), "deadline=2700s\n");
    assert_eq!(database.psql("select deadline_ms from everytab.runs").trim(), "2700000");
    assert_eq!(said(&["scan", "set", "deadline=off"], 0), "deadline=off\n");
    assert!(said(&["scan", "pause", "--kind", "icons"], 2).contains("icons"));
    assert!(said(&["scan", "retry", "--kind", "icons"], 2).contains("icons"));
    assert!(said(&["scan", "retry", "--outcome", "teapot"], 2).contains("teapot"));
    assert!(said(&["scan", "history", "999999"], 1).contains("999999"));
    assert!(said(&["scan", "retry", "--job", "999999"], 1).contains("999999"));
    assert_eq!(said(&["scan", "retry"], 0), "0 jobs will be done again\n");
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    for arguments in [
        &["scan", "set", "rate=7"][..],
        &["scan", "pause"],
        &["scan", "resume", "--kind", "icon"],
        &["scan", "cancel"],
    ] {
        assert!(said(arguments, 1).contains("nothing was changed"), "{arguments:?}");
    }
    // The pipe's reader does not read.
    for arguments in [
        &["scan", "list"][..],
        &["scan", "list", "--json"],
        &["scan", "status"],
        &["scan", "status", "--watch"],
        &["scan", "status", "--json"],
        &["scan", "history", "1"],
        &["migrate"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = database.owner(arguments);
        command.stdin(std::process::Stdio::null()).stdout(writer);
        let ended = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() && stderr.is_empty(), "{arguments:?}: {ended:?}");
    }
}

#[test]
fn doctor_audits_the_scans_and_names_drift() {
    let internet = internet(40, Mix::none());
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    database.start_scan(internet.crawl(), &[]);
    let line = || {
        let said = run(database.owner(&["doctor"])).stdout;
        let line = said.lines().find(|line| line.contains("audit")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{said}"))
    };
    assert!(line().starts_with("ok"), "{}", line());
    assert!(line().contains("counters and rows agree in the newest 1 scans"), "{}", line());
    database.psql("update everytab.stages set outstanding = outstanding + 1 where kind = 'index'");
    assert!(line().starts_with("FAIL"), "{}", line());
    assert!(line().contains("index of"), "{}", line());
    let status = run(database.owner(&["scan", "status"])).expect_code(0).stdout;
    assert!(status.contains("DRIFT        index"), "{status}");
}

#[test]
fn a_database_that_cannot_store_every_title_is_rejected_by_migrate_and_doctor() {
    let server = shared_for_tests();
    let name = format!("{}_latin1", server.fresh_database(None));
    let sql = format!(
        "create database \"{name}\" encoding 'LATIN1' template template0
             lc_collate 'C' lc_ctype 'C'"
    );
    server.psql("postgres", &sql).unwrap();
    let url = server.url(&name, "postgres");
    let refused = run(worker(["migrate", "--database-url", &url])).expect_code(1);
    let said = run(worker(["doctor", "--database-url", &url])).stdout;
    let line = said.lines().find(|line| line.contains("encoding")).unwrap_or_default();
    assert!(line.starts_with("FAIL"), "{said}");
    for text in [&refused.stderr, line] {
        assert!(text.contains("LATIN1") && text.contains("createdb --encoding UTF8"), "{text}");
    }
}

#[test]
fn of_many_hosts_that_start_a_scan_with_once_exactly_one_starts_it() {
    let internet = internet(60, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, &dir.join("out")));
    let start = |crawl: &str, more: &[&str]| {
        let mut command = database.owner(&["scan", "start", "--crawl", crawl]);
        command.args(database.stores.arguments()).args(more);
        command
    };
    // Each host of a fleet runs these commands when it boots.
    let machines: Vec<(Running, Running)> = (0..6)
        .map(|_| (database.owner(&["migrate"]), start(internet.crawl(), &["--once"])))
        .map(|(migrate, start)| (Running::start(migrate), Running::start(start)))
        .collect();
    let mut started = 0;
    for (migrate, start) in machines {
        migrate.finish().expect_code(0);
        started += start.finish().expect_code(0).stdout.lines().count();
    }
    assert_eq!(started, 1, "exactly one host must start a scan and print its id");
    let scans = || database.psql("select count(*) from everytab.scans").trim().to_owned();
    assert_eq!(scans(), "1");
    // A host that starts after the scan was cancelled starts no other scan, for this crawl or the
    // latest one.
    run(database.owner(&["scan", "cancel"])).expect_code(0);
    run(start(internet.crawl(), &["--once"])).expect_code(0);
    run(start("latest", &["--once"])).expect_code(0);
    assert_eq!(scans(), "1");
    run(start(internet.crawl(), &[])).expect_code(0);
    assert_eq!(scans(), "2");
}
