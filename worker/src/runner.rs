//! Lease, run, renew, complete: the loop that every worker is.
//!
//! It owns the leases. A lease that is not renewed in time, or that a renewal does not bring back,
//! ends its run at once; what the run would have written is refused by the fence anyway. It knows
//! job kinds and nothing of what they do.

mod fleet_limits;
mod item_journal;
mod leases;
mod one_job;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::{Coordinator, Error, JobKind, Lease, LeaseCursors, Progress};
use everytab_fetcher::{Fetcher, Heartbeat};
use tokio::{
    sync::watch,
    task::{Id, JoinError, JoinSet},
};

use crate::{
    context::Context,
    limits,
    telemetry::{self, metrics, metrics::label},
};
use fleet_limits::FleetLimits;
use leases::Leases;
use one_job::{Ended, finish};

/// What a worker is told.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// Its name in leases.
    pub holder: String,
    /// The kinds that it takes.
    pub kinds: Vec<JobKind>,
    /// The digest of its icon encoder.
    pub encoder: String,
    /// Whether it ends when the scan has.
    pub exit_when_done: bool,
    /// How long a drain may take.
    pub drain: Duration,
    /// How long a run may get nowhere before its lease is no longer renewed.
    pub stall_limit: Duration,
    /// Bundle-shard jobs at a time: one a core.
    pub bundle_jobs: usize,
}

/// How a worker's run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// The scan is finished.
    Finished,
    /// The scan is finished, with discarded jobs.
    FinishedWithDiscards,
    /// Asked to stop, and every lease is finished or given back.
    Drained,
    /// A run got nowhere: what it is stuck in may only end with the process.
    Stalled,
}

/// Works until the work is done or `stop` turns true.
///
/// # Errors
/// When Postgres refuses for good; troubles that pass are waited out.
pub async fn run(
    coordinator: Coordinator,
    context: Context,
    settings: RunSettings,
    mut stop: watch::Receiver<bool>,
) -> Result<RunEnd, Error> {
    let fleet_limits = FleetLimits::new(context.fetcher.clone());
    let (holder, stall_limit) = (settings.holder.clone(), settings.stall_limit);
    let leases = Arc::new(Leases::new(coordinator.clone(), holder, stall_limit, fleet_limits));
    metrics::begin_at_zero(&settings.kinds);
    let renewing = tokio::spawn(Arc::clone(&leases).renew_for_ever());
    let mut worker = Worker {
        coordinator,
        context,
        settings,
        leases,
        running: JoinSet::new(),
        busy: HashMap::new(),
        icons_rest_until: None,
        resting: HashMap::new(),
        canaries: Vec::new(),
        said_idle: false,
        hints: LeaseCursors::default(),
        short_looks: 0,
        has_stalled: false,
    };
    let end = worker.work(&mut stop).await;
    worker.drain().await;
    renewing.abort();
    end
}

struct Worker {
    coordinator: Coordinator,
    context: Context,
    settings: RunSettings,
    leases: Arc<Leases>,
    running: JoinSet<Ended>,
    busy: HashMap<Id, (JobKind, Heartbeat)>,
    icons_rest_until: Option<Instant>,
    /// Kinds for which there was no room, until when they are left alone.
    resting: HashMap<JobKind, Instant>,
    canaries: Vec<String>,
    said_idle: bool,
    hints: LeaseCursors,
    /// Leases to ask for by hints before the next full look.
    short_looks: u32,
    has_stalled: bool,
}

impl Worker {
    async fn work(&mut self, stop: &mut watch::Receiver<bool>) -> Result<RunEnd, Error> {
        let mut pause = limits::IDLE_AT_LEAST;
        loop {
            if *stop.borrow() {
                return Ok(RunEnd::Drained);
            }
            if self.has_stalled {
                return Ok(RunEnd::Stalled);
            }
            self.ask_canaries().await;
            let kinds = self.free_kinds();
            let leased = if kinds.is_empty() { Ok(Vec::new()) } else { self.lease(&kinds).await };
            match leased {
                Ok(leased) if !leased.is_empty() => {
                    pause = limits::IDLE_AT_LEAST;
                    self.said_idle = false;
                    for lease in leased {
                        self.start(lease);
                    }
                    continue;
                }
                Ok(_) => {
                    if let Some(end) = self.is_over(!kinds.is_empty()).await? {
                        return Ok(end);
                    }
                }
                Err(error) if error.is_transient() => {
                    tracing::warn!(%error, "Postgres cannot be asked; trying again");
                }
                Err(error) => return Err(error),
            }
            let room = room_again(self.context.fetcher.clone());
            tokio::select! {
                Some(ended) = self.running.join_next_with_id() => {
                    self.note(ended);
                    pause = limits::IDLE_AT_LEAST;
                }
                () = room => pause = limits::IDLE_AT_LEAST,
                () = tokio::time::sleep(jittered(pause)) => {
                    pause = (pause * 2).min(limits::IDLE_AT_MOST);
                }
                _ = stop.changed() => {}
            }
        }
    }

    /// The kinds of which another job can be taken now.
    fn free_kinds(&self) -> Vec<JobKind> {
        let resting = self.icons_rest_until.is_some();
        let (_, slots) = self.context.fetcher.slots();
        let is_full = !self.context.fetcher.has_room();
        let most = |kind| match kind {
            JobKind::Index => limits::INDEX_JOBS,
            JobKind::Warc => limits::WARC_JOBS,
            JobKind::Icon if resting => 0,
            JobKind::Icon if is_full || self.is_starting(kind) => 1,
            JobKind::Icon => limits::icon_jobs(slots),
            JobKind::BundleShard => self.settings.bundle_jobs,
            JobKind::Search => limits::SEARCH_JOBS,
            JobKind::Publish => 1,
        };
        let busy = |kind| self.busy.values().filter(|(busy, _)| *busy == kind).count();
        let now = Instant::now();
        let rests = |kind| self.resting.get(&kind).is_some_and(|until| *until > now);
        let free = |kind: &JobKind| !rests(*kind) && busy(*kind) < most(*kind);
        self.settings.kinds.iter().copied().filter(free).collect()
    }

    /// Whether a job of a kind has yet to do its first item: until then the slots that it will take
    /// look empty, and another lease would only keep the job from an idle worker.
    fn is_starting(&self, kind: JobKind) -> bool {
        self.busy.values().any(|(busy, heartbeat)| *busy == kind && heartbeat.count() == 0)
    }

    /// Leases by a short look; now and then, and where that finds nothing, by a full one.
    async fn lease(&mut self, kinds: &[JobKind]) -> Result<Vec<Lease>, Error> {
        let RunSettings { holder, encoder, .. } = &self.settings;
        let wanted = limits::LEASES_PER_CALL;
        let is_full = self.short_looks == 0;
        let hints = if is_full { LeaseCursors::default() } else { self.hints.clone() };
        let asked = self.coordinator.lease(holder, kinds, wanted, encoder, &hints);
        let leases = telemetry::call("lease", asked).await?;
        self.hints.note(&leases);
        self.short_looks = match leases.is_empty() {
            true => 0,
            false if is_full => limits::SHORT_LOOKS,
            false => self.short_looks - 1,
        };
        Ok(leases)
    }

    /// Whether there is nothing left to wait for. An empty answer alone never means that: only the
    /// counters decide.
    async fn is_over(&mut self, asked: bool) -> Result<Option<RunEnd>, Error> {
        let wants_to_know = self.settings.exit_when_done || !self.said_idle;
        if !asked || !self.running.is_empty() || !wants_to_know {
            return Ok(None);
        }
        let progress = match telemetry::call("progress", self.coordinator.progress()).await {
            Ok(progress) => progress,
            Err(error) if error.is_transient() => return Ok(None),
            Err(error) => return Err(error),
        };
        if !self.said_idle {
            let kinds: Vec<&str> = self.settings.kinds.iter().map(|kind| kind.as_str()).collect();
            tracing::info!(kinds = kinds.join(","), ?progress, "no work now; waiting");
            self.said_idle = true;
        }
        Ok(match progress {
            Progress::Ended if self.settings.exit_when_done => Some(RunEnd::Finished),
            Progress::EndedWithDiscards if self.settings.exit_when_done => {
                Some(RunEnd::FinishedWithDiscards)
            }
            _ => None,
        })
    }

    fn start(&mut self, lease: Lease) {
        let kind = lease.kind;
        let heartbeat = Heartbeat::default();
        let trusted = self.leases.add(&lease, heartbeat.clone());
        let beating = heartbeat.clone();
        let (coordinator, context) = (self.coordinator.clone(), self.context.clone());
        let leases = Arc::clone(&self.leases);
        let task = self.running.spawn(async move {
            let fence = lease.fence;
            let ended = finish(&coordinator, &context, lease, trusted, heartbeat).await;
            leases.remove(fence);
            ended
        });
        self.busy.insert(task.id(), (kind, beating));
        metrics().jobs_leased.add(1, &[label("kind", kind.as_str())]);
        self.show_running(kind);
    }

    fn show_running(&self, kind: JobKind) {
        let running = self.busy.values().filter(|(busy, _)| *busy == kind).count();
        metrics().jobs_running.record(running as u64, &[label("kind", kind.as_str())]);
    }

    fn note(&mut self, ended: Result<(Id, Ended), JoinError>) {
        let (id, ended) = ended.unwrap_or_else(|error| {
            // Its lease runs out by itself.
            tracing::error!(%error, "a job's task ended early");
            (error.id(), Ended::Over)
        });
        let busy = self.busy.remove(&id);
        if let Some((kind, _)) = &busy {
            self.show_running(*kind);
        }
        match ended {
            Ended::Over => {}
            Ended::Stalled => self.has_stalled = true,
            Ended::NoRoom => {
                let until = Instant::now() + limits::NO_ROOM_PAUSE;
                self.resting.extend(busy.map(|(kind, _)| (kind, until)));
            }
            Ended::Trouble { canaries } => {
                self.icons_rest_until = Some(Instant::now() + limits::CANARY_PAUSE);
                metrics().icons_resting.record(1, &[]);
                self.canaries = canaries;
            }
        }
    }

    /// After trouble of our own, icon jobs rest until a look-up shows that the network is back.
    async fn ask_canaries(&mut self) {
        if self.icons_rest_until.is_none_or(|until| Instant::now() < until) {
            return;
        }
        match self.context.fetcher.check_network(&self.canaries).await {
            Ok(()) => {
                tracing::info!("the network answers again; taking icon jobs");
                self.icons_rest_until = None;
                metrics().icons_resting.record(0, &[]);
            }
            Err(trouble) => {
                tracing::warn!(%trouble, "still no icon jobs");
                self.icons_rest_until = Some(Instant::now() + limits::CANARY_PAUSE);
            }
        }
    }

    /// Waits for what runs, then gives the rest back.
    async fn drain(&mut self) {
        if self.running.is_empty() {
            return;
        }
        tracing::info!(jobs = self.running.len(), "draining: finishing what is leased");
        let all = async { while self.running.join_next().await.is_some() {} };
        if tokio::time::timeout(self.settings.drain, all).await.is_err() {
            tracing::info!(jobs = self.running.len(), "giving back what is not finished");
            self.leases.release_all();
            while self.running.join_next().await.is_some() {}
        }
    }
}

/// Waits until requests that filled the slots leave room for another shard's: slots that nobody
/// uses for the length of a pause would be lost.
async fn room_again(fetcher: Fetcher) {
    if fetcher.has_room() {
        return std::future::pending().await;
    }
    while !fetcher.has_room() {
        tokio::time::sleep(limits::ROOM_LOOK).await;
    }
}

/// Between half and all of it, so that idle workers do not ask in step.
fn jittered(pause: Duration) -> Duration {
    let random = f64::from(uuid::Uuid::new_v4().as_u128() as u32) / f64::from(u32::MAX);
    pause.mul_f64(0.5 + random / 2.0)
}
