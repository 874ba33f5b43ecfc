//! The leases that a worker holds: renewed together, each trusted only for so long.
//!
//! Invariant: a lease is renewed only while its run gets somewhere. Must not know: what runs.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::{Coordinator, Fence, Lease};
use everytab_fetcher::Heartbeat;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::fleet_limits::FleetLimits;
use crate::{limits, telemetry};

/// Why a run was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A renewal did not bring the lease back.
    Lost,
    /// It could not be renewed in time.
    Expired,
    /// The worker is leaving.
    Released,
    /// The run got nowhere for too long.
    Stalled,
}

impl End {
    /// As metrics have it.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Expired => "expired",
            Self::Released => "released",
            Self::Stalled => "stalled",
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Lost => "the lease was lost",
            Self::Expired => "the lease could not be renewed in time",
            Self::Released => "the worker is leaving",
            Self::Stalled => "it got nowhere for too long, so the lease is not renewed",
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct State {
    until: Instant,
    end: Option<End>,
}

/// A run's view of its own lease.
#[derive(Clone)]
pub(super) struct Trusted(watch::Receiver<State>);

impl Trusted {
    /// Until when the lease may be trusted, as known now.
    pub(super) fn until(&self) -> Instant {
        self.0.borrow().until
    }

    /// Waits for the moment when the run must end.
    pub(super) async fn ended(&mut self) -> End {
        loop {
            let State { until, end } = *self.0.borrow_and_update();
            if let Some(end) = end {
                return end;
            }
            tokio::select! {
                changed = self.0.changed() => if changed.is_err() { return End::Lost },
                () = tokio::time::sleep_until(until.into()) => {
                    if self.0.borrow().until <= Instant::now() { return End::Expired }
                }
            }
        }
    }
}

struct Held {
    length: Duration,
    /// Whether its scan has a rate, of which this worker takes its part.
    is_limited: bool,
    state: watch::Sender<State>,
    heartbeat: Heartbeat,
    /// The count of the heartbeat when it was last seen to have grown, and when that was.
    beats: u64,
    moved_at: Instant,
}

impl Held {
    /// Whether the run has got somewhere lately.
    fn is_alive(&mut self, now: Instant, stall_limit: Duration) -> bool {
        let beats = self.heartbeat.count();
        if beats != self.beats {
            (self.beats, self.moved_at) = (beats, now);
        }
        now.saturating_duration_since(self.moved_at) <= stall_limit
    }
}

/// All leases of this worker.
pub(super) struct Leases {
    coordinator: Coordinator,
    holder: String,
    stall_limit: Duration,
    held: Mutex<HashMap<Fence, Held>>,
    fleet_limits: FleetLimits,
}

impl Leases {
    pub(super) fn new(
        coordinator: Coordinator,
        holder: String,
        stall_limit: Duration,
        fleet_limits: FleetLimits,
    ) -> Self {
        Self { coordinator, holder, stall_limit, held: Mutex::default(), fleet_limits }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Fence, Held>> {
        self.held.lock()
    }

    /// Takes a lease under renewal, and applies the rate that came with it.
    pub(super) fn add(&self, lease: &Lease, heartbeat: Heartbeat) -> Trusted {
        self.fleet_limits.set_rate(lease.rate);
        let now = Instant::now();
        let until = now + trusted(lease.length);
        let (state, receiver) = watch::channel(State { until, end: None });
        let (length, is_limited, beats) = (lease.length, lease.rate.is_some(), heartbeat.count());
        let held = Held { length, is_limited, state, heartbeat, beats, moved_at: now };
        self.held().insert(lease.fence, held);
        Trusted(receiver)
    }

    pub(super) fn remove(&self, fence: Fence) {
        let mut held = self.held();
        held.remove(&fence);
        if held.is_empty() {
            self.fleet_limits.forget_live_workers();
        }
    }

    /// Ends every run, so that its lease is given back.
    pub(super) fn release_all(&self) {
        for held in self.held().values() {
            held.state.send_modify(|state| state.end = state.end.or(Some(End::Released)));
        }
    }

    /// Renews all leases every third of the shortest one.
    pub(super) async fn renew_for_ever(self: Arc<Self>) {
        loop {
            let shortest = self.held().values().map(|held| held.length).min();
            let every = shortest.unwrap_or(Duration::from_secs(3)) / limits::RENEWALS_PER_LEASE;
            tokio::time::sleep(every.min(Duration::from_secs(1)).max(every / 10)).await;
            if shortest.is_some() && self.is_due() {
                self.renew().await;
            }
        }
    }

    /// Whether a lease has used up a third of its time, or a share of a limited rate is not known.
    fn is_due(&self) -> bool {
        let now = Instant::now();
        let is_unknown = self.fleet_limits.live_workers().is_none();
        self.held().values().any(|held| {
            if is_unknown && held.is_limited {
                return true;
            }
            let left = held.state.borrow().until.saturating_duration_since(now);
            left + held.length / limits::RENEWALS_PER_LEASE <= trusted(held.length)
        })
    }

    /// The leases to renew. The runs of the others are ended.
    fn alive(&self, now: Instant) -> Vec<Fence> {
        let mut alive = Vec::new();
        for (fence, held) in self.held().iter_mut() {
            if held.is_alive(now, self.stall_limit) {
                alive.push(*fence);
            } else {
                held.state.send_modify(|state| state.end = state.end.or(Some(End::Stalled)));
            }
        }
        alive
    }

    async fn renew(&self) {
        let asked_at = Instant::now();
        let fences = self.alive(asked_at);
        match telemetry::call("renew", self.coordinator.renew(&self.holder, &fences)).await {
            Ok(renewal) => {
                let holds_leases = !renewal.held.is_empty();
                self.fleet_limits.renewed(renewal.live_workers, holds_leases, renewal.rate);
                let held = self.held();
                for fence in fences {
                    let Some(lease) = held.get(&fence) else { continue };
                    let is_held = renewal.held.contains(&fence.job_id);
                    lease.state.send_modify(|state| {
                        if is_held {
                            state.until = asked_at + trusted(lease.length);
                        } else {
                            state.end = state.end.or(Some(End::Lost));
                        }
                    });
                }
            }
            Err(error) => tracing::warn!(%error, "the leases could not be renewed"),
        }
    }
}

/// How long a lease is trusted: a little less than Postgres grants.
fn trusted(length: Duration) -> Duration {
    length - length / limits::TRUST_MARGIN_DIVISOR
}
