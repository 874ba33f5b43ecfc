//! Tests poison-item isolation, and deadlines, which limit a lease's total duration.

use std::time::Duration;

use everytab_coordinator::{JobKind, Lease};

use crate::setup::{Database, soon, with_token};

async fn die(database: &Database, item: Option<i64>) -> Lease {
    database.end_backoffs().await;
    let lease = database.lease_one(JobKind::Warc).await;
    if let Some(item) = item {
        assert!(database.worker.checkpoint_item(lease.fence, item, soon()).await.unwrap());
    }
    database.expire_leases().await;
    assert_eq!(database.worker.sweep(9).await.unwrap(), 1);
    lease
}

#[tokio::test]
async fn a_job_uses_isolation_from_its_third_crash_on() {
    let database = Database::new().await;
    database.start_sharded(1).await;
    for crashes in 0..5 {
        let lease = die(&database, None).await;
        assert_eq!((lease.crashes, lease.uses_isolation), (crashes, crashes >= 3));
    }
}

#[tokio::test]
async fn only_the_item_that_was_current_at_a_death_becomes_a_suspect() {
    let database = Database::new().await;
    database.start_sharded(1).await;
    for _ in 0..3 {
        let _ = die(&database, None).await;
    }
    for item in [7, 9, 7] {
        database.end_backoffs().await;
        let lease = database.lease_one(JobKind::Warc).await;
        for handled in [1, 2, item] {
            assert!(database.worker.checkpoint_item(lease.fence, handled, soon()).await.unwrap());
        }
        database.expire_leases().await;
        database.worker.sweep(9).await.unwrap();
    }
    database.end_backoffs().await;
    let lease = database.lease_one(JobKind::Warc).await;
    let suspects = database.worker.load_suspects(lease.fence.job_id).await.unwrap();
    assert_eq!(suspects, [(7, 2), (9, 1)]);
}

#[tokio::test]
async fn the_current_item_is_not_a_suspect_unless_the_worker_died() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    for end in ["release", "retry", "revoke", "complete"] {
        database.end_backoffs().await;
        let lease = database.lease_one(JobKind::Warc).await;
        let job_id = lease.fence.job_id;
        assert!(database.worker.checkpoint_item(lease.fence, 3, soon()).await.unwrap());
        match end {
            "release" => drop(database.worker.release(lease, "leaving", soon()).await.unwrap()),
            "retry" => drop(database.worker.retry(lease, "failed", soon()).await.unwrap()),
            "revoke" => drop(database.owner.revoke_leases(Some(scan), "by hand").await.unwrap()),
            _ => drop(database.complete(lease).await),
        }
        let sql = "select current_item is null from everytab.jobs where job_id = $1";
        assert!(database.value::<bool>(sql, job_id).await, "{end}");
        assert_eq!(database.worker.load_suspects(job_id).await.unwrap(), [], "{end}");
    }
}

#[tokio::test]
async fn a_worker_that_lost_its_lease_cannot_record_an_item() {
    let database = Database::new().await;
    database.start_sharded(1).await;
    let lost = die(&database, None).await;
    let current = database.lease_one(JobKind::Warc).await;
    let worker = &database.worker;
    assert!(worker.checkpoint_item(current.fence, 5, soon()).await.unwrap());
    let before = database.contents().await;
    for fence in [lost.fence, with_token(current.fence)] {
        assert!(!worker.checkpoint_item(fence, 6, soon()).await.unwrap());
    }
    assert_eq!(database.contents().await, before);
}

#[tokio::test]
async fn a_reopened_job_has_no_suspects() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    for item in [None, None, None, Some(7), Some(7)] {
        let _ = die(&database, item).await;
    }
    database.end_backoffs().await;
    let lease = database.lease_one(JobKind::Warc).await;
    let job_id = lease.fence.job_id;
    assert_eq!(database.worker.load_suspects(job_id).await.unwrap(), [(7, 2)]);
    database.worker.discard(lease, "enough", soon()).await.unwrap();
    assert_eq!(database.owner.retry_jobs(scan, None, Some(job_id), None).await.unwrap(), 1);
    assert_eq!(database.worker.load_suspects(job_id).await.unwrap(), []);
    let lease = database.lease_one(JobKind::Warc).await;
    assert!(!lease.uses_isolation);
}

#[tokio::test]
async fn renewals_cannot_extend_a_lease_past_its_deadline() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    assert!(database.owner.set_deadline(scan, Some(Duration::from_secs(30))).await.unwrap());
    let lease = database.lease_one(JobKind::Warc).await;
    assert!(database.holds(lease.fence).await);
    let sql = "select lease_until = leased_at + interval '30 s' from everytab.jobs
                where job_id = $1";
    assert!(
        database.value::<bool>(sql, lease.fence.job_id).await,
        "the lease must end at the deadline"
    );
    database.run("update everytab.jobs set leased_at = now() - interval '31 s'").await;
    assert!(!database.holds(lease.fence).await);
    database.expire_leases().await;
    assert_eq!(database.worker.sweep(9).await.unwrap(), 1);
    let history = database.owner.job_history(lease.fence.job_id).await.unwrap();
    let said = history.last().unwrap().message.clone().unwrap();
    assert_eq!(said, "the job reached its deadline");
    database.run("update everytab.jobs set crashes = 3").await;
    let lease = database.lease_one(JobKind::Warc).await;
    database.run("update everytab.jobs set leased_at = now() - interval '31 s'").await;
    assert!(database.holds(lease.fence).await);
}

#[tokio::test]
async fn a_low_rate_extends_the_deadline() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    database.run("update everytab.jobs set leased_at = now() - interval '61 min'").await;
    // At this rate a job takes minutes, so after an hour it must be hanging.
    assert!(database.owner.set_archive_rate(scan, Some(1_000)).await.unwrap());
    assert!(!database.holds(lease.fence).await);
    assert!(database.owner.set_archive_rate(scan, Some(2)).await.unwrap());
    assert!(database.holds(lease.fence).await);
    database.expire_leases().await;
    assert_eq!(database.worker.sweep(9).await.unwrap(), 1);
    let history = database.owner.job_history(lease.fence.job_id).await.unwrap();
    assert_eq!(history.last().unwrap().message.as_deref(), Some("the lease expired"));
    let lease = database.lease_one(JobKind::Warc).await;
    database.run("update everytab.jobs set leased_at = now() - interval '61 min'").await;
    assert!(database.holds(lease.fence).await);
    assert!(database.owner.set_deadline(scan, Some(Duration::from_secs(60))).await.unwrap());
    assert!(!database.holds(lease.fence).await);
    let hours = "select coordinator.time_at_rate('warc', 5000, 9) > interval '1 day'
                    and coordinator.time_at_rate('icon', 5000, 9) < interval '1 hour'
                    and coordinator.time_at_rate('icon', null, 9) is null
                    and coordinator.time_at_rate('publish', 1, 1) is null and $1 = 0";
    assert!(database.value::<bool>(hours, 0).await);
}

#[tokio::test]
async fn every_kind_has_a_deadline_far_beyond_its_lease() {
    let database = Database::new().await;
    let sql = "select min(coordinator.deadline(kind, 0, null, 5000, 1000)) >= interval '1 hour'
                      and count(*) = 9 and $1 = 0
                 from unnest(enum_range(null::everytab.job_kind)) kind";
    assert!(database.value::<bool>(sql, 0).await);
}
