//! Tests leasing: a job has at most one lease, jobs of later stages are leased first, and a worker
//! never leases paused jobs or jobs for other workers.

use everytab_coordinator::{Digests, JobKind, LeaseCursors, WithheldRun};

use crate::{
    session::query,
    setup::{Database, LEASE_MS, WORKER_ID, digests, soon, sqlstate},
};

const ALL: &[JobKind] = &JobKind::ALL;

#[tokio::test]
async fn two_workers_that_lease_at_once_share_no_job() {
    let database = Database::new().await;
    database.start(5).await;
    let session = database.session().await;
    session.run("begin").await;
    let sql = "select job_id from coordinator.lease('one', '{index}', 3, '{}', '{0}')";
    let first: Vec<i64> = query(sql).column(&session).await;
    let second = database.lease(JobKind::Index, 5).await;
    session.run("commit").await;
    assert_eq!((first.len(), second.len()), (3, 2));
    assert!(second.iter().all(|lease| !first.contains(&lease.fence.job_id)));
    assert!(database.lease(JobKind::Index, 5).await.is_empty());
}

#[tokio::test]
async fn jobs_of_a_lease_that_rolled_back_are_ready_again() {
    let database = Database::new().await;
    database.start(3).await;
    let session = database.session().await;
    session.run("begin").await;
    let sql = "select job_id from coordinator.lease('one', '{index}', 3, '{}', '{0}')";
    let first: Vec<i64> = query(sql).column(&session).await;
    assert_eq!(first.len(), 3);
    session.run("rollback").await;
    assert_eq!(database.lease(JobKind::Index, 5).await.len(), 3);
}

#[tokio::test]
async fn many_workers_at_once_get_every_job_exactly_once() {
    let database = Database::new().await;
    database.start(200).await;
    let mut workers = Vec::new();
    for worker in 0..8 {
        let coordinator = database.worker.clone();
        workers.push(tokio::spawn(async move {
            let worker_id = format!("worker-{worker}");
            let mut parts = Vec::new();
            loop {
                let leases = coordinator
                    .lease(&worker_id, ALL, 3, &digests(), &LeaseCursors::default())
                    .await
                    .unwrap();
                if leases.is_empty() {
                    return parts;
                }
                assert!(leases.len() <= 3);
                parts.extend(leases.iter().map(|lease| lease.part));
            }
        }));
    }
    let mut parts = Vec::new();
    for worker in workers {
        parts.extend(worker.await.unwrap());
    }
    parts.extend(database.lease(JobKind::Index, 200).await.iter().map(|lease| lease.part));
    parts.sort_unstable();
    assert_eq!(parts, (0..200).collect::<Vec<_>>());
}

#[tokio::test]
async fn jobs_of_later_stages_are_leased_first() {
    let database = Database::new().await;
    database.start_sharded(4).await;
    for _ in 0..2 {
        let lease = database.lease_one(JobKind::Warc).await;
        database.complete(lease).await;
    }
    let lease = database.lease_one(JobKind::Icon).await;
    database.complete(lease).await;
    let leases = database.lease_any(9).await;
    let kinds: Vec<&str> = leases.iter().map(|lease| lease.kind.as_str()).collect();
    assert_eq!(kinds, ["bundle-shard", "icon", "warc", "warc"]);
    assert_eq!(leases[2].part, 2, "jobs of one stage are leased in order");
}

#[tokio::test]
async fn a_lease_describes_its_job() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    database.owner.set_rate(scan, Some(250)).await.unwrap();
    database.owner.set_archive_rate(scan, Some(800)).await.unwrap();
    let lease = database.lease_one(JobKind::Index).await;
    assert_eq!((lease.run, lease.part, lease.attempts, lease.crashes), (scan, 0, 0, 0));
    assert_eq!(lease.length.as_millis(), LEASE_MS.unsigned_abs().into());
    assert_eq!((lease.fence.lease_number, lease.rate), (1, Some(250)));
    assert_eq!(lease.archive_rate, Some(800));
    let other = database.lease_any(9).await;
    assert!(other.is_empty(), "the only index job is already leased");
}

#[tokio::test]
async fn only_the_requested_kinds_are_leased() {
    let database = Database::new().await;
    database.start_sharded(2).await;
    let others: Vec<JobKind> = JobKind::ALL.into_iter().filter(|k| *k != JobKind::Warc).collect();
    assert!(database.lease_as(WORKER_ID, &others, 9).await.is_empty());
    assert!(database.lease_as(WORKER_ID, &[], 9).await.is_empty());
    assert!(database.lease_any(0).await.is_empty());
    assert_eq!(database.lease(JobKind::Warc, 9).await.len(), 2);
}

#[tokio::test]
async fn jobs_of_a_paused_scan_are_not_leased_until_it_is_resumed() {
    let database = Database::new().await;
    let paused = database.start(1).await;
    let other = database.start(1).await;
    assert!(database.owner.pause_run(paused, None, true).await.unwrap());
    assert!(!database.owner.pause_run(paused, None, true).await.unwrap(), "already");
    let leases = database.lease(JobKind::Index, 9).await;
    assert_eq!(leases.iter().map(|lease| lease.run).collect::<Vec<_>>(), [other]);
    assert!(database.owner.pause_run(paused, None, false).await.unwrap());
    let leases = database.lease(JobKind::Index, 9).await;
    assert_eq!(leases.iter().map(|lease| lease.run).collect::<Vec<_>>(), [paused]);
}

#[tokio::test]
async fn only_the_paused_stage_of_a_scan_is_skipped() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    let lease = database.lease_one(JobKind::Warc).await;
    database.complete(lease).await;
    assert!(database.owner.pause_run(scan, Some(JobKind::Icon), true).await.unwrap());
    let leases = database.lease_any(9).await;
    assert_eq!(leases.iter().map(|lease| lease.kind).collect::<Vec<_>>(), [JobKind::Warc]);
    assert!(database.owner.pause_run(scan, Some(JobKind::Icon), false).await.unwrap());
    assert_eq!(database.lease(JobKind::Icon, 9).await.len(), 1);
}

#[tokio::test]
async fn a_running_job_may_complete_while_its_scan_is_paused() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    database.owner.pause_run(scan, None, true).await.unwrap();
    assert!(database.holds(lease.fence).await);
    assert_eq!(database.complete(lease).await, everytab_coordinator::Completion::Recorded);
    assert!(database.lease(JobKind::Icon, 9).await.is_empty());
    database.owner.pause_run(scan, None, false).await.unwrap();
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished");
}

#[tokio::test]
async fn a_worker_with_another_encoder_leases_no_bundle_shard_job_and_can_say_why() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    database.work_on(&[JobKind::Warc]).await;
    let icon = database.lease_one(JobKind::Icon).await;
    database.complete(icon).await;
    let other = Digests { encoder: "another encoder".into() };
    let cursors = LeaseCursors::default();
    let leases = database.worker.lease(WORKER_ID, ALL, 9, &other, &cursors).await.unwrap();
    assert_eq!(leases.iter().map(|lease| lease.kind).collect::<Vec<_>>(), [JobKind::Icon]);
    let withheld = WithheldRun {
        scan_id: database.worker.load_scan(scan).await.unwrap().scan_id,
        digest: "encoder".into(),
        wanted: digests().encoder,
        offered: Some(other.encoder.clone()),
        kinds: vec!["bundle-shard".into()],
    };
    assert_eq!(database.worker.withheld_runs(&other).await.unwrap(), [withheld]);
    assert_eq!(database.worker.withheld_runs(&digests()).await.unwrap(), []);
    assert_eq!(database.lease(JobKind::BundleShard, 9).await.len(), 1);
    database.owner.cancel_run(scan).await.unwrap();
    assert_eq!(database.worker.withheld_runs(&other).await.unwrap(), [], "the run has ended");
}

/// A newer version may start a run with a digest that this worker does not know.
#[tokio::test]
async fn a_digest_that_a_worker_does_not_know_withholds_every_kind() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    let set = "update everytab.runs set digests = digests || '{\"fonts\": \"f1\"}'";
    database.run(set).await;
    assert!(database.lease_any(9).await.is_empty());
    let withheld = database.worker.withheld_runs(&digests()).await.unwrap();
    assert_eq!(withheld.len(), 1);
    assert_eq!((withheld[0].digest.as_str(), withheld[0].offered.as_deref()), ("fonts", None));
    assert_eq!(withheld[0].kinds.len(), JobKind::ALL.len());
    let sql = "select count(*) from coordinator.lease('newer', '{index}', 9,
        '{\"encoder\": \"encoder\", \"fonts\": \"f1\", \"more\": \"m\"}', '{0}')
        where run = $1";
    assert_eq!(database.value::<i64>(sql, scan).await, 1);
}

#[tokio::test]
async fn a_cursor_skips_lower_jobs_but_a_call_without_it_finds_them() {
    let database = Database::new().await;
    database.start(4).await;
    let leases = database.lease(JobKind::Index, 2).await;
    let mut cursors = LeaseCursors::default();
    cursors.note(&leases[1..]);
    for lease in leases {
        database.worker.release(lease, "back", soon()).await.unwrap();
    }
    let kinds = &[JobKind::Index];
    let leases = database.worker.lease(WORKER_ID, kinds, 9, &digests(), &cursors).await.unwrap();
    assert_eq!(leases.iter().map(|lease| lease.part).collect::<Vec<_>>(), [1, 2, 3]);
    let leases = database.lease_as(WORKER_ID, kinds, 9).await;
    assert_eq!(leases.iter().map(|lease| lease.part).collect::<Vec<_>>(), [0]);
}

#[tokio::test]
async fn a_worker_id_that_is_too_long_is_rejected() {
    let database = Database::new().await;
    database.start(1).await;
    let name = "h".repeat(41);
    let result = database
        .worker
        .lease(&name, &[JobKind::Index], 1, &digests(), &LeaseCursors::default())
        .await;
    assert_eq!(sqlstate(result), "23514");
}

#[tokio::test]
async fn a_cancelled_scan_ends_all_its_leases_and_jobs() {
    let database = Database::new().await;
    let scan = database.start(2).await;
    let lease = database.lease_one(JobKind::Index).await;
    assert!(database.owner.cancel_run(scan).await.unwrap());
    assert!(!database.owner.cancel_run(scan).await.unwrap(), "already");
    assert!(!database.holds(lease.fence).await);
    let before = database.contents().await;
    assert_eq!(database.complete(lease).await, everytab_coordinator::Completion::Lost);
    assert!(database.lease_any(9).await.is_empty());
    assert_eq!(database.owner.retry_jobs(scan, None, None, None).await.unwrap(), 0);
    assert_eq!(database.contents().await, before);
    assert_eq!(database.state_of_scan(scan).await, "cancelled");
    database.assert_audited(scan).await;
}

#[tokio::test]
async fn the_kinds_of_the_client_are_those_of_postgres_in_the_same_order() {
    let database = Database::new().await;
    let sql = "select string_agg(kind::text, ' ' order by kind)
                 from unnest(enum_range(null::everytab.job_kind)) kind where $1 = 0";
    let kinds = JobKind::ALL.map(JobKind::as_str).join(" ");
    assert_eq!(database.value::<String>(sql, 0).await, kinds);
}
