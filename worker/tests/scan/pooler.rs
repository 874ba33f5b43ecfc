//! Tests workers behind PgBouncer in transaction mode, where each transaction may use another
//! session.

use std::process::Command;

use everytab_postgres::Pooler;
use everytab_testbed::{Behaviour, Mix};

use crate::{
    environment::{Database, Stores, internet},
    outcomes,
    setup::{Running, assert_same, published, run, wait_for},
};

/// Server sessions that all workers share. Each worker has up to five client connections.
const SESSIONS: usize = 4;

#[test]
fn a_scan_through_a_pooler_in_transaction_mode_gives_the_same_bytes() {
    let mix = Mix::none().with(Behaviour::NotFound, 100_000).with(Behaviour::Slow, 100_000);
    let internet = internet(300, mix);
    let dir = internet.folder.path();
    let user = "everytab_worker";
    let settings = "server_lifetime = 3\nserver_idle_timeout = 2";
    let Some(pooler) = Pooler::start(&dir.join("pooler"), user, SESSIONS, settings) else { return };
    let direct = Database::new(&internet, Stores::folders(&internet, &dir.join("direct")));
    direct.start_scan(internet.crawl(), &[]);
    run(direct.worker(&["--exit-when-done"])).expect_code(0);

    let mut pooled = Database::new(&internet, Stores::folders(&internet, &dir.join("pooled")));
    pooled.worker_url = pooler.url(&pooled.name);
    // Long enough that no lease expires on a busy host.
    pooled.start_scan_with_lease(internet.crawl(), "1m", &[]);
    let mut workers: Vec<Running> =
        (0..3).map(|_| Running::start(pooled.worker(&["--exit-when-done"]))).collect();
    let mut most = 0;
    let mut named = 0;
    wait_for("the end of the scan", || {
        let sessions = "select count(*) from pg_stat_activity
                         where datname = current_database() and usename = 'everytab_worker'";
        most = most.max(pooled.psql(sessions).trim().parse::<usize>().unwrap());
        named += prepared_statements(&pooled.worker_url);
        let is_over =
            pooled.status()["state"] == "finished" || workers.iter_mut().all(Running::has_ended);
        is_over.then_some(())
    });
    for worker in workers {
        let ended = worker.finish().expect_code(0);
        for message in ["prepared statement", "cannot reach Postgres", "retrying", "ERROR"] {
            assert!(!ended.stderr.contains(message), "{}", ended.stderr);
        }
    }
    assert!((1..=SESSIONS).contains(&most), "{most} sessions");
    assert_eq!(named, 0, "statements were prepared for a session");
    let status = pooled.status();
    assert_eq!(status["drift"].as_array().map(Vec::len), Some(0), "{}", status["drift"]);
    assert_eq!(status["events"], serde_json::json!({}), "{status}");
    let said = pooler.log_text();
    // From this error a worker learns that its statements must be unnamed.
    let is_expected = |line: &str| line.contains("unsupported startup parameter: options");
    for line in said.lines().filter(|line| !is_expected(line)) {
        assert!(!line.contains("ERROR") && !line.contains("unsupported"), "{said}");
    }
    let site = dir.join("pooled/site");
    assert_same(&published(&dir.join("direct/site")), &published(&site), "direct and pooled");
    outcomes::assert_totals(&site);
}

fn prepared_statements(url: &str) -> usize {
    let sql = "select count(*) from pg_prepared_statements";
    let mut psql = Command::new("psql");
    let said = psql.args(["--no-psqlrc", "--tuples-only", "--command", sql, url]).output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("{said:?}"))
}
