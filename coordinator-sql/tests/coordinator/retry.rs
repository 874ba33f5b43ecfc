//! Tests failed jobs: each failure backs the job off, and the fifth discards it.

use everytab_coordinator::{JobKind, VerbResult};

use crate::setup::{Database, soon};

#[tokio::test]
async fn a_failed_job_waits_longer_each_time_and_is_discarded_at_the_fifth() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    for attempt in 0..4 {
        let lease = database.lease_one(JobKind::Warc).await;
        assert_eq!((lease.attempts, lease.crashes), (attempt, 0));
        let job_id = lease.fence.job_id;
        let failure = database.worker.retry(lease, "no route", soon()).await.unwrap();
        assert_eq!(failure, VerbResult::Retry);
        let sql = "select extract(epoch from j.not_before - e.at)::float8
                     from everytab.jobs j join everytab.job_events e using (job_id)
                    where job_id = $1 order by e.at desc limit 1";
        let waits: f64 = database.value(sql, job_id).await;
        // The maximum wait is a sixtieth of the lease duration, doubled with each failure.
        let most = 5.0 * f64::from(1 << attempt);
        assert!((0.0..=most + 1.0).contains(&waits), "{waits} s after attempt {attempt}");
        database.end_backoffs().await;
    }
    let lease = database.lease_one(JobKind::Warc).await;
    let job_id = lease.fence.job_id;
    let failure = database.worker.retry(lease, "no route", soon()).await.unwrap();
    assert_eq!(failure, VerbResult::Discarded);
    assert_eq!(database.state_of_job(job_id).await, "discarded");
    database.assert_audited(scan).await;
    let events = database.worker.job_history(job_id).await.unwrap();
    let events: Vec<&str> = events.iter().map(|event| event.event.as_str()).collect();
    assert_eq!(events, ["retry", "retry", "retry", "retry", "discard"]);
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished_with_discards");
}

#[tokio::test]
async fn a_job_is_not_leased_before_its_time() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    database.worker.retry(lease, "no route", soon()).await.unwrap();
    database
        .run("update everytab.jobs set not_before = now() + interval '1 h' where attempts = 1")
        .await;
    assert!(database.lease(JobKind::Warc, 9).await.is_empty());
    database.assert_audited(scan).await;
    database.end_backoffs().await;
    assert_eq!(database.lease(JobKind::Warc, 9).await.len(), 1);
}

#[tokio::test]
async fn a_long_error_with_a_zero_byte_is_truncated_and_cleaned() {
    let database = Database::new().await;
    database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    let job_id = lease.fence.job_id;
    let error = format!("before\0after {}", "\u{1f426}".repeat(5_000));
    assert_eq!(database.worker.retry(lease, &error, soon()).await.unwrap(), VerbResult::Retry);
    let history = database.worker.job_history(job_id).await.unwrap();
    let message = history[0].message.clone().unwrap();
    assert_eq!(message.chars().count(), 1_000);
    assert!(message.starts_with("before\u{fffd}after"));
}
