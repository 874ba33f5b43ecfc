//! Tests that runs and crawls end correctly under any default isolation level, because every
//! transaction sets its own.

use everytab_coordinator::{CheckpointResult, Completion, CrawlCounts, JobKind};
use everytab_patience::until;
use tokio_postgres::types::{ToSql, Type};

use crate::{
    frontier::holder::{checkpoint, counts},
    session::{Session, query},
    setup::{Database, complete_in, no_counts, soon},
};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

async fn with_default(level: &str) -> Database {
    let database = Database::new().await;
    let alter =
        format!("alter database {} set default_transaction_isolation = '{level}'", database.name);
    database.pool.run(&alter).await;
    let Database { name, owner_url, worker_url, .. } = database;
    let database = Database::at(owner_url, worker_url, name).await;
    let found: String = query("show default_transaction_isolation").value(&database.pool).await;
    assert_eq!(found, level);
    database
}

async fn until_two_wait(database: &Database) {
    let sql = "select count(*) from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock' and $1 = 0";
    until("two calls that wait", async || database.value::<i64>(sql, 0).await == 2).await;
}

#[tokio::test]
async fn a_run_finishes_if_its_last_search_and_map_jobs_complete_together() {
    for level in LEVELS {
        let database = with_default(level).await;
        let scan = database.start_sharded(2).await;
        database.work_on(&[JobKind::Warc, JobKind::Icon, JobKind::BundleShard]).await;
        let mut searches = database.lease(JobKind::Search, 100).await;
        let mut maps = database.lease(JobKind::Map, 100).await;
        let (search, map) = (searches.pop().unwrap(), maps.pop().unwrap());
        for other in searches.into_iter().chain(maps) {
            assert_eq!(database.complete(other).await, Completion::Recorded);
        }
        // Lock the run's row, so that both calls decrement their stages before either of them reads
        // this row.
        let holder = database.session().await;
        holder.run("begin").await;
        query("select 1 from everytab.runs where run = $1 for update")
            .bind(scan)
            .execute(&holder)
            .await;
        let (a, b) = (database.worker.clone(), database.owner.clone());
        let output = everytab_coordinator::Output::Nothing;
        let stats = no_counts();
        let (first, second, ()) = tokio::join!(
            a.complete(search, &output, &stats, soon()),
            b.complete(map, &output, &stats, soon()),
            async {
                until_two_wait(&database).await;
                holder.run("commit").await;
            }
        );
        let both = (first.unwrap(), second.unwrap());
        assert_eq!(both, (Completion::Recorded, Completion::Recorded), "{level}");
        let publish = database.lease_one(JobKind::Publish).await;
        assert_eq!(database.complete(publish).await, Completion::Recorded);
        assert_eq!(database.state_of_scan(scan).await, "finished", "{level}");
        database.assert_audited(scan).await;
    }
}

/// A caller that does not set the isolation level must get an error here. Otherwise the completion
/// would be recorded without opening the publish job.
#[tokio::test]
async fn the_second_of_two_last_completions_fails_under_repeatable_read() {
    let database = with_default("repeatable read").await;
    let scan = database.start_sharded(2).await;
    database.work_on(&[JobKind::Warc, JobKind::Icon, JobKind::BundleShard]).await;
    let mut searches = database.lease(JobKind::Search, 100).await;
    let mut maps = database.lease(JobKind::Map, 100).await;
    let (search, map) = (searches.pop().unwrap(), maps.pop().unwrap());
    for other in searches.into_iter().chain(maps) {
        assert_eq!(database.complete(other).await, Completion::Recorded);
    }
    let (a, b) = (database.session().await, Session::connect(&database.owner_url).await);
    a.run("begin").await;
    assert_eq!(complete_in(&a, &search, no_counts()).await, "recorded");
    let refused = async {
        let sql = "select coordinator.complete(array[$1], array[$2], array[$3], array[$4])";
        let fence = map.fence;
        let stats = no_counts();
        let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
            (&fence.job_id, Type::INT8),
            (&fence.lease_number, Type::INT4),
            (&fence.token, Type::UUID),
            (&stats, Type::JSONB),
        ];
        b.0.query_typed(sql, &parameters).await.unwrap_err()
    };
    let (error, ()) = tokio::join!(refused, async {
        crate::setup::until_someone_waits(&database).await;
        a.run("commit").await;
    });
    assert_eq!(error.code().map(|code| code.code()), Some("40001"), "{error:?}");
    assert_eq!(database.complete(map).await, Completion::Recorded);
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished");
}

#[tokio::test]
async fn a_crawl_ends_if_its_last_checkpoints_are_concurrent() {
    for level in LEVELS {
        let database = with_default(level).await;
        let (crawl, id) =
            database.start_crawl(None, &[1, 2], |number| number.try_into().unwrap()).await;
        let leases = database.lease_all_slots("a").await;
        for slot in [1, 2] {
            let mut begun = checkpoint(&leases[slot], 1);
            begun.counts = vec![CrawlCounts { known: 1, pending: 1, read: 1, ..counts(crawl) }];
            assert_eq!(database.record_checkpoint(&begun).await, Vec::<i32>::new());
        }
        let last = |slot: usize| {
            let mut last = checkpoint(&leases[slot], 2);
            last.counts = vec![CrawlCounts { pending: -1, captured: 1, ..counts(crawl) }];
            last
        };
        let (first, second) = (last(1), last(2));
        let holder = database.session().await;
        holder.run("begin; select from everytab.crawls for no key update").await;
        let (first, second, ()) = tokio::join!(
            database.worker.checkpoint_slot(&first),
            database.owner.checkpoint_slot(&second),
            async {
                until_two_wait(&database).await;
                holder.run("commit").await;
            }
        );
        let mut ended: Vec<i32> = Vec::new();
        for answer in [first.unwrap(), second.unwrap()] {
            match answer {
                CheckpointResult::Recorded { ended: crawls } => ended.extend(crawls),
                CheckpointResult::Lost => panic!("a slot lease is lost"),
            }
        }
        assert_eq!(ended, [crawl], "{level}");
        assert_eq!(database.ending(id).await, ("ended".into(), Some("empty".into()), true));
    }
}

/// Renewals do not set an isolation level. If a concurrent change makes one fail, the client
/// repeats it.
#[tokio::test]
async fn a_lease_whose_job_changes_during_its_renewal_is_renewed() {
    for level in LEVELS {
        let database = with_default(level).await;
        database.start(1).await;
        let lease = database.lease_one(JobKind::Index).await;
        let writer = database.session().await;
        writer.run("begin; update everytab.jobs set priority = priority").await;
        let (held, ()) = tokio::join!(database.holds(lease.fence), async {
            crate::setup::until_someone_waits(&database).await;
            writer.run("commit").await;
        });
        assert!(held, "{level}");
    }
}

#[tokio::test]
async fn a_call_under_repeatable_read_cannot_end_a_crawl() {
    let database = Database::new().await;
    let (crawl, _) = database.start_crawl(None, &[1], |_| 1).await;
    let session = database.session().await;
    session.run("begin isolation level repeatable read").await;
    let sql = format!("select coordinator.end_if_done({crawl})");
    let error = session.0.batch_execute(&sql).await.unwrap_err();
    assert_eq!(error.code().map(|code| code.code()), Some("ET012"), "{error:?}");
}
