//! The leases that a worker holds. They are renewed together, and only while their jobs make
//! progress.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::{Coordinator, Fence, Lease};
use everytab_fetcher::Heartbeat;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{fleet_limits::FleetLimits, lease_outcome::LeaseOutcome, metrics};

/// Number of renewals per lease duration if none fails. A failed renewal is retried sooner.
const RENEWALS_PER_LEASE: u32 = 3;
/// Divisor of the margin by which a worker stops before its lease expires. The call's latency and
/// the drift between the clocks are far below this tenth.
const TRUST_MARGIN_DIVISOR: u32 = 10;
const _: () = assert!(RENEWALS_PER_LEASE >= 2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseEnd {
    /// A renewal did not return this lease, so another worker may have it.
    Lost,
    Expired,
    Released,
    Stalled,
}

impl LeaseEnd {
    pub(crate) fn outcome(self) -> LeaseOutcome {
        match self {
            Self::Lost => LeaseOutcome::Lost,
            Self::Expired => LeaseOutcome::Expired,
            Self::Released => LeaseOutcome::Released,
            Self::Stalled => LeaseOutcome::Stalled,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Lost => "the lease was lost",
            Self::Expired => "the lease could not be renewed in time",
            Self::Released => "the worker is stopping",
            Self::Stalled => "the job made no progress for too long, so its lease expires",
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct TrustState {
    until: Instant,
    end: Option<LeaseEnd>,
}

/// The time until which a job may trust its lease, and whether it must stop. Clones share this
/// state.
#[derive(Clone)]
pub(crate) struct LeaseTrust(watch::Receiver<TrustState>);

impl LeaseTrust {
    pub(crate) fn until(&self) -> Instant {
        self.0.borrow().until
    }

    pub(crate) async fn ended(&mut self) -> LeaseEnd {
        loop {
            let TrustState { until, end } = *self.0.borrow_and_update();
            if let Some(end) = end {
                return end;
            }
            tokio::select! {
                changed = self.0.changed() => if changed.is_err() { return LeaseEnd::Lost },
                () = tokio::time::sleep_until(until.into()) => {
                    if self.0.borrow().until <= Instant::now() { return LeaseEnd::Expired }
                }
            }
        }
    }
}

struct HeldLease {
    length: Duration,
    is_limited: bool,
    state: watch::Sender<TrustState>,
    heartbeat: Heartbeat,
    last_count: u64,
    moved_at: Instant,
}

impl HeldLease {
    fn is_alive(&mut self, now: Instant, stall_limit: Duration) -> bool {
        let count = self.heartbeat.count();
        if count != self.last_count {
            (self.last_count, self.moved_at) = (count, now);
        }
        now.saturating_duration_since(self.moved_at) <= stall_limit
    }
}

pub(crate) struct Leases {
    coordinator: Coordinator,
    worker_id: String,
    stall_limit: Duration,
    held: Mutex<HashMap<Fence, HeldLease>>,
    fleet_limits: FleetLimits,
}

impl Leases {
    pub(super) fn new(
        coordinator: Coordinator,
        worker_id: String,
        stall_limit: Duration,
        fleet_limits: FleetLimits,
    ) -> Self {
        Self { coordinator, worker_id, stall_limit, held: Mutex::default(), fleet_limits }
    }

    pub(super) fn add(&self, lease: &Lease, heartbeat: Heartbeat) -> LeaseTrust {
        self.fleet_limits.set_rates(lease.rate, lease.archive_rate);
        let now = Instant::now();
        let until = now + trusted(lease.length);
        let (state, receiver) = watch::channel(TrustState { until, end: None });
        let length = lease.length;
        let is_limited = lease.rate.or(lease.archive_rate).is_some();
        let last_count = heartbeat.count();
        let held = HeldLease { length, is_limited, state, heartbeat, last_count, moved_at: now };
        self.held.lock().insert(lease.fence, held);
        LeaseTrust(receiver)
    }

    pub(crate) fn remove(&self, fence: Fence) {
        let mut held = self.held.lock();
        held.remove(&fence);
        if held.is_empty() {
            self.fleet_limits.forget_live_workers();
        }
    }

    pub(crate) fn release_all(&self) {
        for held in self.held.lock().values() {
            held.state.send_modify(|state| state.end = state.end.or(Some(LeaseEnd::Released)));
        }
    }

    pub(super) async fn renew_repeatedly(self: Arc<Self>) {
        loop {
            let shortest = self.held.lock().values().map(|held| held.length).min();
            let every = shortest.unwrap_or(Duration::from_secs(3)) / RENEWALS_PER_LEASE;
            tokio::time::sleep(every.min(Duration::from_secs(1)).max(every / 10)).await;
            if shortest.is_some() && self.is_due() {
                self.renew().await;
            }
        }
    }

    /// A lease is also due if this worker does not know its share of a rate limit yet.
    fn is_due(&self) -> bool {
        let now = Instant::now();
        let is_unknown = self.fleet_limits.live_workers().is_none();
        self.held.lock().values().any(|held| {
            if is_unknown && held.is_limited {
                return true;
            }
            let left = held.state.borrow().until.saturating_duration_since(now);
            left + held.length / RENEWALS_PER_LEASE <= trusted(held.length)
        })
    }

    fn alive(&self, now: Instant) -> Vec<Fence> {
        let mut alive = Vec::new();
        for (fence, held) in self.held.lock().iter_mut() {
            if held.is_alive(now, self.stall_limit) {
                alive.push(*fence);
            } else {
                held.state.send_modify(|state| state.end = state.end.or(Some(LeaseEnd::Stalled)));
            }
        }
        alive
    }

    async fn renew(&self) {
        let sent_at = Instant::now();
        let fences = self.alive(sent_at);
        match metrics::call("renew", self.coordinator.renew(&self.worker_id, &fences)).await {
            Ok(renewal) => {
                self.fleet_limits.renewed(&renewal);
                let held = self.held.lock();
                for fence in fences {
                    let Some(lease) = held.get(&fence) else { continue };
                    let is_held = renewal.held.contains(&fence.job_id);
                    lease.state.send_modify(|state| {
                        if is_held {
                            state.until = sent_at + trusted(lease.length);
                        } else {
                            state.end = state.end.or(Some(LeaseEnd::Lost));
                        }
                    });
                }
            }
            Err(error) => tracing::warn!(%error, "the leases could not be renewed"),
        }
    }
}

fn trusted(length: Duration) -> Duration {
    length - length / TRUST_MARGIN_DIVISOR
}
