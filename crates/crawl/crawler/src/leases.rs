//! This process's slot leases. A separate task renews them, so that no other work delays the
//! renewals.
//!
//! Invariants: a lease is valid here only while Postgres must still consider it held, because it is
//! timed from before the call that granted or renewed it. Leases are renewed only while the
//! scheduler's loop makes progress, so that other workers get a stuck worker's slots.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use chrono::{DateTime, TimeDelta, Utc};
use everytab_coordinator::{Coordinator, SlotFence, SlotLease};
use everytab_fetcher::Heartbeat;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::metrics;

/// Interval between renewals: six during a lease's 30 seconds.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(5);
/// No requests are sent under a lease that ends sooner than this, so that requests in flight finish
/// or are cancelled before another worker can send one to the host.
const MARGIN: Duration = Duration::from_secs(5);
/// Renewals stop when the loop has made no progress for this long. Together with the lease's 30
/// seconds, the slots are free within a minute.
const STALL_LIMIT: Duration = Duration::from_secs(20);
/// Number of consecutive renewals that must find no progress. After the process was stopped, for
/// example, the loop gets one more interval to continue.
const STALLED_RENEWALS: u32 = 2;
/// Interval at which a request in flight checks its lease, which may have expired while the system
/// was suspended.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

const _: () = assert!(STALL_LIMIT.as_secs() + RENEWAL_INTERVAL.as_secs() + 30 < 60);
const _: () = assert!(STALL_LIMIT.as_secs() > 3 * RENEWAL_INTERVAL.as_secs());

#[derive(Debug)]
pub(crate) struct Renewed {
    pub lost: Vec<SlotFence>,
    pub share: usize,
    pub live_workers: u32,
}

struct Held {
    fence: SlotFence,
    length: Duration,
    ends_at: Instant,
    /// The end by the wall clock, because the monotonic clock stops while the system is suspended.
    ends_at_utc: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy)]
struct Moment {
    at: Instant,
    utc: DateTime<Utc>,
}

impl Moment {
    fn now() -> Self {
        Self { at: Instant::now(), utc: Utc::now() }
    }
}

impl Held {
    fn extend(&mut self, from: Moment) {
        self.ends_at = from.at + self.length;
        self.ends_at_utc = from.utc + TimeDelta::from_std(self.length).unwrap_or(TimeDelta::MAX);
    }

    fn is_valid(&self, now: Moment) -> bool {
        let margin = TimeDelta::from_std(MARGIN).unwrap_or(TimeDelta::MAX);
        now.at + MARGIN < self.ends_at && now.utc + margin < self.ends_at_utc
    }
}

#[derive(Debug)]
struct Movement {
    count: u64,
    moved_at: Instant,
    stalled_renewals: u32,
}

impl Movement {
    fn new(count: u64, now: Instant) -> Self {
        Self { count, moved_at: now, stalled_renewals: 0 }
    }

    /// Returns for how long there has been no progress, if this is too long.
    fn stalled_for(&mut self, count: u64, now: Instant) -> Option<Duration> {
        if count != self.count {
            *self = Self::new(count, now);
            return None;
        }
        self.stalled_renewals += 1;
        let stalled_for = now.saturating_duration_since(self.moved_at);
        let is_stalled = stalled_for >= STALL_LIMIT && self.stalled_renewals >= STALLED_RENEWALS;
        is_stalled.then_some(stalled_for)
    }
}

#[derive(Clone, Default)]
pub(crate) struct Leases {
    held: Arc<Mutex<HashMap<i16, Held>>>,
    /// Whether this worker is excluded when slots are divided among workers.
    is_apart: Arc<AtomicBool>,
    heartbeat: Heartbeat,
}

impl Leases {
    pub(crate) fn beat(&self) {
        self.heartbeat.beat();
    }

    /// `requested_at` is from before the call that granted the lease.
    pub(crate) fn add(&self, lease: &SlotLease, requested_at: Instant) {
        let SlotLease { fence, length, .. } = lease;
        let utc = Utc::now() - TimeDelta::from_std(requested_at.elapsed()).unwrap_or_default();
        let (ends_at, ends_at_utc) = (requested_at, utc);
        let mut held = Held { fence: *fence, length: *length, ends_at, ends_at_utc };
        held.extend(Moment { at: requested_at, utc });
        self.held.lock().insert(fence.slot, held);
    }

    pub(crate) fn remove(&self, fence: SlotFence) {
        let mut held = self.held.lock();
        if held.get(&fence.slot).is_some_and(|held| held.fence == fence) {
            held.remove(&fence.slot);
        }
    }

    pub(crate) fn is_valid(&self, fence: SlotFence) -> bool {
        let now = Moment::now();
        self.held
            .lock()
            .get(&fence.slot)
            .is_some_and(|held| held.fence == fence && held.is_valid(now))
    }

    /// Returns `None` if the lease becomes invalid first, because another worker may then send
    /// requests to the host.
    pub(crate) async fn while_valid<T>(
        &self,
        fence: SlotFence,
        request: impl Future<Output = T>,
    ) -> Option<T> {
        let invalid = async {
            while self.is_valid(fence) {
                tokio::time::sleep(CHECK_INTERVAL).await;
            }
        };
        tokio::select! {
            biased;
            () = invalid => None,
            output = request => Some(output),
        }
    }

    pub(crate) fn is_held(&self, fence: SlotFence) -> bool {
        self.held.lock().get(&fence.slot).is_some_and(|held| held.fence == fence)
    }

    pub(crate) fn share_slots(&self, shares: bool) {
        self.is_apart.store(!shares, Ordering::Relaxed);
    }

    /// A worker without leases makes this call, too, so that it gets a share of the slots.
    pub(crate) async fn renew_repeatedly(
        self,
        coordinator: Coordinator,
        worker: String,
        sender: mpsc::UnboundedSender<Renewed>,
    ) {
        let mut movement = Movement::new(self.heartbeat.count(), Instant::now());
        let mut was_stalled = false;
        loop {
            tokio::time::sleep(RENEWAL_INTERVAL).await;
            let stalled_for = movement.stalled_for(self.heartbeat.count(), Instant::now());
            metrics::stuck(stalled_for.is_some());
            if let Some(stalled_for) = stalled_for {
                if !std::mem::replace(&mut was_stalled, true) {
                    let seconds = stalled_for.as_secs();
                    tracing::error!(seconds, "the scheduler is stuck; its leases are not renewed");
                }
                continue;
            }
            if std::mem::take(&mut was_stalled) {
                tracing::warn!("the scheduler makes progress again");
            }
            let fences: Vec<SlotFence> = self.held.lock().values().map(|held| held.fence).collect();
            if fences.is_empty() && self.is_apart.load(Ordering::Relaxed) {
                continue;
            }
            let requested_at = Moment::now();
            match coordinator.renew_slots(&worker, &fences).await {
                Ok(renewal) => {
                    let lost = self.renewed(&fences, &renewal.held, requested_at);
                    let share = renewal.share;
                    let live_workers = renewal.live_workers;
                    sender.send(Renewed { lost, share, live_workers }).ok();
                }
                Err(error) => tracing::warn!(%error, "cannot renew the leases of slots"),
            }
        }
    }

    /// Extends the confirmed leases, counted from `requested_at`. Returns the lost leases.
    fn renewed(
        &self,
        requested: &[SlotFence],
        held: &[i16],
        requested_at: Moment,
    ) -> Vec<SlotFence> {
        let mut table = self.held.lock();
        let mut lost = Vec::new();
        for fence in requested {
            let Some(one) = table.get_mut(&fence.slot).filter(|one| one.fence == *fence) else {
                continue;
            };
            if held.contains(&fence.slot) {
                one.extend(requested_at);
            } else {
                table.remove(&fence.slot);
                lost.push(*fence);
            }
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_secs(30);

    fn fence() -> SlotFence {
        SlotFence { slot: 7, lease_number: 1, token: uuid::Uuid::nil() }
    }

    #[test]
    fn a_loop_is_stalled_once_renewals_find_no_progress_for_too_long() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut movement = Movement::new(0, start);
        let found = [5, 10, 15].map(|seconds| movement.stalled_for(0, after(seconds)));
        assert_eq!(found, [None; 3], "a hiccup");
        assert_eq!(movement.stalled_for(0, after(20)), Some(Duration::from_secs(20)));
        assert_eq!(movement.stalled_for(0, after(25)), Some(Duration::from_secs(25)));
        assert_eq!(movement.stalled_for(1, after(30)), None, "the loop makes progress again");
        // The process was stopped for an hour.
        assert_eq!(movement.stalled_for(1, after(3_630)), None);
        assert_eq!(movement.stalled_for(2, after(3_635)), None);
        assert_eq!(movement.stalled_for(2, after(3_640)), None);
    }

    #[test]
    fn a_lease_is_valid_only_by_both_clocks() {
        let now = Moment::now();
        let (at, utc) = (now.at, now.utc);
        let mut held = Held { fence: fence(), length: LENGTH, ends_at: at, ends_at_utc: utc };
        assert!(!held.is_valid(now));
        held.extend(now);
        assert!(held.is_valid(now));
        let later = |seconds| Moment { at: at + Duration::from_secs(seconds), utc };
        assert!(held.is_valid(later(24)) && !held.is_valid(later(25)));
        // The system was suspended, so only the wall clock advanced.
        let slept = Moment { at, utc: utc + TimeDelta::seconds(25) };
        assert!(!held.is_valid(slept));
    }

    #[tokio::test]
    async fn a_request_ends_with_its_lease() {
        let leases = Leases::default();
        assert_eq!(leases.while_valid(fence(), std::future::pending::<()>()).await, None);
        let mut held = Held {
            fence: fence(),
            length: LENGTH,
            ends_at: Instant::now(),
            ends_at_utc: Utc::now(),
        };
        held.extend(Moment::now());
        leases.held.lock().insert(fence().slot, held);
        assert_eq!(leases.while_valid(fence(), std::future::ready(1)).await, Some(1));
        let removing = async {
            leases.remove(fence());
            std::future::pending::<()>().await;
        };
        assert_eq!(leases.while_valid(fence(), removing).await, None);
    }
}
