//! Simulates the queue traffic of 200 workers in a six-hour scan with 30 million hosts, with
//! Postgres on one core and the workers on the other.
//!
//! Each simulated worker leases, loads, renews and completes jobs like a real worker, with outputs
//! of realistic size, but its jobs only wait.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use everytab_coordinator::{Completion, ConnectSettings, Coordinator, JobKind, LeaseCursors};
use serde_json::json;

use crate::{
    fleet_worker::{self, Pace},
    samples, say,
    server::{self, Server, digests, start_sharded},
    setting,
    timings::Timings,
};

/// Number of shards for 30 million hosts.
const SHARDS: u32 = 25_000;
const SCAN: Duration = Duration::from_secs(6 * 3_600);
const LEASE_MS: i32 = 300_000;

pub(crate) async fn run() {
    let measured = Duration::from_secs(setting("FLEET_SECONDS", 300));
    let workers: u32 = setting("FLEET_WORKERS", 200);
    let server = Server::start(&[
        ("log_min_duration_statement", "100"),
        ("log_autovacuum_min_duration", "0"),
        ("wal_compression", "lz4"),
    ]);
    say("calibration", &server.calibration());
    let owner = server.migrated("ours").await;
    let scan = start_sharded(&owner, SHARDS, LEASE_MS).await;
    let pace = Pace::of(workers, SHARDS, SCAN);
    complete_first_jobs(&server, &pace, workers).await;
    eprintln!("fleet: {workers} workers, {} s", measured.as_secs());
    server.sql("ours", "vacuum analyze");
    server.sql("postgres", "checkpoint");
    server.pin("0");
    server::pin(std::process::id(), "1");
    let timings = Arc::new(Timings::default());
    let stop = Arc::new(AtomicBool::new(false));
    let url: Arc<str> = server.url("ours", "everytab_worker").into();
    let fleet: Vec<_> = (0..workers)
        .map(|number| {
            let (url, timings, stop) = (Arc::clone(&url), Arc::clone(&timings), Arc::clone(&stop));
            tokio::spawn(fleet_worker::work(url, number, pace, timings, stop))
        })
        .collect();
    wait_until_all_lease(&server, &pace, workers).await;
    timings.reset();
    let log_begins = server.log().len();
    let before = (server.usage(), Counts::of(&server, scan));
    let client_before = server::own_processor_time();
    tokio::time::sleep(measured).await;
    let used = server.used_since(&before.0);
    let client = server::own_processor_time() - client_before;
    let after = Counts::of(&server, scan);
    slow_statements(&server.log()[log_begins..]);
    report(&server, &used, &timings, (&before.1, &after));
    eprintln!("clients used {:.2} of their core", client.as_secs_f64() / measured.as_secs_f64());
    stop.store(true, Ordering::Relaxed);
    for worker in fleet {
        worker.await.unwrap();
    }
    let drift = server.sql("ours", &format!("select * from coordinator.audit_run({scan})"));
    assert_eq!(drift, "", "counters and rows disagree");
    owner.close().await;
    server.end();
}

async fn complete_first_jobs(server: &Server, pace: &Pace, workers: u32) {
    let bundles = pace.leases(workers, JobKind::BundleShard) * 5 / 4 + 50;
    let icons = pace.leases(workers, JobKind::Icon) * 9 / 8 + 50;
    let url: Arc<str> = server.url("ours", "everytab_worker").into();
    for (kind, jobs) in [(JobKind::Warc, icons + bundles), (JobKind::Icon, bundles)] {
        eprintln!("fleet: {jobs} {kind} jobs to begin with");
        let clients = (0..4).map(|n| {
            let url = Arc::clone(&url);
            let share = jobs / 4 + 1;
            tokio::spawn(async move {
                let coordinator =
                    Coordinator::connect(&url, &ConnectSettings::default()).await.unwrap();
                let mut cursors = LeaseCursors::default();
                let worker_id = format!("beginning-{n}");
                for _ in 0..share {
                    let leased =
                        coordinator.lease(&worker_id, &[kind], 1, &digests(), &cursors).await;
                    let mut leases = leased.unwrap();
                    cursors.note(&leases);
                    let lease = leases.remove(0);
                    let output = samples::output(kind, lease.part);
                    let until = Instant::now() + Duration::from_secs(100);
                    let stats = samples::stats();
                    let done = coordinator.complete(lease, &output, &stats, until);
                    assert_eq!(done.await.unwrap(), Completion::Recorded);
                }
                coordinator.close().await;
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
    }
}

async fn wait_until_all_lease(server: &Server, pace: &Pace, workers: u32) {
    let wanted: u32 = Pace::KINDS.iter().map(|kind| pace.leases(workers, *kind)).sum();
    let sql = "select count(*) from everytab.jobs where state = 'leased'";
    let give_up = Instant::now() + Duration::from_secs(120);
    loop {
        let held = server.number("ours", sql);
        if held * 100 >= i64::from(wanted) * 95 || Instant::now() > give_up {
            eprintln!("fleet: {held} leases are held ({wanted} permits)");
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

struct Counts {
    completed: i64,
    icons: i64,
    pages: i64,
    icon_bytes: i64,
    page_bytes: i64,
    queue_bytes_a_job: i64,
    updates: i64,
    hot: i64,
}

impl Counts {
    fn of(server: &Server, scan: i32) -> Self {
        let one = |sql: &str| server.number("ours", sql);
        let size =
            |table: &str| one(&format!("select pg_total_relation_size('everytab.{table}_{scan}')"));
        let inserted = |table: &str| {
            one(&format!(
                "select n_tup_ins from pg_stat_user_tables where relname = '{table}_{scan}'"
            ))
        };
        let updates = "from pg_stat_user_tables where relname = 'jobs'";
        Self {
            completed: one("select count(*) from everytab.job_results"),
            icons: inserted("icons"),
            pages: inserted("pages"),
            icon_bytes: size("icons"),
            page_bytes: size("pages"),
            queue_bytes_a_job: one("select pg_total_relation_size('everytab.jobs') \
                                    / (select count(*) from everytab.jobs) \
                                    + pg_total_relation_size('everytab.job_results') \
                                    / (select count(*) from everytab.job_results)"),
            updates: one(&format!("select n_tup_upd {updates}")),
            hot: one(&format!("select n_tup_hot_upd {updates}")),
        }
    }
}

fn report(
    server: &Server,
    used: &server::Used,
    timings: &Timings,
    (before, after): (&Counts, &Counts),
) {
    let seconds = used.elapsed.as_secs_f64();
    let per_second = |amount: i64| (amount as f64 / seconds * 10.0).round() / 10.0;
    eprintln!(
        "{:<22}{:>9}{:>9}{:>10}{:>10}{:>10}",
        "verb", "calls", "/s", "p50 ms", "p99 ms", "max ms"
    );
    for (verb, figures) in timings.report(used.elapsed) {
        let text = |name: &str| figures[name].to_string();
        eprintln!(
            "{verb:<22}{:>9}{:>9}{:>10}{:>10}{:>10}",
            text("calls"),
            text("per_s"),
            text("p50_ms"),
            text("p99_ms"),
            text("max_ms")
        );
        say("verb", &json!({"verb": verb, "figures": figures}));
    }
    let (icons, pages) = (after.icons - before.icons, after.pages - before.pages);
    let rows = icons + pages;
    let one = |sql: &str| server.number("ours", sql);
    say(
        "fleet",
        &json!({
            "seconds": seconds, "server_cores": used.cores,
        "transactions_per_s": per_second(used.commits),
            "jobs_per_s": per_second(after.completed - before.completed),
            "rows_per_s": per_second(rows), "wal_bytes_per_s": per_second(used.wal_bytes).round(),
            "jobs_updates": after.updates - before.updates,
            "jobs_hot_updates": after.hot - before.hot,
            "jobs_table_bytes": one("select pg_table_size('everytab.jobs')"),
            "jobs_index_bytes": one("select pg_indexes_size('everytab.jobs')"),
            "jobs_dead_rows": one("select n_dead_tup from pg_stat_user_tables \
                                   where relname = 'jobs'"),
            "stages_table_bytes": one("select pg_table_size('everytab.stages')"),
            "autovacuums": one("select coalesce(sum(autovacuum_count), 0) \
                                from pg_stat_user_tables"),
        }),
    );
    let share = f64::from(SHARDS);
    let whole = |bytes: i64, rows: i64, each: i32| {
        (bytes as f64 / rows.max(1) as f64 * f64::from(each) * share / 1e9 * 10.0).round() / 10.0
    };
    say(
        "whole_scan",
        &json!({
            "page_rows": share * f64::from(samples::PAGES),
        "icon_rows": share * f64::from(samples::ICONS),
            "pages_gb": whole(after.page_bytes, after.pages, samples::PAGES),
            "icons_gb": whole(after.icon_bytes, after.icons, samples::ICONS),
            "queue_mb": (after.queue_bytes_a_job as f64 * 3.0 * share / 1e6).round(),
            "wal_gb": (used.wal_bytes as f64 / seconds * SCAN.as_secs_f64() / 1e9).round(),
        }),
    );
}

fn slow_statements(log: &str) {
    let slow: Vec<&str> = log.lines().filter(|line| line.contains("duration: ")).collect();
    let vacuums = log.lines().filter(|line| line.contains("automatic vacuum of")).count();
    let milliseconds = |line: &&str| {
        let (_, rest) = line.split_once("duration: ")?;
        rest.split(' ').next()?.parse::<f64>().ok()
    };
    let longest = slow.iter().filter_map(milliseconds).fold(0.0, f64::max);
    say(
        "server_log",
        &json!({"statements_over_100_ms": slow.len(), "longest_ms": longest,
                "automatic_vacuums": vacuums}),
    );
    for line in slow.iter().rev().take(5) {
        eprintln!("{}", line.chars().take(160).collect::<String>());
    }
}
