//! Tests Postgres outages during a scan: workers reconnect and lose nothing. A worker that cannot
//! reach Postgres stops its jobs before another worker may lease them.

use std::{collections::BTreeMap, path::Path};

use chrono::{DateTime, Utc};
use everytab_postgres::{PostgresSettings, PrivatePostgres, shared_for_tests};
use everytab_testbed::{Behaviour, Mix};

use crate::{
    environment::{Database, Internet, Stores, internet, stage},
    outcomes,
    postgres_proxy::PostgresProxy,
    setup::{Running, assert_same, published, run, wait_for},
};

fn mixed_internet() -> Internet {
    internet(300, Mix::none().with(Behaviour::Slow, 100_000).with(Behaviour::Gzip, 100_000))
}

fn undisturbed(internet: &Internet) -> BTreeMap<String, Vec<u8>> {
    let dir = internet.folder.path().join("undisturbed");
    let database = Database::new(internet, Stores::folders(internet, &dir));
    database.start_scan(internet.crawl(), &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    published(&dir.join("site"))
}

fn assert_whole(database: &Database, site: &Path, expected: &BTreeMap<String, Vec<u8>>) {
    let status = database.status();
    assert_eq!(status["state"], "finished", "{status}");
    assert_eq!(status["drift"].as_array().map(Vec::len), Some(0), "{}", status["drift"]);
    assert_same(expected, &published(site), "undisturbed and cut off");
    outcomes::assert_totals(site);
}

fn server(dir: &Path) -> PrivatePostgres {
    let settings = PostgresSettings { durable: false, ..PostgresSettings::new(dir) };
    PrivatePostgres::start(settings).unwrap()
}

#[test]
fn workers_outlive_a_failover_during_a_scan() {
    let internet = mixed_internet();
    let expected = undisturbed(&internet);
    let dir = internet.folder.path().join("out");
    let (proxy, stores) = internet.behind_proxy(&dir);
    let cluster = internet.folder.path().join("postgres");
    let postgres = server(&cluster);
    let mut database = Database::on(&postgres, &internet, stores);
    let postgres_proxy = PostgresProxy::before(&postgres.socket());
    // One worker connects through a proxy that refuses connections, as in a failover. The other one
    // connects directly, so it sees the restart.
    let direct = database.worker_url.clone();
    database.start_scan(internet.crawl(), &[]);
    // One worker does not take all warc jobs, so both get some.
    proxy.hold("GET", "/segments/", 1);
    let mut workers = vec![Running::start(database.worker(&["--exit-when-done"]))];
    database.worker_url = postgres_proxy.url(&database.name);
    workers.push(Running::start(database.worker(&["--exit-when-done"])));
    proxy.wait_until_held();
    wait_for("two workers at work", || {
        let status = database.status();
        let holding = status["workers"].as_array().unwrap().iter();
        (holding.filter(|worker| worker["leases"].as_u64() > Some(0)).count() == 2).then_some(())
    });
    postgres_proxy.refuse();
    postgres.stop().unwrap();
    for worker in &workers {
        wait_for("a line about it", || {
            worker.stderr_text().contains("cannot connect to Postgres").then_some(())
        });
        wait_for("the end of its runs", || {
            worker.stderr_text().contains("could not be renewed in time").then_some(())
        });
    }
    let postgres = server(&cluster);
    postgres_proxy.restore();
    proxy.release();
    for worker in workers {
        let ended = worker.finish().expect_code(0);
        // Pauses limit the number of attempts, however fast each fails.
        let tries = ended.stderr.matches("cannot connect to Postgres").count();
        assert!((1..300).contains(&tries), "{tries} tries\n{}", ended.stderr);
    }
    database.worker_url = direct;
    assert_whole(&database, &dir.join("site"), &expected);
    drop(postgres);
}

#[test]
fn workers_survive_repeated_ends_of_all_their_sessions() {
    let internet = mixed_internet();
    let expected = undisturbed(&internet);
    let dir = internet.folder.path().join("out");
    let database = Database::new(&internet, Stores::folders(&internet, &dir));
    database.start_scan(internet.crawl(), &[]);
    let mut workers: Vec<Running> =
        (0..2).map(|_| Running::start(database.worker(&["--exit-when-done"]))).collect();
    let mut ended = 0;
    let mut seen = String::new();
    wait_for("the end of the scan", || {
        let status = database.status();
        let stages = status["stages"].to_string();
        // End sessions only after some progress, so that the scan can finish.
        if stages != seen && ended < 60 {
            seen = stages;
            let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                        where datname = current_database() and usename = 'everytab_worker'";
            ended += database.psql(end).trim().parse::<u32>().unwrap();
        }
        let is_over = status["state"] == "finished" || workers.iter_mut().any(Running::has_ended);
        is_over.then_some(())
    });
    assert!(ended >= 10, "only {ended} sessions were ended");
    for worker in workers {
        worker.finish().expect_code(0);
    }
    assert_whole(&database, &dir.join("site"), &expected);
}

#[test]
fn a_worker_that_cannot_reach_postgres_ends_its_jobs_before_another_may_lease_them() {
    let internet = internet(100, Mix::none());
    let dir = internet.folder.path();
    let (proxy, stores) = internet.behind_proxy(&dir.join("cut-off"));
    let mut database = Database::new(&internet, stores);
    let direct = database.worker_url.clone();
    let postgres_proxy = PostgresProxy::before(&shared_for_tests().socket());
    database.worker_url = postgres_proxy.url(&database.name);
    // A worker stops its jobs when a tenth of the lease remains.
    database.start_scan_with_lease(internet.crawl(), "10s", &[]);
    proxy.hold("GET", "/segments/", 5);
    let mut cut_off = Running::start(database.worker(&["--exit-when-done"]));
    proxy.wait_until_held();
    postgres_proxy.drop_bytes();
    database.worker_url = direct;
    let next = Running::start(database.worker(&["--exit-when-done"]));
    wait_for("an expired lease", || {
        (database.status()["events"]["expired"].as_u64() > Some(0)).then_some(())
    });
    let line = wait_for("the end of the run", || {
        let said = cut_off.stderr_text();
        said.lines().find(|line| line.contains("could not be renewed in time")).map(String::from)
    });
    let time = line.split_whitespace().next().unwrap();
    let run_ended: DateTime<Utc> = time.parse().unwrap_or_else(|error| panic!("{error}: {line}"));
    let first = "select to_char(min(at) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')
                   from everytab.job_events where event = 'expired'";
    let expired: DateTime<Utc> = database.psql(first).trim().parse().unwrap();
    assert!(run_ended < expired, "the run ended at {run_ended}, its lease at {expired}");
    assert!(!cut_off.has_ended(), "{}", cut_off.stderr_text());
    proxy.release();
    next.finish().expect_code(0);
    let status = database.status();
    assert_eq!(status["state"], "finished", "{status}");
    assert_eq!(stage(&status, "warc")["outstanding"], 0);
    // After its connections were closed, the worker opens new ones.
    postgres_proxy.refuse();
    postgres_proxy.restore();
    cut_off.finish().expect_code(0);
}

#[test]
fn a_job_is_retried_if_postgres_could_not_read_its_input() {
    let internet = internet(20, Mix::none());
    let dir = internet.folder.path().join("out");
    let database = Database::new(&internet, Stores::folders(&internet, &dir));
    database.start_scan(internet.crawl(), &[]);
    // Two simulated disk errors, for which the statement and its values are not to blame.
    database.psql(
        "create sequence everytab.reads;
         alter function coordinator.load_index(integer, integer) rename to load_index_whole;
         create function coordinator.load_index(p_scan integer, p_file integer)
         returns table (path text, max_captures bigint)
         language plpgsql security definer set search_path = everytab, pg_temp as $$
         begin
             if nextval('reads') <= 2 then
                 raise exception 'could not read block 7' using errcode = '58030';
             end if;
             return query select * from coordinator.load_index_whole(p_scan, p_file);
         end $$",
    );
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    assert_eq!(database.status()["state"], "finished");
    let attempts = database.psql("select max(attempts) from everytab.jobs where kind = 'index'");
    assert_ne!(attempts.trim(), "0", "nothing failed");
    assert!(database.psql("select last_value from everytab.reads").trim() > "2");
}

/// Neither a wait for a locked table nor a slow load may count as a failed attempt, and `scan
/// status` must show both.
#[test]
fn a_load_that_postgres_ends_counts_no_attempt_and_is_shown() {
    let internet = internet(20, Mix::none());
    for (code, reason) in [("55P03", "lock timeout"), ("57014", "statement timeout")] {
        let dir = internet.folder.path().join(code);
        let database = Database::new(&internet, Stores::folders(&internet, &dir));
        database.start_scan(internet.crawl(), &[]);
        // Fails immediately, like a wait for a lock or a slow statement.
        database.psql(&format!(
            "alter function coordinator.load_warc(integer, integer) rename to load_warc_in_time;
             create function coordinator.load_warc(integer, integer)
             returns table (nothing integer) language plpgsql as $$ begin
                 raise exception 'canceling statement due to {reason}' using errcode = '{code}';
             end $$;
             grant execute on function coordinator.load_warc to everytab_worker_crawl"
        ));
        let running = Running::start(database.worker(&["--exit-when-done"]));
        let shown = wait_for("a job that is released", || {
            let shown = run(database.owner(&["scan", "status"])).expect_code(0).stdout;
            shown.contains("WAITING").then_some(shown)
        });
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = "waiting for the database: Postgres: canceling statement due to ";
        assert!(shown.contains(&format!("{named}{reason}")), "{shown}");
        let attempts = "select coalesce(max(attempts), 0) from everytab.jobs where kind = 'warc'";
        assert_eq!(database.psql(attempts).trim(), "0");
        database.psql(
            "drop function coordinator.load_warc;
             alter function coordinator.load_warc_in_time rename to load_warc",
        );
        running.finish().expect_code(0);
        let status = database.status();
        assert_eq!(status["state"], "finished", "{status}");
        for event in ["retry", "discard"] {
            assert!(status["events"][event].is_null(), "{}", status["events"]);
        }
    }
}
