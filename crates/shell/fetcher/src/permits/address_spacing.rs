//! The minimum time between two crawl requests to one address. If an address is evicted, its next
//! request starts immediately.

use std::{net::IpAddr, num::NonZeroUsize, time::Duration};

use lru::LruCache;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Maximum number of addresses to remember.
const MAX_ADDRESSES: usize = 65_536;

pub(crate) struct AddressSpacing {
    next: Mutex<LruCache<IpAddr, Instant>>,
}

impl Default for AddressSpacing {
    fn default() -> Self {
        let size = NonZeroUsize::new(MAX_ADDRESSES).unwrap_or(NonZeroUsize::MIN);
        Self { next: Mutex::new(LruCache::new(size)) }
    }
}

impl AddressSpacing {
    /// Returns the reserved start time. The next request may start `distance` later.
    pub(crate) fn reserve(&self, address: IpAddr, distance: Duration, now: Instant) -> Instant {
        let mut next = self.next.lock();
        let begin = next.get(&address).map_or(now, |free_at| now.max(*free_at));
        next.put(address, begin + distance);
        begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_to_one_address_keep_their_distance_and_others_do_not_wait() {
        let spacing = AddressSpacing::default();
        let now = Instant::now();
        let address = |text: &str| text.parse().expect("an address");
        let (one, other) = (address("192.0.2.1"), address("192.0.2.2"));
        let distance = Duration::from_millis(100);
        for number in 0..5 {
            assert_eq!(spacing.reserve(one, distance, now), now + distance * number);
        }
        assert_eq!(spacing.reserve(other, distance, now), now);
        let later = now + Duration::from_secs(60);
        assert_eq!(spacing.reserve(one, distance * 3, later), later);
        assert_eq!(spacing.reserve(one, distance, later), later + distance * 3);
    }
}
