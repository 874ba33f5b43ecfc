//! Tests that the index job that completes last opens the shards exactly once, with the hosts of
//! all index jobs.

use everytab_coordinator::{Completion, JobKind, Lease};
use serde_json::json;

use crate::{
    session::{Session, query},
    setup::{Database, complete_in, host, hosts_counted, spread, until_someone_waits},
};

async fn complete_index(session: &Session, lease: &Lease, n: u32) -> String {
    let host = host(spread(n, 2), n);
    let sql = "select coordinator.record_hosts($1, $2, $3, 1, array[
        ($4, $5, true, now(), 'crawl-data/CC-MAIN-2026-01/' || $5, 0, 1)::everytab.capture_row])";
    let held: bool = query(sql)
        .bind(lease.fence.job_id)
        .bind(lease.fence.lease_number)
        .bind(lease.fence.token)
        .bind((host.hash ^ (1 << 63)).cast_signed())
        .bind(host.hostname)
        .value(session)
        .await;
    assert!(held);
    complete_in(session, lease, hosts_counted(1)).await
}

/// The second transaction waits for the first, which then ends with `first_ends`.
async fn two_last_completers(database: &Database, first_ends: &'static str) -> i32 {
    let scan = database.start(2).await;
    let leases = database.lease(JobKind::Index, 2).await;
    let [first, second] = leases.try_into().unwrap();
    let (one, other) = (database.session().await, database.session().await);
    one.run("begin").await;
    // With the same WARC file, the second transaction would wait when it records the name, and not
    // when it completes the job.
    assert_eq!(complete_index(&one, &first, 0).await, "recorded");
    let waiting = tokio::spawn(async move {
        other.run("begin").await;
        let word = complete_index(&other, &second, 1).await;
        other.run("commit").await;
        word
    });
    until_someone_waits(database).await;
    one.run(first_ends).await;
    assert_eq!(waiting.await.unwrap(), "recorded");
    if first_ends == "rollback" {
        let index = "select outstanding from everytab.stages where run = $1 and kind = 'index'";
        assert_eq!(database.value::<i32>(index, scan).await, 1);
        assert!(
            database.lease(JobKind::Warc, 9).await.is_empty(),
            "the shards were opened too early"
        );
        assert_eq!(complete_index(&one, &first, 0).await, "recorded");
    }
    scan
}

async fn assert_two_shards(database: &Database, scan: i32) {
    let sql = "select kind::text, count(*) from everytab.jobs where run = $1 group by 1 order by 1";
    let jobs: Vec<(String, i64)> = database.rows(sql, scan).await;
    assert_eq!(jobs, [("index".into(), 2), ("warc".into(), 2)]);
    let sql = "select outstanding from everytab.stages where run = $1 order by kind";
    let outstanding: Vec<(i32,)> = database.rows(sql, scan).await;
    assert_eq!(outstanding, [(0,), (2,), (2,), (2,), (0,), (0,), (0,)]);
    let mut hostnames = Vec::new();
    for shard in 0..2 {
        let hosts = database.worker.load_warc(scan, shard).await.unwrap();
        hostnames.extend(hosts.into_iter().map(|host| host.hostname));
    }
    assert_eq!(hostnames, ["host-0.example", "host-1.example"]);
    database.assert_audited(scan).await;
}

#[tokio::test]
async fn two_last_index_jobs_fan_out_once_and_see_both_files() {
    let database = Database::new().await;
    let scan = two_last_completers(&database, "commit").await;
    assert_two_shards(&database, scan).await;
}

#[tokio::test]
async fn a_last_index_job_that_rolls_back_fans_out_when_it_runs_again() {
    let database = Database::new().await;
    let scan = two_last_completers(&database, "rollback").await;
    assert_two_shards(&database, scan).await;
}

#[tokio::test]
async fn a_scan_without_hosts_goes_directly_to_its_closing_jobs() {
    let database = Database::new().await;
    let scan = database.start(2).await;
    for lease in database.lease(JobKind::Index, 2).await {
        assert_eq!(database.complete_hosts(lease, vec![]).await, Completion::Recorded);
    }
    database.assert_audited(scan).await;
    assert_eq!(database.lease(JobKind::Search, 100).await.len(), 29);
    database.expire_leases().await;
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished");
}

#[tokio::test]
async fn shards_hold_at_most_1200_hosts_and_small_scans_one_bundle_each() {
    let database = Database::new().await;
    for (hosts, shards, bundles) in [
        (1, 1, 1),
        (119, 1, 1),
        (120, 1, 1),
        (121, 2, 1),
        (1_920, 16, 1),
        (30_720, 256, 1),
        (250_000, 256, 8),
        (40_000_000, 33_334, 10),
    ] {
        let scan = database.start_with(1, 300_000, json!({"entries_per_bundle": 120})).await;
        let lease = database.lease_one(JobKind::Index).await;
        let stats = json!({"inputs": {}, "outcomes": {}, "counts": {"hosts": hosts}});
        let output = everytab_coordinator::Output::Nothing;
        let soon = crate::setup::soon();
        database.worker.complete(lease, &output, &stats, soon).await.unwrap();
        let info = database.worker.load_scan(scan).await.unwrap();
        assert_eq!((info.shards, info.bundles_per_shard), (Some(shards), Some(bundles)), "{hosts}");
        assert!(database.owner.cancel_run(scan).await.unwrap());
    }
}
