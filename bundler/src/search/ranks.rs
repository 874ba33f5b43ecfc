//! A scan's host ranks.
//!
//! The list has one hostname per line, without `www.`, best rank first. An empty line means that
//! this rank is not used.

use std::collections::HashMap;

use crate::search::key::without_www;

/// Maximum hosts in the list. Visitors rarely search for hosts beyond this rank.
pub const RANKED_HOSTS: usize = 1_000_000;

/// The hosts' ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRanks(HashMap<String, u32>);

impl HostRanks {
    /// Reads the ranks of hosts for which `wanted` returns true.
    #[must_use]
    pub fn read(list: &[u8], wanted: impl Fn(&str) -> bool) -> Self {
        let mut ranks = HashMap::new();
        for (rank, line) in (1..).zip(list.split(|byte| *byte == b'\n')) {
            let host = std::str::from_utf8(line).unwrap_or_default();
            if !host.is_empty() && wanted(host) {
                ranks.entry(host.to_owned()).or_insert(rank);
            }
        }
        Self(ranks)
    }

    /// Returns true if no host has a rank.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the list from hosts, which must be sorted best first.
    #[must_use]
    pub fn write(hosts: &[String]) -> String {
        hosts.iter().map(|host| format!("{}\n", without_www(host))).collect()
    }

    /// Removes a host from a list and leaves its line empty, so that other ranks do not change.
    /// `None` if the host is not in the list.
    #[must_use]
    pub fn without(list: &[u8], host: &str) -> Option<Vec<u8>> {
        let name = without_www(host).as_bytes();
        let lines: Vec<&[u8]> = list.split(|byte| *byte == b'\n').collect();
        let left = |line: &&[u8]| if *line == name { Vec::new() } else { line.to_vec() };
        let is_there = lines.contains(&name);
        is_there.then(|| lines.iter().map(left).collect::<Vec<_>>().join(&b'\n'))
    }

    /// Returns a host's rank, from 1, regardless of `www.`.
    #[must_use]
    pub fn of(&self, hostname: &str) -> Option<u32> {
        self.0.get(without_www(hostname)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_the_rank_of_its_line_with_or_without_www() {
        let hosts = ["a.com", "", "www.b.com", "a.com", "c.com"].map(str::to_owned);
        let list = HostRanks::write(&hosts);
        let ranks = HostRanks::read(list.as_bytes(), |host| host != "c.com");
        let of = ["www.a.com", "b.com", "c.com", "www.com"].map(|host| ranks.of(host));
        assert_eq!(of, [Some(1), Some(3), None, None]);
        let without = HostRanks::without(list.as_bytes(), "www.b.com").unwrap();
        assert_eq!(without, b"a.com\n\n\na.com\nc.com\n");
        assert_eq!(HostRanks::without(&without, "b.com"), None);
    }
}
