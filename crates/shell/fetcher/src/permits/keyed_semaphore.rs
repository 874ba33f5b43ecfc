//! A keyed semaphore, with a limited number of permits and a queue for each key.
//!
//! A key has an entry only while tasks hold or wait for its permits. A key's limit may change at
//! any time.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::sync::Notify;

pub(crate) struct KeyedSemaphore<K: Hash + Eq + Clone> {
    entries: Mutex<HashMap<K, Arc<KeyState>>>,
}

#[derive(Default)]
struct KeyState {
    held: AtomicUsize,
    released: Notify,
}

/// A permit for a key, or a position in the key's queue.
pub(crate) struct KeyedPermit<K: Hash + Eq + Clone> {
    semaphore: Arc<KeyedSemaphore<K>>,
    entry: Arc<KeyState>,
    key: K,
    /// Number of held permits for the key when this one was acquired, including this one. 0 while
    /// it waits.
    held: usize,
}

impl<K: Hash + Eq + Clone> KeyedSemaphore<K> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { entries: Mutex::new(HashMap::new()) })
    }

    pub(crate) fn limits_changed(&self) {
        for entry in self.entries.lock().values() {
            entry.released.notify_waiters();
        }
    }

    pub(crate) async fn acquire(
        self: &Arc<Self>,
        key: &K,
        limit: impl Fn() -> usize,
    ) -> KeyedPermit<K> {
        let entry = Arc::clone(self.entries.lock().entry(key.clone()).or_default());
        let mut permit =
            KeyedPermit { semaphore: Arc::clone(self), entry, key: key.clone(), held: 0 };
        if permit.try_acquire(limit()) {
            return permit;
        }
        // This clone is dropped before `permit`, whose `drop` counts the references to the entry.
        let queue = Arc::clone(&permit.entry);
        loop {
            let released = queue.released.notified();
            tokio::pin!(released);
            // Listen before comparing, so that a release in between is not missed.
            released.as_mut().enable();
            if permit.try_acquire(limit()) {
                return permit;
            }
            released.await;
        }
    }

    #[cfg(test)]
    fn keys_in_use(&self) -> usize {
        self.entries.lock().len()
    }
}

impl<K: Hash + Eq + Clone> KeyedPermit<K> {
    pub(crate) fn concurrent(&self) -> usize {
        self.held
    }

    fn try_acquire(&mut self, limit: usize) -> bool {
        let limit = limit.max(1);
        let acquired = self.entry.held.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |held| {
            (held < limit).then_some(held + 1)
        });
        let Ok(before) = acquired else { return false };
        self.held = before + 1;
        // A release wakes only one waiter. If more permits are free, wake the next one.
        if self.held < limit {
            self.entry.released.notify_one();
        }
        true
    }
}

impl<K: Hash + Eq + Clone> Drop for KeyedPermit<K> {
    fn drop(&mut self) {
        let mut entries = self.semaphore.entries.lock();
        if self.held > 0 {
            self.entry.held.fetch_sub(1, Ordering::SeqCst);
        }
        // If there are two references, they are in the map and in this permit. Other tasks get the
        // entry from the map, which needs this lock.
        if Arc::strong_count(&self.entry) == 2 {
            entries.remove(&self.key);
        }
        drop(entries);
        self.entry.released.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_never_exceeds_its_limit_and_idle_keys_are_removed() {
        let semaphore: Arc<KeyedSemaphore<&'static str>> = KeyedSemaphore::new();
        let now = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..40 {
            let (semaphore, now, most) = (semaphore.clone(), now.clone(), most.clone());
            tasks.spawn(async move {
                let permit = semaphore.acquire(&if task % 4 == 0 { "b" } else { "a" }, || 2).await;
                if task % 4 != 0 {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    now.fetch_sub(1, Ordering::SeqCst);
                }
                drop(permit);
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.expect("no task panics");
        }
        assert_eq!(most.load(Ordering::SeqCst), 2);
        assert_eq!(semaphore.keys_in_use(), 0);
    }

    #[tokio::test]
    async fn a_cancelled_waiter_leaves_no_entry() {
        let semaphore: Arc<KeyedSemaphore<u8>> = KeyedSemaphore::new();
        let held = semaphore.acquire(&1, || 1).await;
        {
            let waiting = semaphore.acquire(&1, || 1);
            tokio::pin!(waiting);
            assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        }
        drop(held);
        assert_eq!(semaphore.keys_in_use(), 0);
    }

    #[tokio::test]
    async fn a_higher_limit_serves_waiting_tasks() {
        let semaphore: Arc<KeyedSemaphore<u8>> = KeyedSemaphore::new();
        let _first = semaphore.acquire(&1, || 1).await;
        let limit = AtomicUsize::new(1);
        let second = semaphore.acquire(&1, || limit.load(Ordering::SeqCst));
        tokio::pin!(second);
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        limit.store(2, Ordering::SeqCst);
        semaphore.limits_changed();
        assert_eq!(second.await.concurrent(), 2);
    }
}
