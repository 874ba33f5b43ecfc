//! Hosts that are the operator's own, which may be asked with a shorter delay than others.
//!
//! Must not know: delays.

use std::{collections::HashSet, sync::Arc};

/// Domains that are the operator's own, each with all hosts below it. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct OwnHosts(Arc<HashSet<String>>);

impl OwnHosts {
    /// The domains, in any case; a dot at either end is left out.
    pub fn new(domains: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let domains = domains.into_iter().map(|domain| {
            let domain = domain.as_ref().trim().trim_matches('.');
            domain.to_ascii_lowercase()
        });
        Self(Arc::new(domains.filter(|domain| !domain.is_empty()).collect()))
    }

    /// Whether a host, in lower case, is one of them.
    pub(crate) fn contain(&self, host: &str) -> bool {
        let below = host.match_indices('.').filter_map(|(dot, _)| host.get(dot + 1..));
        !self.0.is_empty() && std::iter::once(host).chain(below).any(|name| self.0.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_itself_and_all_hosts_below_it() {
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
