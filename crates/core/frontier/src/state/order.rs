//! The order in which a host's pending URLs are fetched: urgent URLs, then by priority, then URLs
//! without failures, then by depth.

use crate::{
    canonical::UrlHash,
    link::{Attributes, LinkFlags},
    priority::MAX_PRIORITY,
};

/// Position of a pending URL in its host's order. The smallest one is fetched first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// From the highest bit: 1 bit for not urgent, 8 bits for 7 minus the priority, 1 bit for
    /// retried, 16 bits for the depth.
    rank: u32,
    hash: UrlHash,
}

impl Place {
    /// Retried URLs come last in their priority, so that a failing origin is noticed on different
    /// URLs.
    pub(super) fn of(hash: UrlHash, attributes: &Attributes, retries: u8) -> Self {
        let is_urgent = attributes.flags.contains(LinkFlags::URGENT);
        let after = MAX_PRIORITY.saturating_sub(attributes.priority);
        let lane = u32::from(!is_urgent) << 8 | u32::from(after);
        let lane = lane << 1 | u32::from(retries > 0);
        Self { rank: lane << 16 | u32::from(attributes.depth), hash }
    }

    pub(super) fn is_urgent(self) -> bool {
        self.rank >> 25 == 0
    }

    pub(super) fn hash(self) -> UrlHash {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_ordered_by_urgency_priority_retries_depth_and_hash() {
        let place = |is_urgent, priority, depth, hash| {
            let flags = if is_urgent { LinkFlags::URGENT } else { LinkFlags::default() };
            Place::of(UrlHash(hash), &Attributes { depth, priority, hops: 0, flags }, 0)
        };
        let retried = Place::of(UrlHash(0), &Attributes::default(), 1);
        let places = [
            place(true, 0, u16::MAX, 9),
            place(false, 7, 1_000, 9),
            place(false, 1, 0, 9),
            place(false, 0, 0, 1),
            place(false, 0, 0, 2),
            place(false, 0, 1, 0),
            retried,
        ];
        assert!(places.is_sorted());
        assert_eq!(places[0].hash(), UrlHash(9));
        assert_eq!(places.map(Place::is_urgent), [true, false, false, false, false, false, false]);
    }
}
