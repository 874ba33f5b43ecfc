//! Tests that an idle worker sends few statements to Postgres.

use std::{
    fs,
    time::{Duration, Instant},
};

use everytab_postgres::{PostgresSettings, PrivatePostgres};
use everytab_testbed::Mix;

use crate::{
    environment::{Database, Stores, internet},
    setup::{Running, run, wait_for},
};

const WORKERS: usize = 10;
/// Lease calls after which a worker's pauses have reached their maximum.
const LEASE_CALLS: usize = 8;
/// Allows 200 idle workers at most 100 statements per second.
const STATEMENTS_PER_WORKER_AND_SECOND: f64 = 0.5;

/// Returns all statements in the server's log, each with the line of its parameters' values.
fn statements(postgres: &PrivatePostgres) -> Vec<String> {
    let log = fs::read_to_string(postgres.log_file()).unwrap();
    let mut statements: Vec<String> = Vec::new();
    for line in log.lines().filter(|line| line.starts_with("everytab_worker ")) {
        if line.contains("statement: ") || line.contains("execute ") {
            statements.push(line.to_owned());
        } else if let Some(statement) = statements.last_mut() {
            statement.push_str(line);
        }
    }
    statements
}

#[test]
fn two_hundred_idle_workers_would_send_at_most_a_hundred_statements_a_second() {
    let internet = internet(30, Mix::none());
    let dir = internet.folder.path();
    let extra = [("log_statement", "all"), ("log_line_prefix", "%u ")];
    let postgres = PrivatePostgres::start(PostgresSettings {
        durable: false,
        extra: extra.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        ..PostgresSettings::new(dir.join("postgres"))
    })
    .unwrap();
    let database = Database::on(&postgres, &internet, Stores::folders(&internet, dir));
    database.start_scan(internet.crawl(), &[]);
    run(database.owner(&["scan", "pause"])).expect_code(0);
    // With --exit-when-done a worker also queries whether the scan has ended, so it sends the most
    // statements.
    let workers: Vec<Running> =
        (0..WORKERS).map(|_| Running::start(database.worker(&["--exit-when-done"]))).collect();
    wait_for("workers whose pauses have grown", || {
        let said = statements(&postgres);
        let lease_calls = |pid: u32| {
            let worker_id = format!(":{pid}:");
            said.iter().filter(|line| line.contains("lease(") && line.contains(&worker_id)).count()
        };
        workers.iter().all(|worker| lease_calls(worker.pid()) >= LEASE_CALLS).then_some(())
    });
    let began = Instant::now();
    let before = statements(&postgres).len();
    std::thread::sleep(Duration::from_secs(15));
    let said = statements(&postgres);
    let seconds = began.elapsed().as_secs_f64();
    let asked = said.len() - before;
    let per_worker = asked as f64 / WORKERS as f64 / seconds;
    println!(
        "{asked} statements of {WORKERS} idle workers in {seconds:.1} s: {per_worker:.3}/s each"
    );
    // Each worker may be in a lease call at the start and at the end.
    let most = STATEMENTS_PER_WORKER_AND_SECOND * seconds + 2.0;
    let last = said.iter().rev().take(10).collect::<Vec<_>>();
    assert!(asked as f64 <= most * WORKERS as f64, "{asked} in {seconds} s: {last:?}");
    assert!(asked > 0, "the workers have exited");
    // An idle worker must notice new work within one pause.
    run(database.owner(&["scan", "resume"])).expect_code(0);
    for worker in workers {
        worker.finish().expect_code(0);
    }
    assert_eq!(database.status()["state"], "finished");
}
