//! Waiting our turn: per hostname, per address, over all, by time, and for memory.
//!
//! A request takes its places in one fixed order (host, address, slot, pace, body bytes) and
//! whoever holds a later place never waits for an earlier one, so nothing can wait in a circle.
//! Places only delay, they never decide an outcome. Entries exist only while someone holds or
//! waits.
//! Must not know: what is fetched, how, and with what result.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::outcome::Trouble;
use super::pace::Pace;
use super::settings::FetchSettings;

/// The grain of the body budget.
const BUDGET_UNIT_BYTES: usize = 1_024;

/// At most so many holders per key.
pub(crate) struct Gates<K: Hash + Eq + Clone> {
    limit: AtomicUsize,
    gates: Mutex<HashMap<K, Arc<Gate>>>,
}

#[derive(Default)]
struct Gate {
    inside: AtomicUsize,
    freed: Notify,
}

/// A place at a gate, or in the queue before it; leaving is dropping.
pub(crate) struct Place<K: Hash + Eq + Clone> {
    gates: Arc<Gates<K>>,
    gate: Arc<Gate>,
    key: K,
    inside: bool,
}

impl<K: Hash + Eq + Clone> Gates<K> {
    pub(crate) fn new(limit: usize) -> Arc<Gates<K>> {
        Arc::new(Gates { limit: AtomicUsize::new(limit.max(1)), gates: Mutex::new(HashMap::new()) })
    }

    /// From now on; those inside stay.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit.max(1), Ordering::SeqCst);
        for gate in self.gates().values() {
            gate.freed.notify_waiters();
        }
    }

    /// Waits for a place.
    pub(crate) async fn enter(self: &Arc<Self>, key: &K) -> Place<K> {
        let gate = Arc::clone(self.gates().entry(key.clone()).or_default());
        let mut place = Place { gates: Arc::clone(self), gate, key: key.clone(), inside: false };
        // Dropped before the place, which counts the owners of its gate.
        let queue = Arc::clone(&place.gate);
        loop {
            let freed = queue.freed.notified();
            tokio::pin!(freed);
            // Listening before looking: a place freed in between is not missed.
            freed.as_mut().enable();
            if place.try_enter() {
                return place;
            }
            freed.await;
        }
    }

    /// Keys with somebody inside or waiting.
    #[cfg(test)]
    pub(crate) fn keys_in_use(&self) -> usize {
        self.gates().len()
    }

    fn gates(&self) -> MutexGuard<'_, HashMap<K, Arc<Gate>>> {
        // Each change is one call on the map, so a panic elsewhere cannot leave it half changed.
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Hash + Eq + Clone> Place<K> {
    fn try_enter(&mut self) -> bool {
        let limit = self.gates.limit.load(Ordering::SeqCst);
        let entered = self.gate.inside.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |inside| {
            (inside < limit).then_some(inside + 1)
        });
        self.inside = entered.is_ok();
        // One was woken; if there is room for more, the next may come too.
        if entered.is_ok_and(|before| before + 1 < limit) {
            self.gate.freed.notify_one();
        }
        self.inside
    }
}

impl<K: Hash + Eq + Clone> Drop for Place<K> {
    fn drop(&mut self) {
        let mut gates = self.gates.gates();
        if self.inside {
            self.gate.inside.fetch_sub(1, Ordering::SeqCst);
        }
        // The map's and this one: nobody else holds or waits. Clones are made under this lock.
        if Arc::strong_count(&self.gate) == 2 {
            gates.remove(&self.key);
        }
        drop(gates);
        self.gate.freed.notify_one();
    }
}

/// All the places of one fetcher.
pub(crate) struct Politeness {
    pub(crate) hosts: Arc<Gates<String>>,
    pub(crate) addresses: Arc<Gates<IpAddr>>,
    pub(crate) pace: Pace,
    slots: Arc<Semaphore>,
    slots_total: usize,
    budget: Arc<Semaphore>,
    budget_units: usize,
    idle_connections: Arc<Semaphore>,
    per_address_fleet: usize,
}

impl Politeness {
    pub(crate) fn new(settings: &FetchSettings) -> Politeness {
        let slots_total = settings.in_flight.clamp(1, Semaphore::MAX_PERMITS);
        let budget_units = (settings.body_budget_bytes.max(settings.max_body_bytes)
            / BUDGET_UNIT_BYTES)
            .clamp(1, u32::MAX as usize >> 3);
        Politeness {
            hosts: Gates::new(settings.per_host),
            addresses: Gates::new(settings.per_address),
            pace: Pace::default(),
            slots: Arc::new(Semaphore::new(slots_total)),
            slots_total,
            budget: Arc::new(Semaphore::new(budget_units)),
            budget_units,
            idle_connections: Arc::new(Semaphore::new(slots_total)),
            per_address_fleet: settings.per_address,
        }
    }

    /// The limit per address belongs to the fleet: each live worker takes its part.
    pub(crate) fn share_with(&self, live_workers: usize) {
        self.addresses.set_limit(self.per_address_fleet / live_workers.max(1));
    }

    /// A slot: the right to one request on the wire. The pace is kept inside it, so a worker that
    /// is held back looks as busy as it is, and leases no more than it can do.
    pub(crate) async fn slot(&self) -> Result<OwnedSemaphorePermit, Trouble> {
        let slots = Arc::clone(&self.slots);
        let slot = slots.acquire_owned().await.map_err(|_closed| Trouble::Memory)?;
        self.pace.turn().await;
        Ok(slot)
    }

    /// Slots taken, and all there are.
    pub(crate) fn slots(&self) -> (usize, usize) {
        (self.slots_total.saturating_sub(self.slots.available_permits()), self.slots_total)
    }

    /// Room for a body of at most `bytes`. More than the whole budget gives the whole budget.
    pub(crate) async fn room(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Trouble> {
        let units = bytes.div_ceil(BUDGET_UNIT_BYTES).clamp(1, self.budget_units);
        let units = u32::try_from(units).unwrap_or(u32::MAX >> 3);
        Arc::clone(&self.budget).acquire_many_owned(units).await.map_err(|_closed| Trouble::Memory)
    }

    /// Gives back what a body of `bytes` did not need.
    pub(crate) fn shrink(room: &mut OwnedSemaphorePermit, bytes: usize) {
        let needed = bytes.div_ceil(BUDGET_UNIT_BYTES).max(1);
        if let Some(surplus) = room.num_permits().checked_sub(needed) {
            drop(room.split(surplus));
        }
    }

    /// The right to keep one connection open without a request on it, if there is one left.
    pub(crate) fn try_keep_idle(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.idle_connections).try_acquire_owned().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_gate_never_holds_more_than_its_limit_and_forgets_idle_keys() {
        let gates: Arc<Gates<&'static str>> = Gates::new(2);
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for turn in 0..40 {
            let (gates, now, most) = (gates.clone(), now.clone(), most.clone());
            tasks.spawn(async move {
                let place = gates.enter(&if turn % 4 == 0 { "b" } else { "a" }).await;
                if turn % 4 != 0 {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    now.fetch_sub(1, Ordering::SeqCst);
                }
                drop(place);
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.expect("no task panics");
        }
        assert_eq!(most.load(Ordering::SeqCst), 2);
        assert_eq!(gates.keys_in_use(), 0);
    }

    #[tokio::test]
    async fn a_waiter_that_gives_up_leaves_no_trace() {
        let gates: Arc<Gates<u8>> = Gates::new(1);
        let inside = gates.enter(&1).await;
        {
            let waiting = gates.enter(&1);
            tokio::pin!(waiting);
            assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        }
        drop(inside);
        assert_eq!(gates.keys_in_use(), 0);
    }

    #[tokio::test]
    async fn a_wider_limit_lets_those_waiting_in() {
        let gates: Arc<Gates<u8>> = Gates::new(1);
        let _first = gates.enter(&1).await;
        let second = gates.enter(&1);
        tokio::pin!(second);
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        gates.set_limit(2);
        let _second = second.await;
    }
}
