//! Slows down requests to addresses that sent rate-limit signals. Half as many concurrent requests
//! are allowed, and then one more for each minute without a signal.

use std::{
    net::IpAddr,
    num::NonZeroUsize,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use lru::LruCache;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Maximum number of slowed addresses to remember. An evicted address gets its full share again.
const MAX_ADDRESSES: usize = 16_384;
/// Time without a signal after which an address gets one more concurrent request.
const RECOVERY_INTERVAL: Duration = Duration::from_secs(60);
/// Time within which signals count as one, because responses to concurrent requests arrive
/// together.
const SIGNAL_WINDOW: Duration = Duration::from_secs(1);

struct Reduction {
    limit: usize,
    since: Instant,
}

pub(crate) struct Slowdown {
    reductions: Mutex<LruCache<IpAddr, Reduction>>,
    /// False until the first signal, so that most lookups need no lock.
    any: AtomicBool,
}

impl Default for Slowdown {
    fn default() -> Self {
        let size = NonZeroUsize::new(MAX_ADDRESSES).unwrap_or(NonZeroUsize::MIN);
        Self { reductions: Mutex::new(LruCache::new(size)), any: AtomicBool::new(false) }
    }
}

impl Slowdown {
    pub(crate) fn limit(&self, address: IpAddr, full: usize, now: Instant) -> usize {
        if !self.any.load(Ordering::Relaxed) {
            return full;
        }
        let mut reductions = self.reductions.lock();
        let Some(reduction) = reductions.get(&address) else { return full };
        let limit = reduction.limit_at(now);
        if limit >= full {
            reductions.pop(&address);
            return full;
        }
        limit
    }

    pub(crate) fn halve(&self, address: IpAddr, full: usize, now: Instant) {
        self.any.store(true, Ordering::Relaxed);
        let mut reductions = self.reductions.lock();
        let before = match reductions.get(&address) {
            Some(cut) if now.saturating_duration_since(cut.since) < SIGNAL_WINDOW => return,
            Some(cut) => cut.limit_at(now).min(full),
            None => full,
        };
        reductions.put(address, Reduction { limit: (before / 2).max(1), since: now });
    }
}

impl Reduction {
    fn limit_at(&self, now: Instant) -> usize {
        let passed = now.saturating_duration_since(self.since).as_secs();
        let regained = passed / RECOVERY_INTERVAL.as_secs();
        self.limit.saturating_add(usize::try_from(regained).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_halves_the_limit_and_each_minute_without_one_adds_one() {
        let slowdown = Slowdown::default();
        let address: IpAddr = "192.0.2.1".parse().expect("an address");
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(slowdown.limit(address, 64, start), 64);
        slowdown.halve(address, 64, start);
        slowdown.halve(address, 64, start + SIGNAL_WINDOW / 2);
        assert_eq!(slowdown.limit(address, 64, start), 32, "signals within a second count as one");
        assert_eq!(slowdown.limit(address, 64, after(59)), 32);
        assert_eq!(slowdown.limit(address, 64, after(120)), 34);
        slowdown.halve(address, 64, after(121));
        assert_eq!(slowdown.limit(address, 64, after(121)), 17);
        assert_eq!(slowdown.limit(address, 16, after(121)), 16, "more workers, smaller shares");
        let other: IpAddr = "192.0.2.2".parse().expect("an address");
        assert_eq!(slowdown.limit(other, 64, after(121)), 64);
    }

    #[test]
    fn an_address_always_gets_at_least_one_request() {
        let slowdown = Slowdown::default();
        let address: IpAddr = "192.0.2.1".parse().expect("an address");
        let start = Instant::now();
        for second in 0..20 {
            slowdown.halve(address, 64, start + Duration::from_secs(2 * second));
        }
        assert_eq!(slowdown.limit(address, 64, start + Duration::from_secs(40)), 1);
    }
}
