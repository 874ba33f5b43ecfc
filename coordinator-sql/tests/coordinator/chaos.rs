//! Stress test of leases that are shorter than the jobs: no job may be completed twice, and no call
//! with a lost lease may be accepted.
//!
//! If leases are renewed, they last half a second, and a tenth of the jobs take longer than this.
//! On a busy computer a worker cannot renew within 30 ms, and a job whose leases expire repeatedly
//! is backed off for minutes.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use everytab_coordinator::{
    Completion, ConnectSettings, Coordinator, Fence, JobKind, Lease, LeaseCursors, Output,
    VerbResult,
};
use serde_json::json;

use crate::{
    session::query,
    setup::{Database, again, digests, no_counts, soon},
};

const WORKERS: u64 = 16;
const LEASE_MS: i32 = 30;
const RENEWED_LEASE_MS: i32 = 500;

#[derive(Default)]
struct Table {
    recorded: Mutex<HashMap<i64, usize>>,
    stale_completions: AtomicUsize,
    stale_failures: AtomicUsize,
    refused: AtomicUsize,
    done: AtomicBool,
}

struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut random = self.0;
        random = (random ^ (random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (random ^ (random >> 31)) as f64 / u64::MAX as f64
    }
}

/// A lost lease never becomes current again, so the next call must be rejected.
async fn is_lost(database: &Database, fence: Fence) -> bool {
    let sql = "select not exists (select from everytab.jobs where job_id = $1
               and lease_number = $2 and lease_token = $3 and state = 'leased')";
    query(sql)
        .bind(fence.job_id)
        .bind(fence.lease_number)
        .bind(fence.token)
        .value(&database.pool)
        .await
}

async fn end(database: &Database, worker: &Coordinator, lease: Lease, fails: bool, table: &Table) {
    let fence = lease.fence;
    let lost = is_lost(database, fence).await;
    if fails {
        let failure = worker.retry(lease, "failed", soon()).await.unwrap();
        if lost && failure != VerbResult::Lost {
            table.stale_failures.fetch_add(1, Ordering::SeqCst);
        }
        table.refused.fetch_add(usize::from(failure == VerbResult::Lost), Ordering::SeqCst);
        return;
    }
    let copy = again(&lease);
    let stats = no_counts();
    let completion = worker.complete(lease, &Output::Nothing, &stats, soon()).await.unwrap();
    match completion {
        Completion::Recorded => {
            *table.recorded.lock().unwrap().entry(fence.job_id).or_default() += 1;
            if lost {
                table.stale_completions.fetch_add(1, Ordering::SeqCst);
            }
            let twice = worker.complete(copy, &Output::Nothing, &stats, soon()).await.unwrap();
            assert_eq!(twice, Completion::AlreadyRecorded);
        }
        Completion::AlreadyRecorded => panic!("completed before by another worker: {fence:?}"),
        Completion::Lost => {
            table.refused.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn work(database: Arc<Database>, number: u64, renews: bool, table: Arc<Table>) {
    let settings = ConnectSettings { max_connections: 1, ..ConnectSettings::default() };
    let worker = Coordinator::connect(&database.worker_url, &settings).await.unwrap();
    let worker_id = format!("worker-{number}");
    let mut draws = Draws(number);
    while !table.done.load(Ordering::SeqCst) {
        let kinds = &[JobKind::Index];
        let cursors = LeaseCursors::default();
        let mut leases = worker.lease(&worker_id, kinds, 1, &digests(), &cursors).await.unwrap();
        let Some(lease) = leases.pop() else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        let mut left = Duration::from_secs_f64(0.001 + 0.059 * draws.next());
        let renewed = Duration::from_millis(RENEWED_LEASE_MS.unsigned_abs().into());
        if renews && draws.next() < 0.1 {
            left += renewed * 2;
        }
        while renews && !left.is_zero() {
            let step = left.min(renewed / 3);
            tokio::time::sleep(step).await;
            left -= step;
            worker.renew(&worker_id, &[lease.fence]).await.unwrap();
        }
        tokio::time::sleep(left).await;
        end(&database, &worker, lease, draws.next() < 0.1, &table).await;
    }
    worker.close().await;
}

async fn chaos(jobs: usize, renews: bool) {
    let database = Arc::new(Database::new().await);
    let lease_ms = if renews { RENEWED_LEASE_MS } else { LEASE_MS };
    let scan = database.start_with(jobs, lease_ms, json!({"entries_per_bundle": 1})).await;
    let table = Arc::new(Table::default());
    let mut workers = tokio::task::JoinSet::new();
    for number in 0..WORKERS {
        workers.spawn(work(Arc::clone(&database), number, renews, Arc::clone(&table)));
    }
    let unfinished = "select count(*) from everytab.jobs
                       where run = $1 and kind = 'index'
                         and state in ('pending', 'leased')";
    // Without renewal, some jobs never finish within their lease, so stop after 400 sweeps.
    for sweep in 0.. {
        database.worker.sweep(100).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
        let over = !renews && sweep >= 400;
        if over || (sweep % 20 == 0 && database.value::<i64>(unfinished, scan).await == 0) {
            break;
        }
    }
    table.done.store(true, Ordering::SeqCst);
    while let Some(ended) = workers.join_next().await {
        ended.unwrap();
    }
    let recorded = table.recorded.lock().unwrap().clone();
    let twice = recorded.values().filter(|times| **times > 1).count();
    let stale = (
        table.stale_completions.load(Ordering::SeqCst),
        table.stale_failures.load(Ordering::SeqCst),
    );
    let refused = table.refused.load(Ordering::SeqCst);
    println!(
        "renewal {renews}: {} of {jobs} jobs completed, {twice} twice; accepted of stale \
         completions {}, of stale failures {}; {refused} stale calls rejected",
        recorded.len(),
        stale.0,
        stale.1
    );
    assert_eq!((twice, stale), (0, (0, 0)));
    let results = "select count(*) from everytab.job_results where run = $1 and kind = 'index'";
    assert_eq!(database.value::<i64>(results, scan).await, recorded.len() as i64);
    database.assert_audited(scan).await;
    if renews {
        let discarded = "select count(*) from everytab.jobs
                          where run = $1 and kind = 'index' and state = 'discarded'";
        let discarded: i64 = database.value(discarded, scan).await;
        assert_eq!(recorded.len() as i64 + discarded, jobs as i64, "every job must end");
    } else {
        assert!(refused > 0, "no lease expired before its job finished");
    }
}

fn jobs() -> usize {
    std::env::var("CHAOS_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(3_000)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_with_a_lost_lease_is_accepted_while_leases_expire() {
    chaos(jobs(), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_renewal_every_job_ends_and_completes_at_most_once() {
    chaos(jobs(), true).await;
}
