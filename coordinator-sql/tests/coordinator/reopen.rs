//! Tests `scan retry`: discarded jobs run again, together with all jobs that depend on them, and
//! then the closing jobs run again.

use everytab_coordinator::{Completion, JobKind, Lease, VerbResult};
use uuid::Uuid;

use crate::setup::{Database, again, complete_in, host, kinds_before, no_counts, soon, spread};

impl Database {
    async fn discard(&self, lease: Lease) {
        let failure = self.worker.discard(lease, "bad", soon()).await.unwrap();
        assert_eq!(failure, VerbResult::Discarded);
    }

    async fn retry_all(&self, scan: i32) -> i32 {
        let reopened = self.owner.retry_jobs(scan, None, None, None).await.unwrap();
        self.assert_audited(scan).await;
        reopened
    }

    async fn assert_closes_again(&self, scan: i32) {
        let published = "select count(*) from everytab.job_results
                          where run = $1 and kind = 'publish'";
        let before: i64 = self.value(published, scan).await;
        assert_eq!(self.state_of_scan(scan).await, "running");
        self.work().await;
        self.assert_audited(scan).await;
        assert_eq!(self.state_of_scan(scan).await, "finished");
        assert_eq!(self.value::<i64>(published, scan).await, before + 1);
        let discarded = "select sum(discarded) from everytab.stages where run = $1";
        assert_eq!(self.value::<i64>(discarded, scan).await, 0);
    }
}

#[tokio::test]
async fn whichever_kind_was_discarded_runs_again_after_the_end() {
    for kind in JobKind::OF_SCANS {
        let database = Database::new().await;
        let scan = database.start(2).await;
        database.work_on(&kinds_before(kind)).await;
        let lease = database.lease_one(kind).await;
        database.discard(lease).await;
        database.work().await;
        assert_eq!(database.state_of_scan(scan).await, "finished_with_discards", "{kind}");
        assert_eq!(database.retry_all(scan).await, 1, "{kind}");
        database.assert_closes_again(scan).await;
    }
}

#[tokio::test]
async fn only_the_requested_jobs_are_reopened() {
    let database = Database::new().await;
    let scan = database.start_sharded(3).await;
    let lease = database.lease_one(JobKind::Warc).await;
    let warc = lease.fence.job_id;
    database.discard(lease).await;
    database.work_on(&[JobKind::Warc]).await;
    let lease = database.lease_one(JobKind::Icon).await;
    database.discard(lease).await;
    database.work().await;
    let retry = |kind, job_id| database.owner.retry_jobs(scan, kind, job_id, None);
    assert_eq!(retry(Some(JobKind::Search), None).await.unwrap(), 0);
    assert_eq!(retry(None, Some(0)).await.unwrap(), 0);
    assert_eq!(retry(Some(JobKind::Icon), Some(warc)).await.unwrap(), 0);
    assert_eq!(database.state_of_scan(scan).await, "finished_with_discards");
    assert_eq!(retry(Some(JobKind::Icon), None).await.unwrap(), 1);
    database.assert_audited(scan).await;
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished_with_discards");
    assert_eq!(retry(None, Some(warc)).await.unwrap(), 1);
    database.assert_closes_again(scan).await;
    assert_eq!(database.retry_all(scan).await, 0, "no discarded job is left");
    assert_eq!(database.state_of_scan(scan).await, "finished");
}

/// If a tile was damaged after it was drawn, no job has failed.
#[tokio::test]
async fn retrying_map_jobs_draws_the_whole_map_again() {
    let database = Database::new().await;
    let scan = database.start_sharded(3).await;
    let retry = |kind, job| database.owner.retry_jobs(scan, kind, job, None);
    assert_eq!(retry(Some(JobKind::Map), None).await.unwrap(), 0, "the stage has not started");
    database.work().await;
    assert_eq!(retry(Some(JobKind::Search), None).await.unwrap(), 0);
    assert_eq!(retry(None, None).await.unwrap(), 0);
    assert_eq!(retry(Some(JobKind::Map), None).await.unwrap(), 4, "a region and three orders");
    database.assert_audited(scan).await;
    database.assert_closes_again(scan).await;
}

/// If the manifest was lost after publishing, no job has failed.
#[tokio::test]
async fn retrying_the_publish_job_publishes_a_scan_again() {
    let database = Database::new().await;
    let scan = database.start_sharded(3).await;
    let retry = || database.owner.retry_jobs(scan, Some(JobKind::Publish), None, None);
    assert_eq!(retry().await.unwrap(), 0, "the stage has not started");
    database.work().await;
    assert_eq!(retry().await.unwrap(), 1);
    database.assert_audited(scan).await;
    database.assert_closes_again(scan).await;
}

#[tokio::test]
async fn jobs_of_one_shard_that_were_all_discarded_run_one_after_the_other() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    database.work_on(&[JobKind::Warc]).await;
    for kind in [JobKind::Icon, JobKind::BundleShard] {
        let lease = database.lease_part(kind, 1).await;
        database.discard(lease).await;
    }
    database.work().await;
    assert_eq!(database.retry_all(scan).await, 2);
    let ready = database.lease_any(9).await;
    assert_eq!(ready.iter().map(|l| (l.kind, l.part)).collect::<Vec<_>>(), [(JobKind::Icon, 1)]);
    for lease in ready {
        assert_eq!(database.complete(lease).await, Completion::Recorded);
    }
    database.assert_closes_again(scan).await;
}

#[tokio::test]
async fn a_reopened_icon_job_also_reopens_its_bundle_shard_job_in_any_state() {
    for state in ["pending", "leased", "completed"] {
        let database = Database::new().await;
        let scan = database.start_sharded(2).await;
        database.work_on(&[JobKind::Warc]).await;
        let icon = database.lease_part(JobKind::Icon, 0).await;
        database.discard(icon).await;
        let mut held = None;
        if state != "pending" {
            let lease = database.lease_part(JobKind::BundleShard, 0).await;
            held = Some(again(&lease));
            if state == "completed" {
                assert_eq!(database.complete(lease).await, Completion::Recorded);
            }
        }
        assert_eq!(database.retry_all(scan).await, 1, "{state}");
        assert!(
            database.lease(JobKind::BundleShard, 9).await.is_empty(),
            "{state}: the job must wait for its icon job"
        );
        if let Some(held) = held.filter(|_| state == "leased") {
            assert!(!database.holds(held.fence).await);
            assert_eq!(database.complete(again(&held)).await, Completion::Lost);
            database.work_on(&[JobKind::Icon]).await;
            let current = database.lease_part(JobKind::BundleShard, 0).await;
            assert_eq!(
                database.complete(held).await,
                Completion::Lost,
                "the old lease must remain lost"
            );
            assert_eq!(database.complete(current).await, Completion::Recorded);
        }
        database.assert_closes_again(scan).await;
        let hosts = database.worker.load_bundle_shard(scan, 0).await.unwrap();
        assert_eq!(hosts[0].archive_offsets.len(), 1, "{state}: the icons must be recorded now");
    }
}

#[tokio::test]
async fn a_retry_fences_off_running_closing_jobs() {
    for kind in [JobKind::Search, JobKind::Map, JobKind::Publish] {
        let database = Database::new().await;
        let scan = database.start_sharded(2).await;
        let lease = database.lease_one(JobKind::Warc).await;
        database.discard(lease).await;
        database.work_on(&kinds_before(kind)).await;
        let closing = database.lease_one(kind).await;
        assert_eq!(database.retry_all(scan).await, 1);
        assert!(!database.holds(closing.fence).await);
        assert_eq!(database.complete(closing).await, Completion::Lost);
        database.assert_closes_again(scan).await;
    }
}

#[tokio::test]
async fn a_reopened_index_job_fences_off_every_shard_and_brings_its_hosts() {
    let database = Database::new().await;
    let scan = database.start(2).await;
    let mut leases = database.lease(JobKind::Index, 2).await;
    let (late, first) = (leases.pop().unwrap(), leases.pop().unwrap());
    let hosts = |from: u32, to: u32| (from..to).map(|n| host(spread(n, 6), n)).collect();
    database.complete_hosts(first, hosts(0, 4)).await;
    let part = late.part;
    database.discard(late).await;
    for kind in [JobKind::Warc, JobKind::Icon, JobKind::BundleShard] {
        let lease = database.lease_part(kind, 0).await;
        database.complete(lease).await;
    }
    let lease = database.lease_part(JobKind::Warc, 1).await;
    database.complete(lease).await;
    let lease = database.lease_part(JobKind::Warc, 2).await;
    database.discard(lease).await;
    let icon = database.lease_part(JobKind::Icon, 1).await;
    let warc = database.lease_part(JobKind::Warc, 3).await;
    assert_eq!(database.owner.retry_jobs(scan, Some(JobKind::Index), None, None).await.unwrap(), 1);
    database.assert_audited(scan).await;
    for lost in [icon, warc] {
        assert!(!database.holds(lost.fence).await);
        assert_eq!(database.complete(lost).await, Completion::Lost);
    }
    let mut leases = database.lease_any(9).await;
    let index = leases.pop().unwrap();
    assert!(leases.is_empty() && index.kind == JobKind::Index && index.part == part);
    database.complete_hosts(index, hosts(4, 6)).await;
    database.assert_audited(scan).await;
    let shards = database.worker.load_scan(scan).await.unwrap().shards.unwrap();
    let mut hostnames = Vec::new();
    for shard in 0..shards {
        let hosts = database.worker.load_warc(scan, shard).await.unwrap();
        hostnames.extend(hosts.into_iter().map(|host| host.hostname));
    }
    hostnames.sort();
    assert_eq!(hostnames, (0..6).map(|n| format!("host-{n}.example")).collect::<Vec<_>>());
    database.assert_closes_again(scan).await;
}

#[tokio::test]
async fn hosts_found_by_a_retry_get_shards() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    let lease = database.lease_one(JobKind::Index).await;
    database.discard(lease).await;
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished_with_discards");
    assert_eq!(database.retry_all(scan).await, 1);
    let lease = database.lease_one(JobKind::Index).await;
    let hosts = (0..5).map(|n| host(spread(n, 5), n)).collect();
    database.complete_hosts(lease, hosts).await;
    assert_eq!(database.lease(JobKind::Warc, 9).await.len(), 5);
    database.expire_leases().await;
    database.assert_closes_again(scan).await;
}

/// The shard's icon and bundle-shard jobs already exist, so they must be counted as discarded
/// together with the warc job.
#[tokio::test]
async fn a_warc_job_discarded_after_a_retry_also_discards_the_later_jobs_of_its_shard() {
    let database = Database::new().await;
    let scan = database.start(2).await;
    let lease = database.lease_part(JobKind::Index, 1).await;
    database.discard(lease).await;
    database.work().await;
    assert_eq!(database.retry_all(scan).await, 1);
    database.work_on(&[JobKind::Index]).await;
    let lease = database.lease_part(JobKind::Warc, 0).await;
    database.discard(lease).await;
    database.assert_audited(scan).await;
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished_with_discards");
    database.assert_audited(scan).await;
    assert_eq!(database.retry_all(scan).await, 1);
    database.assert_closes_again(scan).await;
}

#[tokio::test]
async fn icons_of_an_outcome_are_fetched_again_even_from_completed_jobs() {
    let database = Database::new().await;
    let scan = database.start_sharded(3).await;
    database.work().await;
    database.run("update everytab.icons set outcome = 'dns_timeout' where shard = 1").await;
    let retry = |outcome| database.owner.retry_jobs(scan, None, None, Some(outcome));
    assert_eq!(retry("tls_timeout").await.unwrap(), 0);
    assert_eq!(database.state_of_scan(scan).await, "finished");
    assert_eq!(retry("dns_timeout").await.unwrap(), 1);
    database.assert_audited(scan).await;
    let lease = database.lease_one(JobKind::Icon).await;
    assert_eq!((lease.part, lease.fence.lease_number), (1, 2));
    database.complete(lease).await;
    database.assert_closes_again(scan).await;
    // Rows of the first lease still exist, but must be ignored.
    assert_eq!(retry("dns_timeout").await.unwrap(), 0);
    let archives = database.owner.referenced_archives(scan).await.unwrap();
    let leases: Vec<_> = archives.iter().map(|of| (of.shard, of.lease_number)).collect();
    assert_eq!(leases, [(0, 1), (1, 2), (2, 1)]);
    // An archive's name contains the token of the lease that completed its job.
    let sql = "select r.token from everytab.jobs j join everytab.job_results r
                    on r.job_id = j.job_id and r.lease_number = j.lease_number
                where j.run = $1 and j.kind = 'icon' order by j.part";
    let tokens: Vec<(Uuid,)> = database.rows(sql, scan).await;
    let named: Vec<_> = archives.iter().map(|of| (of.token,)).collect();
    assert_eq!(named, tokens);
    let hosts = database.worker.load_bundle_shard(scan, 1).await.unwrap();
    let named = (hosts[0].archive_lease_number, hosts[0].archive_token);
    assert_eq!(named, (Some(2), Some(tokens[1].0)));
}

#[tokio::test]
async fn a_retry_waits_for_a_completion_in_progress() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    database.work_on(&[JobKind::Warc]).await;
    let icon = database.lease_part(JobKind::Icon, 0).await;
    database.discard(icon).await;
    database.work_on(&[JobKind::Icon]).await;
    let lease = database.lease_part(JobKind::BundleShard, 0).await;
    let session = database.session().await;
    session.run("begin").await;
    assert_eq!(complete_in(&session, &lease, no_counts()).await, "recorded");
    let owner = database.owner.clone();
    let retrying = tokio::spawn(async move { owner.retry_jobs(scan, None, None, None).await });
    crate::setup::until_someone_waits(&database).await;
    session.run("commit").await;
    assert_eq!(retrying.await.unwrap().unwrap(), 1);
    database.assert_audited(scan).await;
    database.assert_closes_again(scan).await;
}
