//! The hosts that a published site must not show.

use std::collections::HashSet;

/// The hosts that must not have a tab.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemovedHosts {
    /// Hostnames, normalized as in scans.
    pub hostnames: HashSet<String>,
    /// Domains that are excluded with all hostnames below them.
    pub suffixes: HashSet<String>,
}

impl RemovedHosts {
    /// Returns true if no host is excluded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hostnames.is_empty() && self.suffixes.is_empty()
    }

    /// Returns true if the host or a domain above it is excluded.
    #[must_use]
    pub fn contain(&self, hostname: &str) -> bool {
        self.hostnames.contains(hostname)
            || !self.suffixes.is_empty() && domains(hostname).any(|d| self.suffixes.contains(d))
    }
}

fn domains(hostname: &str) -> impl Iterator<Item = &str> {
    let below = hostname.match_indices('.').map(|(dot, _)| &hostname[dot + 1..]);
    std::iter::once(hostname).chain(below)
}

impl<'a> FromIterator<&'a str> for RemovedHosts {
    fn from_iter<I: IntoIterator<Item = &'a str>>(hostnames: I) -> Self {
        let hostnames = hostnames.into_iter().map(str::to_owned).collect();
        Self { hostnames, suffixes: HashSet::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_excludes_whole_labels_and_a_name_itself_alone() {
        let mut excluded = RemovedHosts::from_iter(["a.example"]);
        excluded.suffixes.insert("b.example".to_owned());
        for (hostname, expected) in [
            ("a.example", true),
            ("www.a.example", false),
            ("b.example", true),
            ("x.y.b.example", true),
            ("xb.example", false),
            ("example", false),
        ] {
            assert_eq!(excluded.contain(hostname), expected, "{hostname}");
        }
        assert!(RemovedHosts::default().is_empty() && !excluded.is_empty());
    }
}
