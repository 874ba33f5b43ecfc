//! Tests that a job is completed in one transaction, and only once even if a reply is lost.

use everytab_coordinator::{Completion, JobKind, Lease, Output, VerbResult};
use serde_json::json;

use crate::{
    session::{Session, query},
    setup::{Database, again, complete_in, no_counts, page, soon, until_someone_waits},
};

const COUNT_PAGES: &str = "select count(*) from everytab.pages where scan = $1";

async fn record_page(session: &Session, lease: &Lease, chunk: i32) -> bool {
    let sql = "select coordinator.record_pages($1, $2, $3, $4,
        '{\"(0,a.example,t,t,none,,ok,A,[],ok)\"}')";
    query(sql)
        .bind(lease.fence.job_id)
        .bind(lease.fence.lease_number)
        .bind(lease.fence.token)
        .bind(chunk)
        .value(session)
        .await
}

#[tokio::test]
async fn a_completion_whose_reply_was_lost_is_recorded_once() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    let lease = database.lease_one(JobKind::Warc).await;
    let copy = again(&lease);
    let output = Output::Pages((0..10_001).map(|n| page(n, "a.example")).collect());
    let first = database.worker.complete(lease, &output, &no_counts(), soon()).await.unwrap();
    assert_eq!(first, Completion::Recorded);
    let before = database.contents().await;
    let second = database.worker.complete(copy, &output, &no_counts(), soon()).await.unwrap();
    assert_eq!(second, Completion::AlreadyRecorded);
    assert_eq!(database.contents().await, before);
    assert_eq!(database.value::<i64>(COUNT_PAGES, scan).await, 10_001);
    database.assert_audited(scan).await;
}

#[tokio::test]
async fn a_chunk_sent_twice_is_recorded_once() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    let session = database.session().await;
    assert!(record_page(&session, &lease, 1).await);
    assert!(record_page(&session, &lease, 1).await);
    assert_eq!(database.value::<i64>(COUNT_PAGES, scan).await, 1);
    assert!(record_page(&session, &lease, 2).await);
    assert!(record_page(&session, &lease, 1).await);
    assert_eq!(database.value::<i64>(COUNT_PAGES, scan).await, 2);
}

/// Loses the first chunk of a lease, as a failover to an asynchronous standby may do.
const LOSE_FIRST_CHUNK: &str = "
    create function everytab.lose() returns trigger language plpgsql as $$ begin
        delete from everytab.pages;
        update everytab.jobs set chunks = 0 where chunks = 1;
        return null;
    end $$;
    create trigger lose after insert on everytab.pages
        for each statement execute function everytab.lose()";

#[tokio::test]
async fn a_job_whose_first_chunk_was_lost_is_not_completed_by_the_next_ones() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    database.run(LOSE_FIRST_CHUNK).await;
    let output = Output::Pages((0..10_001).map(|n| page(n, "a.example")).collect());
    let lost = database.worker.complete(lease, &output, &no_counts(), soon()).await.unwrap();
    assert_eq!(lost, Completion::Lost);
    database.run("drop trigger lose on everytab.pages; drop function everytab.lose").await;
    database.expire_leases().await;
    database.owner.sweep(9).await.unwrap();
    database.end_backoffs().await;
    let lease = database.lease_one(JobKind::Warc).await;
    let done = database.worker.complete(lease, &output, &no_counts(), soon()).await.unwrap();
    assert_eq!(done, Completion::Recorded);
    assert_eq!(database.value::<i64>(COUNT_PAGES, scan).await, 10_001);
    database.assert_audited(scan).await;
}

#[tokio::test]
async fn chunk_numbers_start_again_with_each_lease() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let first = database.lease_one(JobKind::Warc).await;
    let session = database.session().await;
    assert!(record_page(&session, &first, 1).await);
    database.worker.release(first, "leaving", soon()).await.unwrap();
    let second = database.lease_one(JobKind::Warc).await;
    assert!(record_page(&session, &second, 1).await);
    assert_eq!(database.value::<i64>(COUNT_PAGES, scan).await, 2);
}

#[tokio::test]
async fn rows_of_a_lease_that_was_lost_are_never_read() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let lost = database.lease_one(JobKind::Warc).await;
    let session = database.session().await;
    assert!(record_page(&session, &lost, 1).await);
    database.expire_leases().await;
    let lease = database.lease_one(JobKind::Warc).await;
    let output = Output::Pages(vec![page(0, "b.example")]);
    database.worker.complete(lease, &output, &no_counts(), soon()).await.unwrap();
    let hosts = database.worker.load_icon(scan, 0).await.unwrap();
    assert_eq!(hosts.iter().map(|host| &*host.hostname).collect::<Vec<_>>(), ["b.example"]);
    assert_eq!(
        database.value::<i64>(COUNT_PAGES, scan).await,
        2,
        "both leases recorded their rows"
    );
}

#[tokio::test]
async fn rows_and_completion_commit_together_or_not_at_all() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    let before = database.contents().await;
    let session = database.session().await;
    session.run("begin").await;
    assert!(record_page(&session, &lease, 1).await);
    assert_eq!(complete_in(&session, &lease, no_counts()).await, "recorded");
    assert_eq!(database.contents().await, before, "rows are visible before the commit");
    drop(session); // the connection breaks
    while database.contents().await != before {
        tokio::task::yield_now().await;
    }
    assert_eq!(database.complete(lease).await, Completion::Recorded);
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished");
}

#[tokio::test]
async fn rows_that_postgres_rejects_do_not_end_the_lease() {
    let database = Database::new().await;
    database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    let copy = again(&lease);
    let mut refused = page(0, "a.example");
    refused.outcome = "o".repeat(41);
    let before = database.contents().await;
    let output = Output::Pages(vec![refused]);
    let error = database.worker.complete(lease, &output, &no_counts(), soon()).await.unwrap_err();
    assert!(!error.is_transient(), "{error}");
    assert_eq!(database.contents().await, before);
    assert_eq!(database.complete(copy).await, Completion::Recorded);
}

#[tokio::test]
async fn an_expired_lease_may_complete_if_the_job_was_not_leased_again() {
    let database = Database::new().await;
    database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    database.expire_leases().await;
    assert_eq!(database.complete(lease).await, Completion::Recorded);
}

#[tokio::test]
async fn the_sweep_skips_a_job_that_is_completing() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    database.expire_leases().await;
    let session = database.session().await;
    session.run("begin").await;
    assert!(record_page(&session, &lease, 1).await);
    assert_eq!(database.worker.sweep(100).await.unwrap(), 0);
    assert!(database.lease(JobKind::Warc, 1).await.is_empty());
    assert_eq!(complete_in(&session, &lease, no_counts()).await, "recorded");
    session.run("commit").await;
    assert_eq!(database.worker.sweep(100).await.unwrap(), 0);
    assert_eq!(database.state_of_job(lease.fence.job_id).await, "completed");
    database.assert_audited(scan).await;
}

#[tokio::test]
async fn if_a_lease_is_ended_twice_the_second_call_returns_lost() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    let copy = again(&lease);
    let session = database.session().await;
    session.run("begin").await;
    assert_eq!(complete_in(&session, &lease, no_counts()).await, "recorded");
    let worker = database.worker.clone();
    let discarding = tokio::spawn(async move { worker.discard(copy, "no", soon()).await });
    until_someone_waits(&database).await;
    session.run("commit").await;
    assert_eq!(discarding.await.unwrap().unwrap(), VerbResult::Lost);
    assert_eq!(database.state_of_job(lease.fence.job_id).await, "completed");
    database.assert_audited(scan).await;
}

#[tokio::test]
async fn one_call_with_a_lost_and_the_current_lease_of_a_job_returns_both_results() {
    let database = Database::new().await;
    let scan = database.start(2).await;
    let lost = database.lease_one(JobKind::Index).await;
    database.expire_leases().await;
    let leases = database.lease(JobKind::Index, 2).await;
    assert_eq!(leases.len(), 2);
    let stats = json!({"inputs": {}, "outcomes": {}, "counts": {"hosts": 1}});
    let mut together = vec![(lost, stats.clone())];
    together.extend(leases.into_iter().map(|lease| (lease, stats.clone())));
    let ends = database.complete_all(together).await;
    assert_eq!(ends, [Completion::Lost, Completion::Recorded, Completion::Recorded]);
    database.assert_audited(scan).await;
}
