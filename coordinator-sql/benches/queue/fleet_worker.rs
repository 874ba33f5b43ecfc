//! Simulates a scan's worker, whose jobs only wait.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use everytab_coordinator::{
    Completion, ConnectSettings, Coordinator, Error, Fence, JobKind, Lease, LeaseCursors,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::task::JoinSet;

use crate::{samples, server::digests, timings::Timings};

/// Pause of an idle worker before its next lease call, doubled up to [`MAX_IDLE`], as in
/// `crates/scan/runner/src/worker.rs`.
const MIN_IDLE: Duration = Duration::from_millis(200);
const MAX_IDLE: Duration = Duration::from_secs(5);
/// Lease calls with a cursor between two full scans, as in `crates/scan/runner/src/worker.rs`.
const INCREMENTAL_SCANS: u32 = 20;

#[derive(Clone, Copy)]
pub(crate) struct Pace {
    seconds_per_permit: f64,
}

impl Pace {
    pub(crate) const KINDS: [JobKind; 3] = [JobKind::Warc, JobKind::Icon, JobKind::BundleShard];

    pub(crate) fn of(workers: u32, shards: u32, scan: Duration) -> Self {
        Self { seconds_per_permit: scan.as_secs_f64() / f64::from(shards) * f64::from(workers) }
    }

    fn permits(kind: JobKind) -> u32 {
        match kind {
            JobKind::Warc => 2,
            JobKind::Icon => 8,
            _ => 1,
        }
    }

    pub(crate) fn leases(&self, workers: u32, kind: JobKind) -> u32 {
        workers * Self::permits(kind)
    }

    /// Returns how long a job takes if all the fleet's permits together complete all shards in the
    /// scan's time.
    fn job(&self, kind: JobKind) -> Duration {
        Duration::from_secs_f64(self.seconds_per_permit * f64::from(Self::permits(kind)))
    }
}

struct Worker {
    coordinator: Coordinator,
    worker_id: String,
    pace: Pace,
    timings: Arc<Timings>,
    held: Arc<Mutex<HashMap<Fence, Instant>>>,
    running: JoinSet<JobKind>,
    busy: HashMap<JobKind, u32>,
    /// Number of started jobs. A worker's first jobs are shorter, as if they had started earlier.
    begun: HashMap<JobKind, u32>,
}

pub(crate) async fn work(
    url: Arc<str>,
    number: u32,
    pace: Pace,
    timings: Arc<Timings>,
    stop: Arc<AtomicBool>,
) {
    // Real fleets also start their workers one by one.
    tokio::time::sleep(Duration::from_millis(150) * number).await;
    let coordinator = Coordinator::connect(&url, &ConnectSettings::default()).await.unwrap();
    let held = Arc::new(Mutex::new(HashMap::new()));
    let worker_id = format!("worker-{number}");
    let renewing = tokio::spawn(renew_forever(
        coordinator.clone(),
        worker_id.clone(),
        Arc::clone(&held),
        Arc::clone(&timings),
    ));
    let mut worker = Worker {
        coordinator,
        worker_id,
        pace,
        timings,
        held,
        running: JoinSet::new(),
        busy: HashMap::new(),
        begun: HashMap::new(),
    };
    worker.work(&stop).await;
    renewing.abort();
    worker.running.shutdown().await;
    worker.coordinator.close().await;
}

impl Worker {
    async fn work(&mut self, stop: &AtomicBool) {
        let mut cursors = LeaseCursors::default();
        let mut incremental_scans = 0;
        let mut pause = MIN_IDLE;
        while !stop.load(Ordering::Relaxed) {
            let free =
                |kind: &JobKind| self.busy.get(kind).copied().unwrap_or(0) < Pace::permits(*kind);
            let kinds: Vec<JobKind> = Pace::KINDS.into_iter().filter(free).collect();
            if !kinds.is_empty() {
                let begun = Instant::now();
                let from =
                    if incremental_scans == 0 { LeaseCursors::default() } else { cursors.clone() };
                let digests = digests();
                let leased = self.coordinator.lease(&self.worker_id, &kinds, 1, &digests, &from);
                let leases = leased.await.unwrap();
                self.timings.note(if leases.is_empty() { "lease (none)" } else { "lease" }, begun);
                cursors.note(&leases);
                incremental_scans = match (leases.is_empty(), incremental_scans) {
                    (true, _) => 0,
                    (false, 0) => INCREMENTAL_SCANS,
                    (false, left) => left - 1,
                };
                if !leases.is_empty() {
                    pause = MIN_IDLE;
                    leases.into_iter().for_each(|lease| self.start(lease));
                    continue;
                }
            }
            tokio::select! {
                Some(ended) = self.running.join_next() => {
                    *self.busy.entry(ended.unwrap()).or_default() -= 1;
                    pause = MIN_IDLE;
                }
                () = tokio::time::sleep(pause.mul_f64(0.5 + random_share() / 2.0)) => {
                    pause = (pause * 2).min(MAX_IDLE);
                }
            }
        }
    }

    fn start(&mut self, lease: Lease) {
        let kind = lease.kind;
        *self.busy.entry(kind).or_default() += 1;
        let begun = self.begun.entry(kind).or_default();
        *begun += 1;
        let is_first = *begun <= Pace::permits(kind);
        let share = if is_first { random_share() } else { 0.9 + random_share() / 5.0 };
        let takes = self.pace.job(kind).mul_f64(share);
        self.held().insert(lease.fence, Instant::now());
        let coordinator = self.coordinator.clone();
        let timings = Arc::clone(&self.timings);
        let held = Arc::clone(&self.held);
        self.running.spawn(async move {
            let fence = lease.fence;
            perform(&coordinator, &timings, lease, takes).await;
            held.lock().remove(&fence);
            kind
        });
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Fence, Instant>> {
        self.held.lock()
    }
}

async fn perform(coordinator: &Coordinator, timings: &Timings, lease: Lease, takes: Duration) {
    let kind = lease.kind;
    let scan = lease.run;
    let part = lease.part;
    let begun = Instant::now();
    while let Err(error) = load(coordinator, kind, scan, part).await {
        assert!(error.is_transient(), "{error}");
        timings.note("load (again)", begun);
    }
    let verbs = match kind {
        JobKind::Warc => ("load warc", "complete warc"),
        JobKind::Icon => ("load icon", "complete icon"),
        _ => ("load bundle-shard", "complete bundle-shard"),
    };
    timings.note(verbs.0, begun);
    tokio::time::sleep(takes).await;
    let output = samples::output(kind, part);
    let begun = Instant::now();
    let until = begun + Duration::from_secs(200);
    let completion = coordinator.complete(lease, &output, &samples::stats(), until).await;
    assert_eq!(completion.unwrap(), Completion::Recorded);
    timings.note(verbs.1, begun);
}

async fn load(coordinator: &Coordinator, kind: JobKind, scan: i32, part: i32) -> Result<(), Error> {
    let hosts = match kind {
        JobKind::Warc => return coordinator.load_warc(scan, part).await.map(drop),
        JobKind::Icon => coordinator.load_icon(scan, part).await?.len(),
        _ => coordinator.load_bundle_shard(scan, part).await?.len(),
    };
    assert_eq!(hosts, samples::PAGES as usize, "{kind} {part}");
    Ok(())
}

async fn renew_forever(
    coordinator: Coordinator,
    worker_id: String,
    held: Arc<Mutex<HashMap<Fence, Instant>>>,
    timings: Arc<Timings>,
) {
    let third = Duration::from_secs(100);
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let fences: Vec<Fence> = {
            let held = held.lock();
            if !held.values().any(|since| since.elapsed() >= third) {
                continue;
            }
            held.keys().copied().collect()
        };
        let begun = Instant::now();
        let renewal = coordinator.renew(&worker_id, &fences).await.unwrap();
        timings.note("renew", begun);
        let mut held = held.lock();
        for fence in fences {
            if let Some(since) = held.get_mut(&fence) {
                assert!(renewal.held.contains(&fence.job_id), "a lease was lost");
                *since = begun;
            }
        }
    }
}

fn random_share() -> f64 {
    f64::from(uuid::Uuid::new_v4().as_u128() as u32) / f64::from(u32::MAX)
}
