//! A worker that waits for work costs Postgres next to nothing.

use std::{
    fs,
    time::{Duration, Instant},
};

use everytab_postgres::{PostgresSettings, PrivatePostgres};
use everytab_testbed::Mix;

use crate::{
    places::{Database, Stores, internet},
    setup::{Running, run, wait_for},
};

const WORKERS: usize = 10;
/// Looks for work after which a worker's pauses have grown to their longest.
const LOOKS: usize = 8;
/// 200 idle workers stay at 100 statements a second.
const STATEMENTS_PER_WORKER_AND_SECOND: f64 = 0.5;

/// Every statement counts, a BEGIN and a COMMIT too: the server's log has them all. The values of
/// its parameters, which the log has in a line of their own, stand behind a statement.
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
fn two_hundred_idle_workers_would_ask_at_most_a_hundred_statements_a_second() {
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
    // The dearer kind: it also asks whether the scan is over.
    let workers: Vec<Running> =
        (0..WORKERS).map(|_| Running::start(database.worker(&["--exit-when-done"]))).collect();
    wait_for("workers whose pauses have grown", || {
        let said = statements(&postgres);
        let looks = |pid: u32| {
            let holder = format!(":{pid}:");
            said.iter().filter(|line| line.contains("lease(") && line.contains(&holder)).count()
        };
        workers.iter().all(|worker| looks(worker.pid()) >= LOOKS).then_some(())
    });
    let (began, before) = (Instant::now(), statements(&postgres).len());
    std::thread::sleep(Duration::from_secs(15));
    let said = statements(&postgres);
    let (seconds, asked) = (began.elapsed().as_secs_f64(), said.len() - before);
    let per_worker = asked as f64 / WORKERS as f64 / seconds;
    println!(
        "{asked} statements of {WORKERS} idle workers in {seconds:.1} s: {per_worker:.3}/s each"
    );
    // Each may be in the middle of a look at both ends.
    let most = STATEMENTS_PER_WORKER_AND_SECOND * seconds + 2.0;
    let last = said.iter().rev().take(10).collect::<Vec<_>>();
    assert!(asked as f64 <= most * WORKERS as f64, "{asked} in {seconds} s: {last:?}");
    assert!(asked > 0, "they have left");
    // Waiting so seldom, they still notice within a pause that there is work again.
    run(database.owner(&["scan", "resume"])).expect_code(0);
    for worker in workers {
        worker.finish().expect_code(0);
    }
    assert_eq!(database.status()["state"], "finished");
}
