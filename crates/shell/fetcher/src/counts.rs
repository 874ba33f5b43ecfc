//! Counters for fetching one shard.

/// Upper bounds of the counters for lookups by duration, in milliseconds.
const LOOKUP_BOUNDS_MS: [u64; 4] = [1, 10, 100, 1_000];
pub(crate) const LOOKUP_BUCKETS: usize = LOOKUP_BOUNDS_MS.len() + 1;

pub(crate) fn lookup_bucket(took_ms: u64) -> usize {
    LOOKUP_BOUNDS_MS.partition_point(|bound| *bound < took_ms)
}

/// The work of fetching one shard, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchCounts {
    /// DNS lookups by duration: up to 1 ms, 10 ms, 100 ms, 1 s, and slower.
    pub lookups_by_duration: [u64; LOOKUP_BUCKETS],
    /// Total milliseconds spent in lookups.
    pub lookups_ms: u64,
    /// Attempted connections.
    pub connections_tried: u64,
    /// Requests over a connection that was already open.
    pub connections_reused: u64,
    /// Rate-limit signals from addresses.
    pub slowed_down: u64,
    /// Requests for robots.txt.
    pub robots_requests: u64,
    /// Total milliseconds spent in fetches, without DNS.
    pub on_the_wire_ms: u64,
    /// Total milliseconds, without DNS, spent in fetches that timed out or did not reach the peer.
    pub timed_out_ms: u64,
    /// Maximum concurrent requests to one hostname.
    pub most_per_host: usize,
    /// Maximum concurrent requests to one address.
    pub most_per_address: usize,
}

impl FetchCounts {
    /// Returns the number of lookups.
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
