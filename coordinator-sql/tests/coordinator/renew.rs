//! Tests renewals: one call renews all leases of a holder and returns the leases that it still
//! holds.

use everytab_coordinator::JobKind;

use crate::setup::{Database, WORKER_ID, soon};

const LEASE_LEFT: &str = "select extract(epoch from lease_until - now())::float8
                            from everytab.jobs where job_id = $1";

#[tokio::test]
async fn a_renewal_restores_the_full_lease_duration() {
    let database = Database::new().await;
    database.start(1).await;
    let lease = database.lease_one(JobKind::Index).await;
    database
        .run("update everytab.jobs set lease_until = now() + interval '1 s' where lease_number = 1")
        .await;
    let renewal = database.worker.renew(WORKER_ID, &[lease.fence]).await.unwrap();
    assert!(renewal.held.contains(&lease.fence.job_id));
    assert!(database.value::<f64>(LEASE_LEFT, lease.fence.job_id).await > 200.0);
}

#[tokio::test]
async fn a_renewal_returns_only_leases_that_are_still_held() {
    let database = Database::new().await;
    database.start(4).await;
    let leases = database.lease(JobKind::Index, 4).await;
    let fences: Vec<_> = leases.iter().map(|lease| lease.fence).collect();
    let mut leases = leases.into_iter();
    let (first, second) = (leases.next().unwrap(), leases.next().unwrap());
    database.complete(first).await;
    database.worker.release(second, "leaving", soon()).await.unwrap();
    let renewal = database.worker.renew(WORKER_ID, &fences).await.unwrap();
    let mut held: Vec<i64> = renewal.held.into_iter().collect();
    held.sort_unstable();
    assert_eq!(held, [fences[2].job_id, fences[3].job_id]);
}

#[tokio::test]
async fn a_renewal_returns_the_live_workers_and_the_rate() {
    let database = Database::new().await;
    let scan = database.start(3).await;
    database.owner.set_rate(scan, Some(90)).await.unwrap();
    database.owner.set_archive_rate(scan, Some(700)).await.unwrap();
    let lease = database.lease_one(JobKind::Index).await;
    for other in ["second", "third"] {
        assert_eq!(database.lease_as(other, &[JobKind::Index], 1).await.len(), 1);
    }
    let renewal = database.worker.renew(WORKER_ID, &[lease.fence]).await.unwrap();
    assert_eq!((renewal.live_workers, renewal.rate), (3, Some(90)));
    assert_eq!(renewal.archive_rate, Some(700));
    let nothing = database.worker.renew(WORKER_ID, &[]).await.unwrap();
    assert!(nothing.held.is_empty());
}

#[tokio::test]
async fn an_expired_lease_may_be_renewed_if_the_job_was_not_leased_again() {
    let database = Database::new().await;
    database.start(1).await;
    let lease = database.lease_one(JobKind::Index).await;
    database.run("update everytab.jobs set lease_until = now() where lease_number = 1").await;
    assert!(database.holds(lease.fence).await);
    assert_eq!(database.worker.sweep(9).await.unwrap(), 0, "the renewed lease must not be swept");
}

#[tokio::test]
async fn revoked_leases_are_lost_and_count_no_crash() {
    let database = Database::new().await;
    let scan = database.start(2).await;
    let lease = database.lease_one(JobKind::Index).await;
    assert_eq!(database.owner.revoke_leases(None, "a test").await.unwrap(), 1);
    assert!(!database.holds(lease.fence).await);
    let back = database.lease_part(JobKind::Index, lease.part).await;
    assert_eq!((back.crashes, back.attempts), (0, 0));
    assert!(back.fence.lease_number > lease.fence.lease_number);
    assert_eq!(database.complete(lease).await, everytab_coordinator::Completion::Lost);
    database.assert_audited(scan).await;
}
