//! Tests group commit: concurrent completions share a transaction, but each gets its own result,
//! and only after the commit is on disk.

use everytab_coordinator::{Completion, Coordinator, JobKind, Lease, Output};
use everytab_postgres::{PostgresSettings, PrivatePostgres};

use crate::setup::{Database, again, no_counts, settings, soon, until_someone_waits, with_token};

async fn complete_at_once(worker: &Coordinator, leases: Vec<Lease>) -> Vec<Completion> {
    let calls: Vec<_> = leases
        .into_iter()
        .map(|lease| {
            let worker = worker.clone();
            let stats = no_counts();
            tokio::spawn(async move {
                worker.complete(lease, &Output::Nothing, &stats, soon()).await.unwrap()
            })
        })
        .collect();
    let mut completions = Vec::new();
    for call in calls {
        completions.push(call.await.unwrap());
    }
    completions
}

#[tokio::test]
async fn forty_concurrent_completions_take_a_few_transactions() {
    let database = Database::new().await;
    let scan = database.start(40).await;
    let leases = database.lease(JobKind::Index, 40).await;
    let completions = complete_at_once(&database.worker, leases).await;
    assert_eq!(completions, vec![Completion::Recorded; 40]);
    let sql = "select count(distinct xmin::text) from everytab.job_results where run = $1";
    let transactions: i64 = database.value(sql, scan).await;
    assert!(transactions <= 10, "{transactions} transactions");
    database.assert_audited(scan).await;
}

#[tokio::test]
async fn a_lost_lease_among_concurrent_completions_is_the_only_one_lost() {
    let database = Database::new().await;
    let scan = database.start(10).await;
    let mut leases = database.lease(JobKind::Index, 10).await;
    leases[6].fence = with_token(leases[6].fence);
    let completions = complete_at_once(&database.worker, leases).await;
    for (place, completion) in completions.into_iter().enumerate() {
        let expected = if place == 6 { Completion::Lost } else { Completion::Recorded };
        assert_eq!(completion, expected, "{place}");
    }
    let sql = "select outstanding from everytab.stages where run = $1 and kind = 'index'";
    assert_eq!(database.value::<i32>(sql, scan).await, 1);
}

#[tokio::test]
async fn one_lease_completed_twice_at_once_is_recorded_once_and_harms_no_other() {
    let database = Database::new().await;
    let scan = database.start(8).await;
    let mut leases = database.lease(JobKind::Index, 8).await;
    let twice = again(&leases[7]);
    leases.push(twice);
    let mut completions = complete_at_once(&database.worker, leases).await;
    let mut same = completions.split_off(7);
    assert_eq!(completions, vec![Completion::Recorded; 7]);
    same.sort_by_key(|completion| *completion != Completion::Recorded);
    assert_eq!(same, [Completion::Recorded, Completion::AlreadyRecorded]);
    database.assert_audited(scan).await;
}

#[tokio::test]
async fn a_cancelled_call_does_not_prevent_other_completions() {
    let database = Database::new().await;
    let scan = database.start(3).await;
    let leases = database.lease(JobKind::Index, 3).await;
    let jobs: Vec<i64> = leases.iter().map(|lease| lease.fence.job_id).collect();
    let session = database.session().await;
    session.run("begin; lock table everytab.stages").await;
    let mut calls = Vec::new();
    for lease in leases {
        let worker = database.worker.clone();
        calls.push(tokio::spawn(async move {
            worker.complete(lease, &Output::Nothing, &no_counts(), soon()).await.unwrap()
        }));
        until_someone_waits(&database).await;
    }
    // The first call's transaction waits for the lock, and the second call is queued behind it.
    calls.remove(0).abort();
    calls.remove(0).abort();
    session.run("commit").await;
    assert_eq!(calls.remove(0).await.unwrap(), Completion::Recorded);
    database.assert_audited(scan).await;
    // If the first call's transaction had been sent completely, its job is completed.
    let sql = "select state::text from everytab.jobs where job_id = $1";
    let states = [jobs[1], jobs[2]].map(|job| database.value::<String>(sql, job));
    assert_eq!(futures_util::future::join_all(states).await, ["leased", "completed"]);
}

#[tokio::test]
async fn a_completion_is_on_disk_when_the_call_returns() {
    let folder = tempfile::tempdir().unwrap();
    let mut durable = PostgresSettings::new(folder.path().join("postgres"));
    // Prevent the WAL writer from flushing the WAL during the test.
    durable.extra = vec![("wal_writer_delay".into(), "10s".into())];
    let server = PrivatePostgres::start(durable).unwrap();
    let (owner, worker) = (server.admin_url(), server.url("postgres", "everytab_worker"));
    Coordinator::connect(&owner, &settings()).await.unwrap().migrate().await.unwrap();
    let database = Database::at(owner, worker, "postgres".into()).await;
    let scan = database.start(20).await;
    let leases = database.lease(JobKind::Index, 20).await;
    for (number, lease) in leases.into_iter().enumerate() {
        let before: i64 = database
            .value("select (pg_current_wal_insert_lsn() - '0/0')::bigint + 0 * $1", 0)
            .await;
        let completed = complete_at_once(&database.worker, vec![lease]).await;
        assert_eq!(completed, [Completion::Recorded]);
        let flushed = "select (pg_current_wal_flush_lsn() - '0/0')::bigint + 0 * $1";
        let flushed: i64 = database.value(flushed, 0).await;
        assert!(
            flushed > before,
            "{number}: the WAL is flushed up to {flushed}, but {before} was written before"
        );
    }
    database.assert_audited(scan).await;
    drop(database);
    server.erase().unwrap();
}
