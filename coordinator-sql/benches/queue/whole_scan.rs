//! Measures transactions that affect a whole scan with 30 million hosts, because other transactions
//! may wait for their locks this long.

use std::time::Instant;

use everytab_coordinator::{Coordinator, JobKind, LeaseCursors, NewScan, Output};
use serde_json::json;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::{
    batch, samples, say,
    server::{Server, digests},
    setting,
};

const FILES: usize = 300;

pub(crate) async fn run() {
    let shards: u32 = setting("SHARDS", 25_000);
    let server = Server::start(&[]);
    say("calibration", &server.calibration());
    let owner = server.migrated("ours").await;
    let files = (0..FILES).map(|file| (format!("file-{file}.parquet"), None)).collect();
    let scan = NewScan {
        scan_id: Uuid::new_v4(),
        crawl: "CC-MAIN-2026-01".into(),
        settings: json!({"entries_per_bundle": 120}),
        lease_ms: 300_000,
        archive_rate: None,
        digests: digests(),
        files,
    };
    let begun = Instant::now();
    let number = owner.start_scan(&scan).await.unwrap();
    report("scan start, 300 index files", begun);
    let hosts = u64::from(shards) * 1_200 / FILES as u64;
    let session = server.session("ours").await;
    complete_all(&owner, &session, JobKind::Index, FILES - 1, hosts).await;
    let last =
        owner.lease("bench", &[JobKind::Index], 1, &digests(), &LeaseCursors::default()).await;
    let begun = Instant::now();
    let stats = samples::least_stats(hosts);
    let lease = last.unwrap().remove(0);
    owner.complete(lease, &Output::Nothing, &stats, deadline()).await.unwrap();
    report(&format!("the last index job's completion: fan-out into {shards} shards"), begun);
    for kind in [JobKind::Warc, JobKind::Icon, JobKind::BundleShard] {
        complete_all(&owner, &session, kind, shards as usize, 0).await;
    }
    server.sql(
        "ours",
        &format!(
            "insert into everytab.icons (scan, shard, lease_number, host_no, candidate_no, touch,
                                     outcome, url)
         select run, part, lease_number, 0, 0, false, 'timeout', 'https://a.example'
           from everytab.jobs where run = {number} and kind = 'icon';
         analyze"
        ),
    );
    let begun = Instant::now();
    let reopened = owner.retry_jobs(number, None, None, Some("timeout")).await.unwrap();
    assert_eq!(reopened.unsigned_abs(), shards);
    report("scan retry --outcome: every icon job again, in many transactions", begun);
    for (what, sql) in [
        ("scan status", format!("select coordinator.scan_status({number})")),
        ("audit", format!("select * from coordinator.audit_run({number})")),
        ("revoking leases", format!("select coordinator.revoke_leases({number}, 'bench')")),
        ("scan cancel", format!("select coordinator.cancel_run({number})")),
    ] {
        let begun = Instant::now();
        server.sql("ours", &sql);
        report(what, begun);
    }
    let drift = server.sql("ours", &format!("select * from coordinator.audit_run({number})"));
    assert_eq!(drift, "", "counters and rows disagree");
    owner.close().await;
    say("calibration", &server.calibration());
    server.end();
}

fn report(what: &str, begun: Instant) {
    say("transaction", &json!({"name": what, "ms": begun.elapsed().as_millis()}));
}

async fn complete_all(
    owner: &Coordinator,
    session: &Client,
    kind: JobKind,
    jobs: usize,
    hosts: u64,
) {
    let mut cursors = LeaseCursors::default();
    let mut left = jobs;
    while left > 0 {
        let wanted = u32::try_from(left.min(500)).unwrap();
        let leases = owner.lease("bench", &[kind], wanted, &digests(), &cursors).await.unwrap();
        assert!(!leases.is_empty(), "{left} {kind} jobs are missing");
        cursors.note(&leases);
        left -= leases.len();
        batch::complete(session, leases, &samples::least_stats(hosts)).await;
    }
}

fn deadline() -> Instant {
    Instant::now() + std::time::Duration::from_secs(60)
}
