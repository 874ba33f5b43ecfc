//! Tests that a discarded job never blocks the rest of its scan.

use everytab_coordinator::{JobKind, VerbResult};

use crate::{
    session::query,
    setup::{Database, kinds_before, soon},
};

const STAGES: &str = "select kind::text, outstanding, done, discarded from everytab.stages s
                       where run = $1 order by s.kind";

async fn discard_one(database: &Database, kind: JobKind) {
    let lease = database.lease_one(kind).await;
    assert_eq!(database.worker.discard(lease, "bad", soon()).await.unwrap(), VerbResult::Discarded);
}

async fn stages(database: &Database, scan: i32) -> Vec<(i32, i32, i32)> {
    let rows: Vec<(String, i32, i32, i32)> = database.rows(STAGES, scan).await;
    rows.into_iter()
        .map(|(_, outstanding, done, discarded)| (outstanding, done, discarded))
        .collect()
}

#[tokio::test]
async fn a_discarded_warc_job_also_discards_its_icon_and_bundle_shard_jobs() {
    let database = Database::new().await;
    let scan = database.start_sharded(3).await;
    discard_one(&database, JobKind::Warc).await;
    assert_eq!(stages(&database, scan).await[1..4], [(2, 0, 1), (2, 0, 1), (2, 0, 1)]);
    database.assert_audited(scan).await;
    database.work().await;
    assert_eq!(stages(&database, scan).await[1..4], [(0, 2, 1), (0, 2, 1), (0, 2, 1)]);
    assert_eq!(database.state_of_scan(scan).await, "finished_with_discards");
    assert_eq!(database.worker.bundled_shards(scan).await.unwrap(), [1, 2]);
    database.assert_audited(scan).await;
}

#[tokio::test]
async fn a_discarded_icon_job_still_enqueues_its_bundle_shard_without_icons() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    database.work_on(&[JobKind::Warc]).await;
    discard_one(&database, JobKind::Icon).await;
    let lease = database.lease_one(JobKind::BundleShard).await;
    let hosts = database.worker.load_bundle_shard(scan, lease.part).await.unwrap();
    assert_eq!(hosts.len(), 1);
    assert!(hosts[0].archive_offsets.is_empty() && hosts[0].archive_lease_number.is_none());
    database.complete(lease).await;
    database.work().await;
    assert_eq!(stages(&database, scan).await[1..4], [(0, 2, 0), (0, 1, 1), (0, 2, 0)]);
    assert_eq!(database.state_of_scan(scan).await, "finished_with_discards");
}

#[tokio::test]
async fn a_shard_keeps_its_bundles_if_its_second_bundle_shard_job_is_discarded() {
    let database = Database::new().await;
    let scan = database.start_sharded(3).await;
    database.work_on(&kinds_before(JobKind::BundleShard)).await;
    discard_one(&database, JobKind::BundleShard).await;
    database.work().await;
    assert_eq!(database.worker.bundled_shards(scan).await.unwrap(), [1, 2]);
    assert_eq!(database.owner.retry_jobs(scan, None, None, Some("ok")).await.unwrap(), 3);
    database.work_on(&kinds_before(JobKind::BundleShard)).await;
    for _ in 0..3 {
        discard_one(&database, JobKind::BundleShard).await;
    }
    database.work().await;
    assert_eq!(database.worker.bundled_shards(scan).await.unwrap(), [1, 2]);
    assert_eq!(database.worker.most_tabs(scan).await.unwrap(), 1);
}

#[tokio::test]
async fn icons_of_a_discarded_icon_job_are_never_read() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    database.work_on(&[JobKind::Warc]).await;
    let lease = database.lease_one(JobKind::Icon).await;
    let sql = "select coordinator.record_icons($1, $2, $3, 1,
        '{\"(0,0,f,32,32,9,0,9,,ok,image/png,https://a.example/)\"}')";
    let held: bool = query(sql)
        .bind(lease.fence.job_id)
        .bind(lease.fence.lease_number)
        .bind(lease.fence.token)
        .value(&database.pool)
        .await;
    assert!(held);
    database.worker.discard(lease, "the store is full", soon()).await.unwrap();
    let hosts = database.worker.load_bundle_shard(scan, 0).await.unwrap();
    assert!(hosts[0].archive_offsets.is_empty());
    assert!(database.owner.referenced_archives(scan).await.unwrap().is_empty());
}

#[tokio::test]
async fn when_every_warc_job_is_discarded_the_scan_still_closes() {
    let database = Database::new().await;
    let scan = database.start_sharded(3).await;
    for _ in 0..3 {
        discard_one(&database, JobKind::Warc).await;
    }
    database.assert_audited(scan).await;
    database.work().await;
    assert_eq!(stages(&database, scan).await[4..], [(0, 29, 0), (0, 4, 0), (0, 1, 0)]);
    assert_eq!(database.state_of_scan(scan).await, "finished_with_discards");
}

#[tokio::test]
async fn whichever_kind_is_discarded_the_scan_ends_with_discards() {
    for kind in JobKind::OF_SCANS {
        let database = Database::new().await;
        let scan = database.start(2).await;
        database.work_on(&kinds_before(kind)).await;
        discard_one(&database, kind).await;
        database.assert_audited(scan).await;
        database.work().await;
        assert_eq!(database.state_of_scan(scan).await, "finished_with_discards", "{kind}");
        database.assert_audited(scan).await;
    }
}
