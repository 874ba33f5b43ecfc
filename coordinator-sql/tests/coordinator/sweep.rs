//! Tests expired leases: without an operator's help, the next worker that leases jobs gets them.

use everytab_coordinator::{JobKind, Progress};
use serde_json::json;

use crate::setup::{Database, soon};

#[tokio::test]
async fn the_next_worker_gets_a_job_with_an_expired_lease() {
    let database = Database::new().await;
    let scan = database.start_with(3, 10, json!({"entries_per_bundle": 1})).await;
    let first = database.lease(JobKind::Index, 3).await;
    assert_eq!(first.len(), 3);
    // Lease calls also sweep expired leases, which last only 10 ms here.
    let mut second = Vec::new();
    while second.len() < 3 {
        second.extend(database.lease(JobKind::Index, 3).await);
    }
    assert!(second.iter().all(|lease| lease.crashes >= 1 && lease.attempts == 0));
    let expired = "select count(*) from everytab.job_events where run = $1 and event = 'expired'";
    assert!(database.value::<i64>(expired, scan).await >= 3);
    assert_eq!(database.worker.progress(&JobKind::OF_SCANS).await.unwrap(), Progress::Running);
}

#[tokio::test]
async fn a_lease_that_has_time_left_is_not_swept() {
    let database = Database::new().await;
    database.start(3).await;
    let leases = database.lease(JobKind::Index, 3).await;
    assert_eq!(database.worker.sweep(100).await.unwrap(), 0);
    for lease in leases {
        assert!(database.holds(lease.fence).await);
    }
}

#[tokio::test]
async fn a_sweep_is_bounded() {
    let database = Database::new().await;
    database.start(10).await;
    assert_eq!(database.lease(JobKind::Index, 10).await.len(), 10);
    database.expire_leases().await;
    for swept in [4, 4, 2, 0] {
        assert_eq!(database.worker.sweep(4).await.unwrap(), swept);
    }
}

#[tokio::test]
async fn a_job_is_backed_off_from_its_third_crash_and_never_discarded() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    for crashes in 0..12 {
        let lease = database.lease_one(JobKind::Warc).await;
        assert_eq!((lease.crashes, lease.attempts), (crashes, 0));
        database.expire_leases().await;
        assert_eq!(database.worker.sweep(9).await.unwrap(), 1);
        let waits = "select not_before is not null from everytab.jobs where job_id = $1";
        let waits: bool = database.value(waits, lease.fence.job_id).await;
        assert_eq!(waits, crashes >= 2, "after crash {}", crashes + 1);
        let bound = "select coalesce(not_before <= now() + interval '601 s', true)
                       from everytab.jobs where job_id = $1";
        assert!(database.value::<bool>(bound, lease.fence.job_id).await);
        database.end_backoffs().await;
        database.assert_audited(scan).await;
    }
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished");
}

#[tokio::test]
async fn a_crash_does_not_count_as_an_attempt() {
    let database = Database::new().await;
    database.start_sharded(1).await;
    for _ in 0..6 {
        let _crashed = database.lease_one(JobKind::Warc).await;
        database.expire_leases().await;
        database.worker.sweep(9).await.unwrap();
        database.end_backoffs().await;
    }
    let lease = database.lease_one(JobKind::Warc).await;
    let failure = database.worker.retry(lease, "first failure", soon()).await.unwrap();
    assert_eq!(failure, everytab_coordinator::VerbResult::Retry);
}

#[tokio::test]
async fn two_sweeps_at_once_count_one_crash() {
    let database = Database::new().await;
    database.start(20).await;
    assert_eq!(database.lease(JobKind::Index, 20).await.len(), 20);
    database.expire_leases().await;
    let sweeps: Vec<_> = (0..4)
        .map(|_| {
            let worker = database.worker.clone();
            tokio::spawn(async move { worker.sweep(100).await.unwrap() })
        })
        .collect();
    let mut swept = 0;
    for sweep in sweeps {
        swept += sweep.await.unwrap();
    }
    assert_eq!(swept, 20);
    assert!(database.lease(JobKind::Index, 20).await.iter().all(|lease| lease.crashes == 1));
}
