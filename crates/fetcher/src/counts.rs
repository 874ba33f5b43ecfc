//! The counts of one fetched shard, and the names under which statistics keep them.
//!
//! Invariant: the names are stable, because Postgres stores them and `stats.json` is computed from
//! them; they are made here and nowhere else.
//! Must not know: how the events are counted.

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

    /// The counts by their stable names. Counts of several shards add up, the maxima too: each
    /// shard counts one under the name that ends in its maximum.
    pub fn by_name(&self) -> Vec<(String, u64)> {
        let mut counts: Vec<(String, u64)> = [
            ("connections_reused", self.connections_reused),
            ("connections_tried", self.connections_tried),
            ("lookups", self.lookups()),
            ("lookups_ms", self.lookups_ms),
            ("on_the_wire_ms", self.on_the_wire_ms),
            ("robots_requests", self.robots_requests),
            ("slowed_down", self.slowed_down),
            ("timed_out_ms", self.timed_out_ms),
        ]
        .map(|(name, count)| (name.to_owned(), count))
        .into();
        for (bucket, count) in self.lookups_by_duration.iter().enumerate() {
            let name = match LOOKUP_BOUNDS_MS.get(bucket) {
                Some(bound) => format!("lookups_within_{bound}_ms"),
                None => "lookups_slower".to_owned(),
            };
            counts.push((name, *count));
        }
        counts.push((format!("at_once_per_host_{}", self.most_per_host), 1));
        counts.push((format!("at_once_per_address_{}", self.most_per_address), 1));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stable() {
        let counts = FetchCounts { most_per_host: 2, most_per_address: 7, ..Default::default() };
        let mut names: Vec<String> = counts.by_name().into_iter().map(|(name, _)| name).collect();
        names.sort();
        assert_eq!(
            names,
            [
                "at_once_per_address_7",
                "at_once_per_host_2",
                "connections_reused",
                "connections_tried",
                "lookups",
                "lookups_ms",
                "lookups_slower",
                "lookups_within_1000_ms",
                "lookups_within_100_ms",
                "lookups_within_10_ms",
                "lookups_within_1_ms",
                "on_the_wire_ms",
                "robots_requests",
                "slowed_down",
                "timed_out_ms",
            ]
        );
    }

    #[test]
    fn a_bound_belongs_to_its_own_bucket() {
        let buckets = [0, 1, 2, 10, 11, 1_000, 1_001].map(lookup_bucket);
        assert_eq!(buckets, [0, 0, 1, 1, 2, 3, 4]);
    }
}
