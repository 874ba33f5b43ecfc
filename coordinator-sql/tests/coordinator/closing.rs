//! The closing jobs: search after the last bundle-shard, publish after the last search job.

use everytab_coordinator::{Completion, Coordinator, JobKind, Lease, LeaseCursors, Progress};
use serde_json::json;

use crate::setup::{
    Database, LEASE_MS, WORKER_ID, complete_in, digests, no_counts, output_of, settings, soon,
    until_someone_waits,
};

/// Completes two jobs, the last of their stage, by two transactions of which the second waits.
async fn complete_both_at_once(database: &Database, leases: Vec<Lease>) {
    let [first, second] = <[Lease; 2]>::try_from(leases).unwrap();
    let (one, other) = (database.session().await, database.session().await);
    one.run("begin").await;
    assert_eq!(complete_in(&one, &first, no_counts()).await, "recorded");
    let waiting = tokio::spawn(async move { complete_in(&other, &second, no_counts()).await });
    until_someone_waits(database).await;
    one.run("commit").await;
    assert_eq!(waiting.await.unwrap(), "recorded");
}

#[tokio::test]
async fn two_last_bundle_shards_open_the_search_once() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    database.work_on(&[JobKind::Warc, JobKind::Icon]).await;
    complete_both_at_once(&database, database.lease(JobKind::BundleShard, 2).await).await;
    let search = "select outstanding from everytab.stages where run = $1 and kind = 'search'";
    assert_eq!(database.value::<i32>(search, scan).await, 28);
    assert_eq!(database.lease(JobKind::Search, 100).await.len(), 28);
    assert_eq!(database.worker.bundled_shards(scan).await.unwrap(), [0, 1]);
    database.assert_audited(scan).await;
}

#[tokio::test]
async fn two_last_search_jobs_open_one_publish_job() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    database.work_on(&[JobKind::Warc, JobKind::Icon, JobKind::BundleShard]).await;
    let mut search = database.lease(JobKind::Search, 28).await;
    let last = search.split_off(26);
    for lease in search {
        assert_eq!(database.complete(lease).await, Completion::Recorded);
    }
    assert!(database.lease(JobKind::Publish, 9).await.is_empty());
    complete_both_at_once(&database, last).await;
    let publish = database.lease(JobKind::Publish, 9).await;
    assert_eq!(publish.len(), 1);
    database.assert_audited(scan).await;
    for lease in publish {
        assert_eq!(database.complete(lease).await, Completion::Recorded);
    }
    assert_eq!(database.state_of_scan(scan).await, "finished");
    assert_eq!(database.worker.progress().await.unwrap(), Progress::Ended);
}

#[tokio::test]
async fn nothing_closes_while_one_shard_is_missing() {
    let database = Database::new().await;
    let scan = database.start_sharded(3).await;
    let held = database.lease_one(JobKind::Warc).await;
    database.work().await;
    assert!(database.lease(JobKind::Search, 1).await.is_empty());
    assert_eq!(database.state_of_scan(scan).await, "running");
    assert_eq!(database.complete(held).await, Completion::Recorded);
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished");
    database.assert_audited(scan).await;
}

/// A transaction-mode pooler gives each call whatever connection is free.
#[tokio::test]
async fn a_scan_works_when_every_call_has_a_connection_of_its_own() {
    let database = Database::new().await;
    let scan = database.start_with(2, LEASE_MS, json!({"entries_per_bundle": 1})).await;
    let url = database.worker_url.clone();
    let fresh = || async { Coordinator::connect(&url, &settings()).await.unwrap() };
    loop {
        let leases = fresh()
            .await
            .lease(WORKER_ID, &JobKind::ALL, 9, &digests(), &LeaseCursors::default())
            .await
            .unwrap();
        if leases.is_empty() {
            break;
        }
        for lease in leases {
            let fence = lease.fence;
            assert_eq!(fresh().await.load_scan(scan).await.unwrap().crawl, "CC-MAIN-2026-01");
            assert!(fresh().await.holds(WORKER_ID, fence).await.unwrap());
            let stats = json!({"inputs": {}, "outcomes": {}, "counts": {"hosts": 1}});
            let output = output_of(&lease);
            let done = fresh().await.complete(lease, &output, &stats, soon()).await.unwrap();
            assert_eq!(done, Completion::Recorded);
        }
    }
    assert_eq!(fresh().await.progress().await.unwrap(), Progress::Ended);
    assert_eq!(database.state_of_scan(scan).await, "finished");
}
