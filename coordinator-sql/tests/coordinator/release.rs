//! Tests releasing a job: it is ready immediately, and this does not count as an attempt.

use everytab_coordinator::{JobKind, VerbResult};

use crate::setup::{Database, soon};

#[tokio::test]
async fn a_released_job_is_ready_immediately_and_no_attempt_is_counted() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    for round in 1..=7 {
        let lease = database.lease_one(JobKind::Warc).await;
        assert_eq!((lease.attempts, lease.crashes), (0, 0));
        assert_eq!(lease.fence.lease_number, round);
        let failure = database.worker.release(lease, "draining", soon()).await.unwrap();
        assert_eq!(failure, VerbResult::Released);
        database.assert_audited(scan).await;
    }
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished");
}

#[tokio::test]
async fn releasing_does_not_forget_earlier_failures_and_crashes() {
    let database = Database::new().await;
    database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    database.worker.retry(lease, "failed", soon()).await.unwrap();
    database.end_backoffs().await;
    let _crashed = database.lease_one(JobKind::Warc).await;
    database.expire_leases().await;
    let lease = database.lease_one(JobKind::Warc).await;
    database.worker.release(lease, "draining", soon()).await.unwrap();
    let lease = database.lease_one(JobKind::Warc).await;
    assert_eq!((lease.attempts, lease.crashes), (1, 1));
}
