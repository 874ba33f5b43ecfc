//! The counts of one fetched shard.
//!
//! Must not know: how the events are counted, and under which names statistics keep them.

/// The upper bounds in milliseconds of all but the last count of look-ups by duration.
const LOOKUP_BOUNDS_MS: [u64; 4] = [1, 10, 100, 1_000];
/// The number of counts of look-ups by duration; the last is for those over all bounds.
pub(crate) const LOOKUP_BUCKETS: usize = LOOKUP_BOUNDS_MS.len() + 1;

/// The index of the count for a look-up that took this many milliseconds.
pub(crate) fn lookup_bucket(took_ms: u64) -> usize {
    LOOKUP_BOUNDS_MS.partition_point(|bound| *bound < took_ms)
}

/// What fetching one shard took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchCounts {
    /// Look-ups by duration: within 1 ms, 10 ms, 100 ms, 1 s, and slower.
    pub lookups_by_duration: [u64; LOOKUP_BUCKETS],
    /// Milliseconds of all look-ups together.
    pub lookups_ms: u64,
    /// Connections that were tried.
    pub connections_tried: u64,
    /// Requests over a connection that was open already.
    pub connections_reused: u64,
    /// Complaints of addresses.
    pub slowed_down: u64,
    /// Requests for robots.txt.
    pub robots_requests: u64,
    /// Milliseconds of all fetches together, without the resolver.
    pub on_the_wire_ms: u64,
    /// Milliseconds of the fetches in which the peer was silent, without the resolver.
    pub timed_out_ms: u64,
    /// The largest number of concurrent requests to one hostname.
    pub most_per_host: usize,
    /// The largest number of concurrent requests to one address.
    pub most_per_address: usize,
}

impl FetchCounts {
    /// All look-ups.
    pub fn lookups(&self) -> u64 {
        self.lookups_by_duration.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_own_bucket() {
        let buckets = [0, 1, 2, 10, 11, 1_000, 1_001].map(lookup_bucket);
        assert_eq!(buckets, [0, 0, 1, 1, 2, 3, 4]);
    }
}
