//! The leases of slots that this process holds, and their renewal in a task of its own, so that no
//! other work delays it.
//!
//! Invariant: a slot is valid only as long as Postgres would still call its lease held, by this
//! machine's clock and from before the call that gave or renewed it. Must not know: what is done
//! with a slot.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use everytab_coordinator::{Coordinator, SlotFence, SlotLease};
use parking_lot::Mutex;
use tokio::sync::mpsc;

/// How often leases are renewed: six times in the 30 seconds that one lasts.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(5);
/// Nothing is asked under a lease that ends sooner: a request that has begun by then is over, or
/// given up by its host's delay, before another worker asks.
const MARGIN: Duration = Duration::from_secs(5);

/// What a renewal tells whoever crawls.
#[derive(Debug)]
pub(crate) struct Renewed {
    /// Leases that are lost.
    pub lost: Vec<SlotFence>,
    /// How many slots this worker may hold.
    pub share: usize,
    /// Number of workers that crawl.
    pub live_workers: u32,
}

struct Held {
    fence: SlotFence,
    length: Duration,
    ends_at: Instant,
}

/// The leases that this process holds.
#[derive(Clone, Default)]
pub(crate) struct Leases {
    held: Arc<Mutex<HashMap<i16, Held>>>,
    /// Whether this worker is none of those that share the slots.
    is_apart: Arc<AtomicBool>,
}

impl Leases {
    /// Takes up a lease that was asked for at `asked_at`.
    pub(crate) fn add(&self, lease: &SlotLease, asked_at: Instant) {
        let SlotLease { fence, length, .. } = lease;
        let held = Held { fence: *fence, length: *length, ends_at: asked_at + *length };
        self.held.lock().insert(fence.slot, held);
    }

    /// Forgets a lease.
    pub(crate) fn remove(&self, fence: SlotFence) {
        let mut held = self.held.lock();
        if held.get(&fence.slot).is_some_and(|held| held.fence == fence) {
            held.remove(&fence.slot);
        }
    }

    /// Whether the hosts of a slot may be asked under this fence.
    pub(crate) fn is_valid(&self, fence: SlotFence) -> bool {
        let now = Instant::now() + MARGIN;
        self.held
            .lock()
            .get(&fence.slot)
            .is_some_and(|held| held.fence == fence && now < held.ends_at)
    }

    /// Whether a lease is still held, as far as this process knows.
    pub(crate) fn is_held(&self, fence: SlotFence) -> bool {
        self.held.lock().get(&fence.slot).is_some_and(|held| held.fence == fence)
    }

    /// Whether this worker counts among those that share the slots.
    pub(crate) fn share_slots(&self, shares: bool) {
        self.is_apart.store(!shares, Ordering::Relaxed);
    }

    /// Renews all leases again and again. A worker without any renews as well: so it counts among
    /// those that share the slots.
    pub(crate) async fn renew_repeatedly(
        self,
        coordinator: Coordinator,
        worker: String,
        tell: mpsc::UnboundedSender<Renewed>,
    ) {
        loop {
            tokio::time::sleep(RENEWAL_INTERVAL).await;
            let fences: Vec<SlotFence> = self.held.lock().values().map(|held| held.fence).collect();
            if fences.is_empty() && self.is_apart.load(Ordering::Relaxed) {
                continue;
            }
            let asked_at = Instant::now();
            match coordinator.renew_slots(&worker, &fences).await {
                Ok(renewal) => {
                    let lost = self.renewed(&fences, &renewal.held, asked_at);
                    let (share, live_workers) = (renewal.share, renewal.live_workers);
                    tell.send(Renewed { lost, share, live_workers }).ok();
                }
                Err(error) => tracing::warn!(%error, "the leases of slots cannot be renewed"),
            }
        }
    }

    /// Notes a renewal that was asked for at `asked_at`; returns the leases that are lost.
    fn renewed(&self, asked: &[SlotFence], held: &[i16], asked_at: Instant) -> Vec<SlotFence> {
        let mut table = self.held.lock();
        let mut lost = Vec::new();
        for fence in asked {
            let Some(one) = table.get_mut(&fence.slot).filter(|one| one.fence == *fence) else {
                continue;
            };
            if held.contains(&fence.slot) {
                one.ends_at = asked_at + one.length;
            } else {
                table.remove(&fence.slot);
                lost.push(*fence);
            }
        }
        lost
    }
}
