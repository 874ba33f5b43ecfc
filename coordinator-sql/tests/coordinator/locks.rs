//! Checks that an operator's call never makes the fleet wait long for a lock: while other sessions
//! hold table locks, the operator's call may wait, but workers must continue.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use everytab_coordinator::{Error, JobKind, NewScan};
use everytab_patience::until;
use serde_json::json;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{
    session::{Session, query},
    setup::{Database, LEASE_MS, digests, no_counts, soon},
};

/// Maximum time that a worker's call may wait for a lock. Functions hold such locks for at most 200
/// ms, but on a busy computer the process that holds one may be paused.
const LONGEST_WAIT: &str = "set lock_timeout = '2s'";
const WORKERS: usize = 3;
/// Rounds after which the fleet counts as running. An operator's call tries to lock several times
/// during these rounds.
const ROUNDS: u64 = 150;

const READ_ALL: &str = "
    begin;
    do $$ declare t regclass; begin
        for t in select c.oid from pg_class c
                  where c.relnamespace = 'everytab'::regnamespace and c.relkind in ('r', 'p') loop
            execute format('lock table %s in access share mode', t);
        end loop;
    end $$";

struct Fleet {
    rounds: Arc<AtomicU64>,
    workers: JoinSet<()>,
}

impl Fleet {
    /// The workers also load the shards of the scan `loaded`.
    async fn start(database: &Database, loaded: i32) -> Self {
        database.start(20_000).await;
        let rounds = Arc::<AtomicU64>::default();
        let mut workers = JoinSet::new();
        for _ in 0..WORKERS {
            let session = Session::connect(&database.worker_url).await;
            session.run(LONGEST_WAIT).await;
            let rounds = Arc::clone(&rounds);
            workers.spawn(async move {
                loop {
                    work_once(&session, loaded).await;
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        Self { rounds, workers }
    }

    async fn goes_on(&mut self) {
        let before = self.rounds.load(Ordering::Relaxed);
        self.works_until("the fleet to go on", |rounds| rounds >= before + ROUNDS).await;
    }

    async fn works_until(&mut self, what: &str, is_so: impl Fn(u64) -> bool) {
        let Self { rounds, workers } = self;
        let workers = std::cell::RefCell::new(workers);
        until(what, async || {
            if let Some(ended) = workers.borrow_mut().try_join_next() {
                panic!("a worker's call failed: {ended:?}");
            }
            is_so(rounds.load(Ordering::Relaxed))
        })
        .await;
    }
}

async fn work_once(session: &Session, loaded: i32) {
    let lease = "select job_id, lease_number, lease_token
                   from coordinator.lease('fleet', '{index}', 1,
                                          '{\"encoder\": \"encoder\"}', '{1}')";
    let (job, number, token): (i64, i32, Uuid) = query(lease).row(session).await;
    let fenced = |sql: &str| query(sql).bind(job).bind(number).bind(token);
    let renew = "select count(*) from coordinator.renew('fleet', array[$1], array[$2], array[$3])";
    fenced(renew).value::<i64>(session).await;
    for load in ["load_warc", "load_icon", "load_bundle_shard"] {
        let sql = format!("select count(*) from coordinator.{load}($1, 0)");
        query(sql).bind(loaded).value::<i64>(session).await;
    }
    let complete = "select (coordinator.complete(array[$1], array[$2], array[$3], array[$4]))[1]";
    let result: String = fenced(complete).bind(no_counts()).value(session).await;
    assert!(matches!(result.as_str(), "recorded" | "lost"), "{result}");
}

/// The fleet must continue while `holder` holds its locks. If `waits` is true, the call must finish
/// only after `holder` commits, otherwise before.
async fn beside<T: Send + 'static>(
    fleet: &mut Fleet,
    holder: &Session,
    waits: bool,
    call: impl Future<Output = T> + Send + 'static,
) -> T {
    let call = tokio::spawn(call);
    if waits {
        fleet.goes_on().await;
        assert!(!call.is_finished(), "the call must wait for these locks");
        holder.run("commit").await;
    }
    fleet.works_until("the operator's call to end", |_| call.is_finished()).await;
    if !waits {
        holder.run("commit").await;
    }
    fleet.goes_on().await;
    call.await.unwrap()
}

async fn with_fleet() -> (Database, i32, Fleet) {
    let database = Database::new().await;
    let ended = database.start_sharded(2).await;
    database.work().await;
    let fleet = Fleet::start(&database, ended).await;
    (database, ended, fleet)
}

#[tokio::test]
async fn a_scan_starts_and_a_list_is_imported_during_a_dump_of_every_table() {
    let (database, _, mut fleet) = with_fleet().await;
    let reader = database.session().await;
    reader.run(READ_ALL).await;
    let owner = database.owner.clone();
    let started = beside(&mut fleet, &reader, false, async move {
        let names: Vec<String> = (0..2_000).map(|n| format!("h{n}.page")).collect();
        let patterns: Vec<&str> = names.iter().map(String::as_str).collect();
        let kinds = vec!["hostname"; patterns.len()];
        let imported = owner.import_list("list", "a file", &kinds, &patterns).await.unwrap();
        assert_eq!(imported, 2_000);
        owner.block("hostname", "blocked.page", None).await.unwrap();
        let scan = NewScan {
            scan_id: Uuid::new_v4(),
            crawl: "CC-MAIN-2026-02".into(),
            settings: json!({"entries_per_bundle": 1}),
            lease_ms: LEASE_MS,
            archive_rate: None,
            digests: digests(),
            files: vec![("file".into(), None)],
        };
        owner.start_scan_once(&scan, Some("CC-MAIN-2026-02")).await.unwrap().unwrap()
    });
    let started = started.await;
    assert_eq!(database.state_of_scan(started).await, "running");
    let sql = "select count(*) from pg_index i
                 join pg_inherits p on p.inhrelid = i.indexrelid
                where i.indrelid in (format('everytab.hosts_%s', $1)::regclass,
                                     format('everytab.pages_%s', $1)::regclass,
                                     format('everytab.icons_%s', $1)::regclass)";
    assert_eq!(database.value::<i64>(sql, started).await, 3);
}

/// A completion that ends a stage writes the run's row. An exclusion locks this row, too, so it
/// must not hold this lock while it waits for a blocklist import.
#[tokio::test]
async fn an_exclusion_that_waits_for_an_import_does_not_lock_the_run() {
    let (database, _, mut fleet) = with_fleet().await;
    let scan = database.start(1).await;
    let import = database.session().await;
    import.run("begin; lock table everytab.blocklist in share row exclusive mode").await;
    let owner = database.owner.clone();
    let pattern = [("hostname", "host-0.example".to_owned())];
    let excluding = tokio::spawn(async move { owner.exclude(scan, &pattern).await.unwrap() });
    let waiting = "select count(*) from pg_locks
                    where not granted and relation = 'everytab.blocklist'::regclass and $1 = 0";
    until("the exclusion waits", async || database.value::<i64>(waiting, 0).await > 0).await;
    let worker = database.session().await;
    worker.run("begin; set local lock_timeout = '2s'").await;
    let write = query("update everytab.runs set state = state where run = $1 returning 1");
    assert_eq!(write.bind(scan).value::<i32>(&worker).await, 1);
    worker.run("commit").await;
    let excluded = beside(&mut fleet, &import, true, async move { excluding.await.unwrap() });
    assert_eq!(excluded.await, Some(1));
}

#[tokio::test]
async fn a_drop_waits_for_readers_without_blocking_the_fleet() {
    let (database, ended, mut fleet) = with_fleet().await;
    let reader = database.session().await;
    reader.run(READ_ALL).await;
    let owner = database.owner.clone();
    let dropped = async move { owner.drop_scan(ended).await.unwrap() };
    assert!(beside(&mut fleet, &reader, true, dropped).await);
    let left = "select count(*) from pg_class where relname in
                    ('hosts_' || $1, 'pages_' || $1, 'icons_' || $1)";
    assert_eq!(database.value::<i64>(left, ended).await, 0);
    assert!(!database.owner.drop_scan(ended).await.unwrap(), "the scan was already dropped");
}

#[tokio::test]
async fn a_scan_with_an_unfinished_drop_cannot_be_reopened_and_keeps_its_archives() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    let lease = database.lease_one(JobKind::Warc).await;
    database.worker.discard(lease, "bad", soon()).await.unwrap();
    database.work().await;
    let archives = database.owner.referenced_archives(scan).await.unwrap();
    assert_eq!(archives.len(), 1);
    let empty = || query("select coordinator.empty_scan($1)").bind(scan);
    assert!(empty().value::<bool>(&database.pool).await);
    assert_eq!(database.owner.retry_jobs(scan, None, None, None).await.unwrap(), 0);
    assert_eq!(database.owner.referenced_archives(scan).await.unwrap(), archives);
    assert_eq!(database.state_of_scan(scan).await, "cancelled");
    assert!(database.owner.drop_scan(scan).await.unwrap());
}

#[tokio::test]
async fn the_advice_after_the_maximum_wait_finds_the_session_of_a_locked_row() {
    let database = Database::new().await;
    let holder = "Postgres: could not obtain lock on row in relation \"runs\"".to_owned();
    let said = Error::Locked { holder, minutes: 60 }.to_string();
    let [_, sessions, _, end, _] = said.split('`').collect::<Vec<_>>()[..] else {
        panic!("{said}");
    };
    assert_eq!(end, "select pg_terminate_backend(PID)");
    let now = sessions.replace("interval '1 minute'", "interval '0'");
    let other = database.session().await;
    other.run("begin").await;
    let pids: Vec<i32> =
        query(format!("select pid from ({now}) as listed")).column(&database.pool).await;
    let pid: i32 = query("select pg_backend_pid()").value(&other).await;
    assert!(pids.contains(&pid), "{pids:?} {pid}");
}

#[tokio::test]
async fn a_cancelled_scan_is_dropped_only_after_it_was_emptied() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    assert!(database.owner.cancel_run(scan).await.unwrap());
    let drop_alone = || query("select coordinator.drop_scan($1)").bind(scan);
    assert!(!drop_alone().value::<bool>(&database.pool).await);
    assert_eq!(database.state_of_scan(scan).await, "cancelled");
    let empty = query("select coordinator.empty_scan($1)").bind(scan);
    assert!(empty.value::<bool>(&database.pool).await);
    assert!(drop_alone().value::<bool>(&database.pool).await);
}

#[tokio::test]
async fn calls_that_change_many_jobs_wait_for_long_writers_without_blocking_the_fleet() {
    let (database, ended, mut fleet) = with_fleet().await;
    let other = database.start(1).await;
    let writer = database.session().await;
    let held = "begin; lock table everytab.jobs in row exclusive mode";
    for verb in ["retry", "exclude", "revoke", "cancel"] {
        writer.run(held).await;
        let owner = database.owner.clone();
        let done = beside(&mut fleet, &writer, true, async move {
            match verb {
                "retry" => owner.retry_jobs(ended, Some(JobKind::Map), None, None).await.unwrap(),
                "exclude" => {
                    let pattern = [("hostname", "host-0.example".to_owned())];
                    owner.exclude(ended, &pattern).await.unwrap();
                    owner.rebundle_excluded(ended, &pattern).await.unwrap()
                }
                "revoke" => owner.revoke_leases(Some(other), "test").await.unwrap(),
                _ => i32::from(owner.cancel_run(other).await.unwrap()),
            }
        });
        let expected = match verb {
            "retry" => 4,
            "revoke" => 0,
            _ => 1,
        };
        assert_eq!(done.await, expected, "{verb}");
    }
    database.assert_audited(ended).await;
}

#[tokio::test]
async fn more_jobs_than_one_transaction_reopens_are_all_reopened() {
    let database = Database::new().await;
    let scan = database.start(600).await;
    for lease in database.lease(JobKind::Index, 600).await {
        database.worker.discard(lease, "bad", soon()).await.unwrap();
    }
    assert_eq!(database.owner.retry_jobs(scan, None, None, None).await.unwrap(), 600);
    database.assert_audited(scan).await;
    assert_eq!(database.owner.retry_jobs(scan, None, None, None).await.unwrap(), 0);
}

#[tokio::test]
async fn a_job_that_was_leased_since_it_was_chosen_is_not_reopened() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let discard = async || {
        let lease = database.lease_one(JobKind::Warc).await;
        database.worker.discard(lease, "bad", soon()).await.unwrap();
    };
    discard().await;
    let choose = "select job_id, lease_number
                    from coordinator.retriable_jobs($1, null, null, null)";
    let chosen: Vec<(i64, i32)> = query(choose).bind(scan).rows(&database.pool).await;
    assert_eq!(chosen.len(), 1);
    assert_eq!(database.owner.retry_jobs(scan, None, None, None).await.unwrap(), 1);
    discard().await;
    let (job_ids, lease_numbers): (Vec<i64>, Vec<i32>) = chosen.into_iter().unzip();
    let retry = query("select coordinator.retry_jobs($1, $2, $3)").bind(scan);
    let reopened: i32 = retry.bind(job_ids).bind(lease_numbers).value(&database.pool).await;
    assert_eq!(reopened, 0);
}

#[tokio::test]
async fn a_lock_timeout_reports_the_session_that_holds_the_lock() {
    let database = Database::new().await;
    let reader = database.session().await;
    let reads = "set application_name = 'a dump'; begin; table everytab.pages";
    reader.run(reads).await;
    let pid: i32 = query("select pg_backend_pid()").value(&reader).await;
    let operator = database.session().await;
    let sql = "select coordinator.lock_tables(array['hosts', 'pages'], 'access exclusive')";
    let error = operator.0.query_typed(sql, &[]).await.unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!(error.code().code(), "ET011");
    let expected = format!("table pages is locked by process {pid} (role ");
    assert!(error.message().starts_with(&expected), "{}", error.message());
    assert!(error.message().ends_with("application a dump)"), "{}", error.message());
    reader.run("commit").await;
    operator.run(sql).await;
    let limit: String = query("show lock_timeout").value(&operator).await;
    assert_eq!(limit, "0");
}

/// The owner's role has no lock timeout, unlike the workers' roles.
#[tokio::test]
async fn a_call_by_any_role_waits_at_most_half_a_minute_for_a_lock() {
    let database = Database::new().await;
    // Return the lock timeout as if it were a shard.
    let shows = "create or replace function coordinator.bundled_shards(p_scan integer)
                 returns setof integer language sql stable security definer as $$
                     select extract(epoch from current_setting('lock_timeout')::interval)::integer
                 $$";
    database.run(shows).await;
    assert_eq!(database.owner.bundled_shards(1).await.unwrap(), [30]);
}
