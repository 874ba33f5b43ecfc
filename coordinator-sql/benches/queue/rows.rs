//! Measures how many rows per second completions record, with eight clients and icon jobs that have
//! 3,000 rows each.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::{
    Completion, ConnectSettings, Coordinator, JobKind, LeaseCursors, Output,
};
use serde_json::json;

use crate::{
    samples, say,
    server::{Server, digests, start_sharded},
    setting,
};

const ROWS: i32 = 3_000;

pub(crate) async fn run() {
    let clients: u32 = setting("CLIENTS", 8);
    let jobs: u32 = setting("ROW_JOBS", 400);
    let server = Server::start(&[]);
    say("calibration", &server.calibration());
    let owner = server.migrated("ours").await;
    let scan = start_sharded(&owner, jobs, 300_000).await;
    // In a scan, icon jobs follow warc jobs. Here the stage is opened directly.
    server.sql("ours", &format!("select coordinator.open_stage({scan}, 'icon', {jobs})"));
    server.sql("postgres", "checkpoint");
    let url: Arc<str> = server.url("ours", "everytab_worker").into();
    let before = server.usage();
    let started = Instant::now();
    let clients: Vec<_> =
        (0..clients).map(|client| tokio::spawn(record(Arc::clone(&url), client))).collect();
    let mut longest = Duration::ZERO;
    for client in clients {
        longest = longest.max(client.await.unwrap());
    }
    let elapsed = started.elapsed();
    let used = server.used_since(&before);
    let rows = server.number("ours", "select count(*) from everytab.icons");
    assert_eq!(rows, i64::from(jobs) * i64::from(ROWS));
    let size = format!("select pg_total_relation_size('everytab.icons_{scan}')");
    let size = server.number("ours", &size);
    say(
        "rows",
        &json!({"rows": rows, "rows_per_s": (rows as f64 / elapsed.as_secs_f64()).round(),
                "jobs_per_s": f64::from(jobs) / elapsed.as_secs_f64(),
                "server_cores": used.cores, "longest_completion_ms": longest.as_millis(),
                "bytes_per_row": size / rows, "wal_bytes_per_row": used.wal_bytes / rows}),
    );
    owner.close().await;
    say("calibration", &server.calibration());
    server.end();
}

async fn record(url: Arc<str>, client: u32) -> Duration {
    let coordinator = Coordinator::connect(&url, &ConnectSettings::default()).await.unwrap();
    let worker_id = format!("client-{client}");
    let mut longest = Duration::ZERO;
    let icons: Vec<_> = (0..ROWS).map(|n| samples::icon(7, n)).collect();
    let output = Output::Icons(icons);
    let stats = samples::stats();
    let mut cursors = LeaseCursors::default();
    loop {
        let kinds = &[JobKind::Icon];
        let leased = coordinator.lease(&worker_id, kinds, 1, &digests(), &cursors).await;
        let mut leases = leased.unwrap();
        cursors.note(&leases);
        let Some(lease) = leases.pop() else { break };
        let begun = Instant::now();
        let until = begun + Duration::from_secs(60);
        let completion = coordinator.complete(lease, &output, &stats, until).await.unwrap();
        assert_eq!(completion, Completion::Recorded);
        longest = longest.max(begun.elapsed());
    }
    coordinator.close().await;
    longest
}
