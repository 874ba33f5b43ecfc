//! Addresses that asked for less: half as many requests at once, then one more a clean minute.
//!
//! What comes within one moment is one complaint. Memory is bounded; forgetting one gives it its
//! full share back. It delays, it never decides an outcome. Must not know: what a complaint is.

use std::{
    net::IpAddr,
    num::NonZeroUsize,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use lru::LruCache;
use tokio::time::Instant;

const REMEMBERED: usize = 16_384;
/// One more request at once after each of these without a complaint.
const CLEAN: Duration = Duration::from_secs(60);
/// Answers of requests that were under way together complain together.
const MOMENT: Duration = Duration::from_secs(1);

struct Cut {
    limit: usize,
    since: Instant,
}

/// The complaints that one fetcher heard.
pub(crate) struct Slowdown {
    cuts: Mutex<LruCache<IpAddr, Cut>>,
    /// Spares the lock while nobody complains.
    any: AtomicBool,
}

impl Default for Slowdown {
    fn default() -> Slowdown {
        let size = NonZeroUsize::new(REMEMBERED).unwrap_or(NonZeroUsize::MIN);
        Slowdown { cuts: Mutex::new(LruCache::new(size)), any: AtomicBool::new(false) }
    }
}

impl Slowdown {
    /// How many requests at once `address` gets of its full share.
    pub(crate) fn limit(&self, address: IpAddr, full: usize, now: Instant) -> usize {
        if !self.any.load(Ordering::Relaxed) {
            return full;
        }
        let mut cuts = self.cuts();
        let Some(cut) = cuts.get(&address) else { return full };
        let limit = cut.now(now);
        if limit >= full {
            cuts.pop(&address);
            return full;
        }
        limit
    }

    /// `address` complained.
    pub(crate) fn halve(&self, address: IpAddr, full: usize, now: Instant) {
        self.any.store(true, Ordering::Relaxed);
        let mut cuts = self.cuts();
        let before = match cuts.get(&address) {
            Some(cut) if now.saturating_duration_since(cut.since) < MOMENT => return,
            Some(cut) => cut.now(now).min(full),
            None => full,
        };
        cuts.put(address, Cut { limit: (before / 2).max(1), since: now });
    }

    fn cuts(&self) -> MutexGuard<'_, LruCache<IpAddr, Cut>> {
        // Each change is one call, so a panic elsewhere cannot leave it half changed.
        self.cuts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cut {
    fn now(&self, now: Instant) -> usize {
        let clean = now.saturating_duration_since(self.since).as_secs() / CLEAN.as_secs();
        self.limit.saturating_add(usize::try_from(clean).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_halves_and_every_clean_minute_gives_one_back() {
        let slowdown = Slowdown::default();
        let address: IpAddr = "192.0.2.1".parse().expect("an address");
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(slowdown.limit(address, 64, start), 64);
        slowdown.halve(address, 64, start);
        slowdown.halve(address, 64, start + MOMENT / 2);
        assert_eq!(slowdown.limit(address, 64, start), 32, "one moment, one complaint");
        assert_eq!(slowdown.limit(address, 64, after(59)), 32);
        assert_eq!(slowdown.limit(address, 64, after(120)), 34);
        slowdown.halve(address, 64, after(121));
        assert_eq!(slowdown.limit(address, 64, after(121)), 17);
        assert_eq!(slowdown.limit(address, 16, after(121)), 16, "more workers, smaller shares");
        let other: IpAddr = "192.0.2.2".parse().expect("an address");
        assert_eq!(slowdown.limit(other, 64, after(121)), 64);
    }

    #[test]
    fn nobody_is_slowed_down_to_nothing() {
        let slowdown = Slowdown::default();
        let address: IpAddr = "192.0.2.1".parse().expect("an address");
        let start = Instant::now();
        for second in 0..20 {
            slowdown.halve(address, 64, start + Duration::from_secs(2 * second));
        }
        assert_eq!(slowdown.limit(address, 64, start + Duration::from_secs(40)), 1);
    }
}
