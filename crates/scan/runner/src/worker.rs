//! A worker's loop: leases jobs, and performs each in a task.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use everytab_coordinator::{Coordinator, Digests, Error, JobKind, Lease, LeaseCursors, Progress};
use everytab_fetcher::{Fetcher, Heartbeat};
use everytab_job_result::JobSet;
use everytab_jobs::{Context, icon, index, map, search, warc};
use tokio::{
    sync::watch,
    task::{Id, JoinError, JoinSet},
};
use uuid::Uuid;

use crate::{
    exclusion_poll::poll_exclusions,
    fleet_limits::FleetLimits,
    leases::Leases,
    metrics::{self, instruments},
    one_job::{JobEnd, JobSource, perform_lease},
    store_backoff::{StoreBackoff, jittered},
    withheld::WithheldLog,
};

/// Default maximum time for a drain. A spot notice gives two minutes.
pub const DRAIN: Duration = Duration::from_secs(90);
/// If a job makes no progress for this long, its lease is no longer renewed. This exceeds any
/// single wait in a job, such as for a server's Retry-After.
pub const STALL_LIMIT: Duration = Duration::from_secs(5 * 60);
const _: () = assert!(STALL_LIMIT.as_secs() >= 3 * 60);

/// Number of leases per call. More leases would only wait here while other workers are idle.
const LEASES_PER_CALL: u32 = 1;
/// Number of lease calls that start at a cursor, between two calls that check all jobs and sweep
/// expired leases.
const INCREMENTAL_SCANS: u32 = 20;
/// Initial wait of an idle worker, which doubles each time, up to [`MAX_IDLE`].
const MIN_IDLE: Duration = Duration::from_millis(200);
/// Maximum wait of an idle worker. 200 idle workers then send far fewer than 100 queries per
/// second.
const MAX_IDLE: Duration = Duration::from_secs(8);
const _: () = assert!(MIN_IDLE.as_millis() <= MAX_IDLE.as_millis());
/// Interval at which a worker with all its requests in flight checks for room.
const CAPACITY_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long a worker pauses leases for a job kind after releasing such a job, because it lacks
/// resources, or the database has another schema, is locked or does not respond.
const RELEASE_PAUSE: Duration = Duration::from_secs(5);
/// How long a worker pauses icon jobs after its network or its resolver failed.
const NETWORK_PAUSE: Duration = Duration::from_secs(3);

/// Returns the name under which this process holds leases: `<host>:<process>:<random>`, up to 40
/// characters.
pub fn worker_id() -> String {
    static NAME: OnceLock<String> = OnceLock::new();
    let make = || {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host: String = host.trim().chars().filter(|c| c.is_ascii_graphic()).take(20).collect();
        let random = Uuid::new_v4().simple().to_string();
        format!("{host}:{}:{}", std::process::id(), &random[..8])
    };
    NAME.get_or_init(make).clone()
}

/// A worker's settings.
#[derive(Debug, Clone)]
pub struct WorkerSettings {
    /// The worker's name in leases.
    pub worker_id: String,
    /// The job kinds that the worker leases.
    pub kinds: Vec<JobKind>,
    /// Digests of the parts of the worker's code that affect its jobs' output.
    pub digests: Digests,
    /// Whether the worker exits when the scan has finished.
    pub exit_when_done: bool,
    /// Maximum time for a drain.
    pub drain: Duration,
    /// If a job makes no progress for this long, its lease is no longer renewed.
    pub stall_limit: Duration,
    /// Whether another loop in this process is working. If so, this loop without jobs does not
    /// count as idle.
    pub is_working_elsewhere: Arc<AtomicBool>,
    /// Maximum number of concurrent bundle-shard jobs, one per core.
    pub bundle_jobs: usize,
    /// The jobs of live crawls. `None` if the worker performs only the jobs of scans.
    pub crawl_jobs: Option<Arc<dyn JobSet>>,
}

/// Why a worker stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerEnd {
    /// No scan has work left, and no job was discarded.
    Finished,
    /// No scan has work left, but some jobs were discarded.
    FinishedWithDiscards,
    /// The worker was told to stop, and every lease is completed or released.
    Drained,
    /// A job made no progress, and may be stuck until the process exits.
    Stalled,
}

/// Performs jobs until the work is done or `stop` becomes true.
///
/// # Errors
/// Returns an error if Postgres rejects a call permanently. While Postgres cannot be reached, the
/// worker waits.
pub async fn run(
    coordinator: Coordinator,
    context: Context,
    settings: WorkerSettings,
    mut stop: watch::Receiver<bool>,
) -> Result<WorkerEnd, Error> {
    let fleet_limits = FleetLimits::new(context.clone());
    let worker_id = settings.worker_id.clone();
    let stall_limit = settings.stall_limit;
    let leases = Arc::new(Leases::new(coordinator.clone(), worker_id, stall_limit, fleet_limits));
    metrics::begin_at_zero(&settings.kinds);
    let exclusions = poll_exclusions(coordinator.clone(), context.clone());
    let keeping_exclusions = tokio::spawn(exclusions);
    let renewing = tokio::spawn(Arc::clone(&leases).renew_repeatedly());
    let mut worker = Worker {
        store_backoff: StoreBackoff::new(context.clone()),
        coordinator,
        context,
        settings,
        leases,
        running: JoinSet::new(),
        busy: HashMap::new(),
        icons_paused_until: None,
        paused: HashMap::new(),
        has_logged_idle: false,
        withheld: WithheldLog::default(),
        cursors: LeaseCursors::default(),
        scans_before_full: 0,
        has_stalled: false,
    };
    worker.withheld.refresh(&worker.coordinator, &worker.settings.digests).await;
    let end = worker.work(&mut stop).await;
    worker.drain().await;
    renewing.abort();
    keeping_exclusions.abort();
    end
}

struct Worker {
    coordinator: Coordinator,
    context: Context,
    settings: WorkerSettings,
    leases: Arc<Leases>,
    running: JoinSet<JobEnd>,
    busy: HashMap<Id, (JobKind, Heartbeat)>,
    icons_paused_until: Option<Instant>,
    /// Kinds that this worker does not lease before the given time, because it released a job of
    /// that kind.
    paused: HashMap<JobKind, Instant>,
    store_backoff: StoreBackoff,
    has_logged_idle: bool,
    withheld: WithheldLog,
    cursors: LeaseCursors,
    scans_before_full: u32,
    has_stalled: bool,
}

impl Worker {
    async fn work(&mut self, stop: &mut watch::Receiver<bool>) -> Result<WorkerEnd, Error> {
        let mut pause = MIN_IDLE;
        loop {
            if *stop.borrow() {
                return Ok(WorkerEnd::Drained);
            }
            if self.has_stalled {
                return Ok(WorkerEnd::Stalled);
            }
            // An unresponsive resolver must not delay a drain.
            tokio::select! {
                () = self.recheck_network() => {}
                _ = stop.wait_for(|stop| *stop) => continue,
            }
            let kinds = self.free_kinds();
            let leased = if kinds.is_empty() { Ok(Vec::new()) } else { self.lease(&kinds).await };
            match leased {
                Ok(leased) if !leased.is_empty() => {
                    pause = MIN_IDLE;
                    self.has_logged_idle = false;
                    for lease in leased {
                        self.start(lease);
                    }
                    continue;
                }
                Ok(_) => {
                    if let Some(end) = self.has_finished(!kinds.is_empty()).await? {
                        return Ok(end);
                    }
                }
                Err(error) if error.is_transient() => {
                    tracing::warn!(%error, "cannot reach Postgres; retrying");
                }
                Err(error) => return Err(error),
            }
            let room = room_for_requests(self.context.fetcher.clone());
            let store_available = self.store_backoff.store_available();
            tokio::select! {
                Some(ended) = self.running.join_next_with_id() => {
                    self.handle_end(ended);
                    pause = MIN_IDLE;
                }
                () = room => pause = MIN_IDLE,
                () = store_available => pause = MIN_IDLE,
                () = tokio::time::sleep(jittered(pause)) => {
                    pause = (pause * 2).min(MAX_IDLE);
                }
                _ = stop.changed() => {}
            }
        }
    }

    fn free_kinds(&self) -> Vec<JobKind> {
        let icons_paused = self.icons_paused_until.is_some();
        let in_flight = self.context.fetcher.in_flight().limit;
        let is_full = !self.context.fetcher.has_room();
        let most = |kind| match kind {
            JobKind::Index => index::CONCURRENT_JOBS,
            JobKind::Warc => warc::CONCURRENT_JOBS,
            JobKind::Icon if icons_paused => 0,
            JobKind::Icon if is_full || self.is_starting(kind) => 1,
            JobKind::Icon => icon::concurrent_jobs(in_flight),
            JobKind::BundleShard => self.settings.bundle_jobs,
            JobKind::Search => search::CONCURRENT_JOBS,
            JobKind::Map => map::CONCURRENT_JOBS,
            JobKind::Publish => 1,
            JobKind::CrawlIndex | JobKind::CrawlClose => {
                let jobs = self.settings.crawl_jobs.as_ref();
                jobs.map_or(0, |jobs| jobs.concurrent_jobs(kind))
            }
        };
        let busy = |kind| self.busy.values().filter(|(busy, _)| *busy == kind).count();
        let now = Instant::now();
        let is_paused = |kind| self.paused.get(&kind).is_some_and(|until| *until > now);
        let most = |kind| most(kind).min(self.store_backoff.most(kind));
        let free = |kind: &JobKind| !is_paused(*kind) && busy(*kind) < most(*kind);
        self.settings.kinds.iter().copied().filter(free).collect()
    }

    /// Until a job has handled its first item, its permits look free, and another lease would only
    /// withhold a job from an idle worker.
    fn is_starting(&self, kind: JobKind) -> bool {
        self.busy.values().any(|(busy, heartbeat)| *busy == kind && heartbeat.count() == 0)
    }

    /// A full scan is used periodically, and after a call that found nothing.
    async fn lease(&mut self, kinds: &[JobKind]) -> Result<Vec<Lease>, Error> {
        let WorkerSettings { worker_id, digests, .. } = &self.settings;
        let is_full_scan = self.scans_before_full == 0;
        let cursors = if is_full_scan { LeaseCursors::default() } else { self.cursors.clone() };
        let call = self.coordinator.lease(worker_id, kinds, LEASES_PER_CALL, digests, &cursors);
        let leases = metrics::call("lease", call).await?;
        self.cursors.note(&leases);
        self.scans_before_full = if leases.is_empty() {
            0
        } else if is_full_scan {
            INCREMENTAL_SCANS
        } else {
            self.scans_before_full - 1
        };
        Ok(leases)
    }

    /// Only the scans' counters decide this, because other workers may finish a scan while this one
    /// may not lease (`may_lease` is false).
    async fn has_finished(&mut self, may_lease: bool) -> Result<Option<WorkerEnd>, Error> {
        let works_elsewhere = self.settings.is_working_elsewhere.load(Ordering::Relaxed);
        let is_idle = may_lease && !self.has_logged_idle && !works_elsewhere;
        let wants_to_know = self.settings.exit_when_done || is_idle;
        if !self.running.is_empty() || !wants_to_know {
            return Ok(None);
        }
        let progress = match metrics::call(
            "progress",
            self.coordinator.progress(&self.settings.kinds),
        )
        .await
        {
            Ok(progress) => progress,
            Err(error) if error.is_transient() => return Ok(None),
            Err(error) => return Err(error),
        };
        if is_idle {
            self.withheld.refresh(&self.coordinator, &self.settings.digests).await;
            let kinds: Vec<&str> = self.settings.kinds.iter().map(|kind| kind.as_str()).collect();
            tracing::info!(kinds = kinds.join(","), ?progress, "no work now; waiting");
            self.has_logged_idle = true;
        }
        Ok(match progress {
            Progress::Ended if self.settings.exit_when_done => Some(WorkerEnd::Finished),
            // A crawl that found nothing to do created no run.
            Progress::NoScan if self.settings.exit_when_done && !self.takes_scans() => {
                Some(WorkerEnd::Finished)
            }
            Progress::EndedWithDiscards if self.settings.exit_when_done => {
                Some(WorkerEnd::FinishedWithDiscards)
            }
            _ => None,
        })
    }

    fn takes_scans(&self) -> bool {
        self.settings.kinds.iter().any(|kind| JobKind::OF_SCANS.contains(kind))
    }

    fn source_of(&self, kind: JobKind) -> JobSource {
        let is_of_crawls = JobKind::OF_CRAWLS.contains(&kind);
        let jobs = self.settings.crawl_jobs.as_ref().filter(|_| is_of_crawls);
        jobs.map_or_else(
            || JobSource::Scan(self.context.clone()),
            |jobs| JobSource::Set(Arc::clone(jobs)),
        )
    }

    fn start(&mut self, lease: Lease) {
        let kind = lease.kind;
        let heartbeat = Heartbeat::default();
        let trusted = self.leases.add(&lease, heartbeat.clone());
        let beating = heartbeat.clone();
        let coordinator = self.coordinator.clone();
        let source = self.source_of(kind);
        let leases = Arc::clone(&self.leases);
        let task = self.running.spawn(async move {
            let fence = lease.fence;
            let ended = perform_lease(&coordinator, source, lease, trusted, heartbeat).await;
            leases.remove(fence);
            ended
        });
        self.busy.insert(task.id(), (kind, beating));
        instruments().jobs_leased.add(1, &[metrics::label("kind", kind.as_str())]);
        self.show_running(kind);
    }

    fn show_running(&self, kind: JobKind) {
        let running = self.busy.values().filter(|(busy, _)| *busy == kind).count();
        instruments().jobs_running.record(running as u64, &[metrics::label("kind", kind.as_str())]);
    }

    fn handle_end(&mut self, ended: Result<(Id, JobEnd), JoinError>) {
        let (id, ended) = ended.unwrap_or_else(|error| {
            tracing::error!(%error, "a job's task panicked");
            (error.id(), JobEnd::Ended)
        });
        let busy = self.busy.remove(&id);
        if let Some((kind, _)) = &busy {
            self.show_running(*kind);
        }
        match ended {
            JobEnd::Ended => {}
            JobEnd::Completed => {
                if let Some((kind, _)) = busy {
                    self.store_backoff.completed(kind);
                }
            }
            JobEnd::Outage { outage, lease } => self.store_backoff.begin(*outage, lease),
            JobEnd::Stalled => self.has_stalled = true,
            JobEnd::Released => {
                let until = Instant::now() + RELEASE_PAUSE;
                self.paused.extend(busy.map(|(kind, _)| (kind, until)));
            }
            JobEnd::LocalFailure => {
                self.icons_paused_until = Some(Instant::now() + NETWORK_PAUSE);
                instruments().icons_paused.record(1, &[]);
            }
        }
    }

    async fn recheck_network(&mut self) {
        if self.icons_paused_until.is_none_or(|until| Instant::now() < until) {
            return;
        }
        match self.context.fetcher.check_network().await {
            Ok(()) => {
                tracing::info!("the network works again; leasing icon jobs");
                self.icons_paused_until = None;
                instruments().icons_paused.record(0, &[]);
            }
            Err(failure) => {
                let reason = self.context.fetcher.describe(failure);
                tracing::warn!(reason, "the network still fails; no icon jobs");
                self.icons_paused_until = Some(Instant::now() + NETWORK_PAUSE);
            }
        }
    }

    async fn drain(&mut self) {
        if self.running.is_empty() {
            return;
        }
        tracing::info!(jobs = self.running.len(), "draining: finishing leased jobs");
        let all = async { while self.running.join_next().await.is_some() {} };
        if tokio::time::timeout(self.settings.drain, all).await.is_err() {
            tracing::info!(jobs = self.running.len(), "releasing unfinished jobs");
            self.leases.release_all();
            while self.running.join_next().await.is_some() {}
        }
    }
}

/// Without this wait, free permits would remain unused during a pause.
async fn room_for_requests(fetcher: Fetcher) {
    if fetcher.has_room() {
        return std::future::pending().await;
    }
    while !fetcher.has_room() {
        tokio::time::sleep(CAPACITY_POLL_INTERVAL).await;
    }
}
