//! Gates: at most so many at once for each key, the others wait.
//!
//! Entries exist only while someone holds or waits. Must not know: what the keys are.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::Notify;

/// At most so many holders per key; how many is asked anew whenever somebody wants to enter.
pub(crate) struct Gates<K: Hash + Eq + Clone> {
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
    /// Holders at the moment of entering, this one included; 0 outside.
    inside: usize,
}

impl<K: Hash + Eq + Clone> Gates<K> {
    pub(crate) fn new() -> Arc<Gates<K>> {
        Arc::new(Gates { gates: Mutex::new(HashMap::new()) })
    }

    /// Limits may have changed: those that wait look again, those inside stay.
    pub(crate) fn reconsider(&self) {
        for gate in self.gates().values() {
            gate.freed.notify_waiters();
        }
    }

    /// Waits for a place among at most `limit()`.
    pub(crate) async fn enter(self: &Arc<Self>, key: &K, limit: impl Fn() -> usize) -> Place<K> {
        let gate = Arc::clone(self.gates().entry(key.clone()).or_default());
        let mut place = Place { gates: Arc::clone(self), gate, key: key.clone(), inside: 0 };
        if place.try_enter(limit()) {
            return place;
        }
        // Dropped before the place, which counts the owners of its gate.
        let queue = Arc::clone(&place.gate);
        loop {
            let freed = queue.freed.notified();
            tokio::pin!(freed);
            // Listening before looking: a place freed in between is not missed.
            freed.as_mut().enable();
            if place.try_enter(limit()) {
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
    /// Holders when this one entered, itself included.
    pub(crate) fn at_once(&self) -> usize {
        self.inside
    }

    fn try_enter(&mut self, limit: usize) -> bool {
        let limit = limit.max(1);
        let entered = self.gate.inside.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |inside| {
            (inside < limit).then_some(inside + 1)
        });
        let Ok(before) = entered else { return false };
        self.inside = before + 1;
        // One was woken; if there is room for more, the next may come too.
        if self.inside < limit {
            self.gate.freed.notify_one();
        }
        true
    }
}

impl<K: Hash + Eq + Clone> Drop for Place<K> {
    fn drop(&mut self) {
        let mut gates = self.gates.gates();
        if self.inside > 0 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_gate_never_holds_more_than_its_limit_and_forgets_idle_keys() {
        let gates: Arc<Gates<&'static str>> = Gates::new();
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for turn in 0..40 {
            let (gates, now, most) = (gates.clone(), now.clone(), most.clone());
            tasks.spawn(async move {
                let place = gates.enter(&if turn % 4 == 0 { "b" } else { "a" }, || 2).await;
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
        let gates: Arc<Gates<u8>> = Gates::new();
        let inside = gates.enter(&1, || 1).await;
        {
            let waiting = gates.enter(&1, || 1);
            tokio::pin!(waiting);
            assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        }
        drop(inside);
        assert_eq!(gates.keys_in_use(), 0);
    }

    #[tokio::test]
    async fn a_wider_limit_lets_those_waiting_in() {
        let gates: Arc<Gates<u8>> = Gates::new();
        let _first = gates.enter(&1, || 1).await;
        let limit = AtomicUsize::new(1);
        let second = gates.enter(&1, || limit.load(Ordering::SeqCst));
        tokio::pin!(second);
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        limit.store(2, Ordering::SeqCst);
        gates.reconsider();
        assert_eq!(second.await.at_once(), 2);
    }
}
