//! Tests the closing jobs: search jobs follow the last bundle-shard job, and the publish job
//! follows the last search and map jobs.

use everytab_coordinator::{Completion, Coordinator, JobKind, Lease, LeaseCursors, Progress};
use serde_json::json;

use crate::setup::{
    Database, LEASE_MS, WORKER_ID, complete_in, digests, no_counts, output_of, settings, soon,
    until_someone_waits,
};

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
    assert_eq!(database.value::<i32>(search, scan).await, 29);
    assert_eq!(database.lease(JobKind::Search, 100).await.len(), 29);
    assert_eq!(database.lease(JobKind::Map, 100).await.len(), 4);
    assert_eq!(database.worker.bundled_shards(scan).await.unwrap(), [0, 1]);
    database.assert_audited(scan).await;
}

#[tokio::test]
async fn two_last_search_jobs_open_one_publish_job() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    database.work_on(&[JobKind::Warc, JobKind::Icon, JobKind::BundleShard, JobKind::Map]).await;
    let mut search = database.lease(JobKind::Search, 29).await;
    let last = search.split_off(27);
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
    assert_eq!(database.worker.progress(&JobKind::OF_SCANS).await.unwrap(), Progress::Ended);
}

/// Without a lock on the run, neither transaction would see that the other stage has ended.
#[tokio::test]
async fn the_last_search_job_and_the_last_map_job_open_one_publish_job() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    database.work_on(&[JobKind::Warc, JobKind::Icon, JobKind::BundleShard]).await;
    let mut search = database.lease(JobKind::Search, 29).await;
    let mut last = search.split_off(28);
    let mut map = database.lease(JobKind::Map, 9).await;
    last.extend(map.pop());
    for lease in search.into_iter().chain(map) {
        assert_eq!(database.complete(lease).await, Completion::Recorded);
    }
    complete_both_at_once(&database, last).await;
    assert_eq!(database.lease(JobKind::Publish, 9).await.len(), 1);
    database.assert_audited(scan).await;
}

#[tokio::test]
async fn search_and_map_reopen_separately_but_together_after_a_bundle_shard() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    database.work().await;
    let reopen = "select coordinator.reopen($1::integer, array(select job_id from everytab.jobs
                   where kind = any ($$) and part = 0), 'test')";
    let ended = "select array_agg(lease_number order by kind, part) from everytab.jobs
                  where run = $1 and kind in ('search', 'map')";
    for (kind, reopen) in [
        (JobKind::Map, reopen.replace("any ($$)", "'map'")),
        (JobKind::Search, reopen.replace("any ($$)", "'search'")),
    ] {
        let before: Vec<i32> = database.value(ended, scan).await;
        let reopen: &'static str = reopen.leak();
        assert_eq!(database.value::<i32>(reopen, scan).await, 1);
        assert!(database.lease(JobKind::Publish, 9).await.is_empty());
        database.assert_audited(scan).await;
        database.work_on(&[kind, JobKind::Publish]).await;
        assert_eq!(database.state_of_scan(scan).await, "finished", "{kind}");
        let after: Vec<i32> = database.value(ended, scan).await;
        let again = before.iter().zip(&after).filter(|(before, after)| before != after).count();
        assert_eq!(again, 1, "{kind}: only this job must run again");
    }
    let reopen: &'static str = reopen.replace("any ($$)", "'bundle-shard'").leak();
    assert_eq!(database.value::<i32>(reopen, scan).await, 1);
    database.work_on(&[JobKind::BundleShard, JobKind::Search]).await;
    assert!(database.lease(JobKind::Publish, 9).await.is_empty());
    assert_eq!(database.lease(JobKind::Map, 9).await.len(), 4);
    database.expire_leases().await;
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished");
    database.assert_audited(scan).await;
}

/// A region has 48 x 48 bundles, and there are three orders. `bundler` must compute the same
/// numbers.
#[tokio::test]
async fn a_scan_has_as_many_map_jobs_as_its_map_has_regions_and_orders() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    let sized = "update everytab.scans set shards = $2, bundles_per_shard = $3 where scan = $1";
    let session = database.session().await;
    for (shards, bundles, jobs) in
        [(1, 1, 4), (2_304, 1, 4), (461, 5, 7), (25_000, 10, 124), (0, 1, 0)]
    {
        let sized = sized.replace("$2", &shards.to_string()).replace("$3", &bundles.to_string());
        session.run(&sized.replace("$1", &scan.to_string())).await;
        let counted = database.value::<i32>("select coordinator.map_jobs($1::integer)", scan).await;
        assert_eq!(counted, jobs, "{shards} x {bundles}");
    }
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

/// A pooler in transaction mode may run each call on a different connection.
#[tokio::test]
async fn a_scan_works_with_a_new_connection_for_every_call() {
    let database = Database::new().await;
    let scan = database.start_with(2, LEASE_MS, json!({"entries_per_bundle": 1})).await;
    let url = database.worker_url.clone();
    let fresh = || async { Coordinator::connect(&url, &settings()).await.unwrap() };
    loop {
        let leases = fresh()
            .await
            .lease(WORKER_ID, &JobKind::OF_SCANS, 9, &digests(), &LeaseCursors::default())
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
    assert_eq!(fresh().await.progress(&JobKind::OF_SCANS).await.unwrap(), Progress::Ended);
    assert_eq!(database.state_of_scan(scan).await, "finished");
}
