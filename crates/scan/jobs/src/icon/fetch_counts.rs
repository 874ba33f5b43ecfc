//! Maps a fetched shard's counts to their names in statistics.

use everytab_bundler::stats_names::{CountFamily, CountName};
use everytab_fetcher::FetchCounts;

/// Returns the counts by their stable names, so that they can be summed over shards: for a maximum,
/// each shard counts 1 under a name that ends in this maximum.
pub fn counts_by_name(counts: &FetchCounts) -> Vec<(String, u64)> {
    // The struct is destructured, so that the compiler reports a count without a name.
    let FetchCounts {
        lookups_by_duration: [within_1_ms, within_10_ms, within_100_ms, within_1000_ms, slower],
        lookups_ms,
        connections_tried,
        connections_reused,
        slowed_down,
        robots_requests,
        on_the_wire_ms,
        timed_out_ms,
        most_per_host,
        most_per_address,
    } = *counts;
    let named = [
        (CountName::ConnectionsReused, connections_reused),
        (CountName::ConnectionsTried, connections_tried),
        (CountName::Lookups, counts.lookups()),
        (CountName::LookupsMs, lookups_ms),
        (CountName::LookupsWithin1Ms, within_1_ms),
        (CountName::LookupsWithin10Ms, within_10_ms),
        (CountName::LookupsWithin100Ms, within_100_ms),
        (CountName::LookupsWithin1000Ms, within_1000_ms),
        (CountName::LookupsSlower, slower),
        (CountName::OnTheWireMs, on_the_wire_ms),
        (CountName::RobotsRequests, robots_requests),
        (CountName::SlowedDown, slowed_down),
        (CountName::TimedOutMs, timed_out_ms),
    ];
    let maxima = [
        (CountFamily::MostPerHost.name_of(most_per_host), 1),
        (CountFamily::MostPerAddress.name_of(most_per_address), 1),
    ];
    named.map(|(name, count)| (name.as_str().to_owned(), count)).into_iter().chain(maxima).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stable() {
        let counts = FetchCounts {
            lookups_by_duration: [1, 2, 3, 4, 5],
            most_per_host: 2,
            most_per_address: 7,
            ..Default::default()
        };
        let mut names = counts_by_name(&counts);
        names.sort();
        let names: Vec<(&str, u64)> =
            names.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert_eq!(
            names,
            [
                ("at_once_per_address_7", 1),
                ("at_once_per_host_2", 1),
                ("connections_reused", 0),
                ("connections_tried", 0),
                ("lookups", 15),
                ("lookups_ms", 0),
                ("lookups_slower", 5),
                ("lookups_within_1000_ms", 4),
                ("lookups_within_100_ms", 3),
                ("lookups_within_10_ms", 2),
                ("lookups_within_1_ms", 1),
                ("on_the_wire_ms", 0),
                ("robots_requests", 0),
                ("slowed_down", 0),
                ("timed_out_ms", 0),
            ]
        );
    }
}
