//! The leases that a worker holds: renewed together, each trusted only for so long.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use everytab_coordinator::{Coordinator, Fence, Lease};
use tokio::sync::watch;

use crate::{context::Context, limits};

/// Why a run was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A renewal did not bring the lease back.
    Lost,
    /// It could not be renewed in time.
    Expired,
    /// The worker is leaving.
    Released,
}

impl End {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Lost => "the lease was lost",
            Self::Expired => "the lease could not be renewed in time",
            Self::Released => "the worker is leaving",
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct State {
    until: Instant,
    end: Option<End>,
}

/// A run's view of its own lease.
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
    state: watch::Sender<State>,
}

/// All leases of this worker.
pub(super) struct Leases {
    coordinator: Coordinator,
    holder: String,
    held: Mutex<HashMap<Fence, Held>>,
}

impl Leases {
    pub(super) fn new(coordinator: Coordinator, holder: String) -> Self {
        Self { coordinator, holder, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Fence, Held>> {
        // Nothing panics between changes, so a poisoned map is whole.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a lease under renewal.
    pub(super) fn add(&self, lease: &Lease) -> Trusted {
        let until = Instant::now() + trusted(lease.length);
        let (state, receiver) = watch::channel(State { until, end: None });
        self.held().insert(lease.fence, Held { length: lease.length, state });
        Trusted(receiver)
    }

    pub(super) fn remove(&self, fence: Fence) {
        self.held().remove(&fence);
    }

    /// Ends every run, so that its lease is given back.
    pub(super) fn release_all(&self) {
        for held in self.held().values() {
            held.state.send_modify(|state| state.end = state.end.or(Some(End::Released)));
        }
    }

    /// Renews all leases every third of the shortest one.
    pub(super) async fn renew_for_ever(self: Arc<Self>, context: Context) {
        loop {
            let shortest = self.held().values().map(|held| held.length).min();
            let every = shortest.unwrap_or(Duration::from_secs(3)) / limits::RENEWALS_PER_LEASE;
            tokio::time::sleep(every.min(Duration::from_secs(1)).max(every / 10)).await;
            if shortest.is_some() && self.is_due() {
                self.renew(&context).await;
            }
        }
    }

    /// Whether a lease has used up a third of its time.
    fn is_due(&self) -> bool {
        let now = Instant::now();
        self.held().values().any(|held| {
            let left = held.state.borrow().until.saturating_duration_since(now);
            left + held.length / limits::RENEWALS_PER_LEASE <= trusted(held.length)
        })
    }

    async fn renew(&self, context: &Context) {
        let fences: Vec<Fence> = self.held().keys().copied().collect();
        let asked_at = Instant::now();
        match self.coordinator.renew(&self.holder, &fences).await {
            Ok(renewal) => {
                context.fetchers.share_addresses_with(renewal.live_workers);
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
