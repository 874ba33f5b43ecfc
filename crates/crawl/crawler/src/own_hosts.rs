//! The operator's own hosts, which may have a shorter delay than others.

use std::{collections::HashSet, sync::Arc};

/// The operator's domains, each with all hosts below it. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct OwnHosts(Arc<HashSet<String>>);

impl OwnHosts {
    /// Creates the list from domains in any case. Surrounding spaces and dots are removed.
    pub fn new(domains: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let domains = domains.into_iter().map(|domain| {
            let domain = domain.as_ref().trim().trim_matches('.');
            domain.to_ascii_lowercase()
        });
        Self(Arc::new(domains.filter(|domain| !domain.is_empty()).collect()))
    }

    pub(crate) fn contain(&self, host: &str) -> bool {
        let below = host.match_indices('.').filter_map(|(dot, _)| host.get(dot + 1..));
        !self.0.is_empty() && std::iter::once(host).chain(below).any(|name| self.0.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_includes_itself_and_all_hosts_below_it() {
        let own = OwnHosts::new(["Example.com.", "", " a.test "]);
        for host in ["example.com", "www.example.com", "a.test", "b.a.test"] {
            assert!(own.contain(host), "{host}");
        }
        for host in ["com", "notexample.com", "test", "example.com.evil", ""] {
            assert!(!own.contain(host), "{host}");
        }
        assert!(!OwnHosts::default().contain("example.com"));
    }
}
