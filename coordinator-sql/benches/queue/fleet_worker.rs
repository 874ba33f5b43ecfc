//! A simulated worker: leases, loads, renews and completes as the real one does; its jobs wait.

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

/// How often a worker asks, as in crates/runner/src/worker.rs.
const IDLE_AT_LEAST: Duration = Duration::from_millis(200);
const IDLE_AT_MOST: Duration = Duration::from_secs(5);
const SHORT_LOOKS: u32 = 20;

/// How long a job of each kind takes, so that the fleet makes the scan last as long as it does.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    seconds_a_place: f64,
}

impl Pace {
    pub(crate) const KINDS: [JobKind; 3] = [JobKind::Warc, JobKind::Icon, JobKind::BundleShard];

    pub(crate) fn of(workers: u32, shards: u32, scan: Duration) -> Self {
        Self { seconds_a_place: scan.as_secs_f64() / f64::from(shards) * f64::from(workers) }
    }

    /// Jobs of a kind that a worker runs at a time.
    fn places(kind: JobKind) -> u32 {
        match kind {
            JobKind::Warc => 2,
            JobKind::Icon => 8,
            _ => 1,
        }
    }

    /// Leases of a kind that the whole fleet holds.
    pub(crate) fn held(&self, workers: u32, kind: JobKind) -> u32 {
        workers * Self::places(kind)
    }

    /// How long a job takes: all shards pass through all places of the fleet in the scan's time.
    fn job(&self, kind: JobKind) -> Duration {
        Duration::from_secs_f64(self.seconds_a_place * f64::from(Self::places(kind)))
    }
}

struct Worker {
    coordinator: Coordinator,
    holder: String,
    pace: Pace,
    timings: Arc<Timings>,
    held: Arc<Mutex<HashMap<Fence, Instant>>>,
    running: JoinSet<JobKind>,
    busy: HashMap<JobKind, u32>,
    /// The first jobs of each place are in the midst of their run.
    begun: HashMap<JobKind, u32>,
}

pub(crate) async fn work(
    url: Arc<str>,
    number: u32,
    pace: Pace,
    timings: Arc<Timings>,
    stop: Arc<AtomicBool>,
) {
    // A fleet comes up one by one.
    tokio::time::sleep(Duration::from_millis(150) * number).await;
    let coordinator = Coordinator::connect(&url, &ConnectSettings::default()).await.unwrap();
    let held = Arc::new(Mutex::new(HashMap::new()));
    let holder = format!("worker-{number}");
    let renewing = tokio::spawn(renew_for_ever(
        coordinator.clone(),
        holder.clone(),
        Arc::clone(&held),
        Arc::clone(&timings),
    ));
    let mut worker = Worker {
        coordinator,
        holder,
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
        let (mut hints, mut short_looks) = (LeaseCursors::default(), 0);
        let mut pause = IDLE_AT_LEAST;
        while !stop.load(Ordering::Relaxed) {
            let free =
                |kind: &JobKind| self.busy.get(kind).copied().unwrap_or(0) < Pace::places(*kind);
            let kinds: Vec<JobKind> = Pace::KINDS.into_iter().filter(free).collect();
            if !kinds.is_empty() {
                let begun = Instant::now();
                let looked = if short_looks == 0 { LeaseCursors::default() } else { hints.clone() };
                let digests = digests();
                let leased = self.coordinator.lease(&self.holder, &kinds, 1, &digests, &looked);
                let leases = leased.await.unwrap();
                self.timings.note(if leases.is_empty() { "lease (none)" } else { "lease" }, begun);
                hints.note(&leases);
                short_looks = match (leases.is_empty(), short_looks) {
                    (true, _) => 0,
                    (false, 0) => SHORT_LOOKS,
                    (false, left) => left - 1,
                };
                if !leases.is_empty() {
                    pause = IDLE_AT_LEAST;
                    leases.into_iter().for_each(|lease| self.start(lease));
                    continue;
                }
            }
            tokio::select! {
                Some(ended) = self.running.join_next() => {
                    *self.busy.entry(ended.unwrap()).or_default() -= 1;
                    pause = IDLE_AT_LEAST;
                }
                () = tokio::time::sleep(pause.mul_f64(0.5 + chance() / 2.0)) => {
                    pause = (pause * 2).min(IDLE_AT_MOST);
                }
            }
        }
    }

    fn start(&mut self, lease: Lease) {
        let kind = lease.kind;
        *self.busy.entry(kind).or_default() += 1;
        let begun = self.begun.entry(kind).or_default();
        *begun += 1;
        let is_first = *begun <= Pace::places(kind);
        // Between nine and eleven tenths, and of the first whatever is left of them.
        let share = if is_first { chance() } else { 0.9 + chance() / 5.0 };
        let takes = self.pace.job(kind).mul_f64(share);
        self.held().insert(lease.fence, Instant::now());
        let (coordinator, timings) = (self.coordinator.clone(), Arc::clone(&self.timings));
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
    let (kind, scan, part) = (lease.kind, lease.run, lease.part);
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

/// Renews all leases of a worker when one has used up a third of its time.
async fn renew_for_ever(
    coordinator: Coordinator,
    holder: String,
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
        let renewal = coordinator.renew(&holder, &fences).await.unwrap();
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

/// Between 0 and 1.
fn chance() -> f64 {
    f64::from(uuid::Uuid::new_v4().as_u128() as u32) / f64::from(u32::MAX)
}
