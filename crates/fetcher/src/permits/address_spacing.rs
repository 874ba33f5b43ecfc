//! The distance between two requests of a crawl to one address.
//!
//! Requests to an address begin one after the other, in the order in which they came. Memory is
//! bounded; an address that is forgotten gets its next request without a distance. The distance
//! only delays, it never decides an outcome.
//! Must not know: which addresses keep a distance, how long it is.

use std::{net::IpAddr, num::NonZeroUsize, time::Duration};

use lru::LruCache;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Addresses that are remembered: more than one worker asks in a minute.
const MAX_ADDRESSES: usize = 65_536;

/// When the next request to each address may begin.
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
    /// When a request to `address` may begin that asks now. The one after it may begin `distance`
    /// later.
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
        let (spacing, now) = (AddressSpacing::default(), Instant::now());
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
