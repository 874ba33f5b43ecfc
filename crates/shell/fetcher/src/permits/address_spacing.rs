//! The minimum time between two crawl requests to one address.
//!
//! Requests to an address start one after another, in order of arrival. Memory is bounded. If an
//! address is forgotten, its next request starts immediately. Spacing only delays requests, and
//! never decides an outcome. This module does not depend on which addresses are spaced, or by how
//! much.

use std::{net::IpAddr, num::NonZeroUsize, time::Duration};

use lru::LruCache;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Maximum number of addresses to remember. This is more than one worker requests in a minute.
const MAX_ADDRESSES: usize = 65_536;

/// The time when the next request to each address may start.
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
    /// Reserves a start time for a request to `address`, and returns this time. The next request
    /// may start `distance` later.
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
