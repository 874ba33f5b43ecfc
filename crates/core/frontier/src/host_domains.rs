//! Finds a host's public suffix and registered domain for a columnar index. The index stores both
//! by the registry section of the Public Suffix List alone, and by both of its sections.
//!
//! This module does not depend on the index.

use crate::suffixes::{DEFAULT_SUFFIX_LIST, SuffixList, domain_of};

/// The line that starts the list's private section.
const PRIVATE_SECTION: &str = "// ===BEGIN PRIVATE DOMAINS===";

/// A host's domains. `None` for an address, and if there is no such domain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedDomains {
    /// The public suffix by the registry section alone, such as `com`.
    pub registry_suffix: Option<String>,
    /// The registered domain by the registry section alone: the suffix and the label before it,
    /// such as `googleapis.com`.
    pub registered_domain: Option<String>,
    /// The public suffix by both sections, such as `googleapis.com`.
    pub private_suffix: Option<String>,
    /// The registered domain by both sections: the suffix and the label before it, such as
    /// `storage.googleapis.com`.
    pub private_domain: Option<String>,
}

/// The Public Suffix List, with and without its private section.
#[derive(Debug, Clone)]
pub struct DomainLists {
    registries: SuffixList,
    both: SuffixList,
}

impl DomainLists {
    /// Returns a host's domains. `host` has the form that [`crate::CanonicalUrl::host`] returns.
    #[must_use]
    pub fn domains_of(&self, host: &str) -> ListedDomains {
        let pair = |list: &SuffixList| {
            let suffix = list.suffix_of(host);
            let domain = suffix.and_then(|suffix| domain_of(host, suffix));
            (suffix.map(str::to_owned), domain.map(str::to_owned))
        };
        let (registry_suffix, registered_domain) = pair(&self.registries);
        let (private_suffix, private_domain) = pair(&self.both);
        ListedDomains { registry_suffix, registered_domain, private_suffix, private_domain }
    }
}

impl Default for DomainLists {
    fn default() -> Self {
        let registries = DEFAULT_SUFFIX_LIST.split(PRIVATE_SECTION).next().unwrap_or_default();
        Self {
            registries: SuffixList::parse(registries, &[]).expect("a test parses both lists"),
            both: SuffixList::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_equal_those_in_common_crawls_table() {
        let lists = DomainLists::default();
        let found = |host| {
            let domains = lists.domains_of(host);
            let ListedDomains {
                registry_suffix,
                registered_domain,
                private_suffix,
                private_domain,
            } = domains;
            [registry_suffix, registered_domain, private_suffix, private_domain]
                .map(|name| name.unwrap_or_default())
        };
        for (host, expected) in [
            ("www.example.co.uk", ["co.uk", "example.co.uk", "co.uk", "example.co.uk"]),
            (
                "a.storage.googleapis.com",
                ["com", "googleapis.com", "googleapis.com", "storage.googleapis.com"],
            ),
            ("ann.github.io", ["io", "github.io", "github.io", "ann.github.io"]),
            ("github.io", ["io", "github.io", "github.io", ""]),
            ("com", ["com", "", "com", ""]),
            ("a.no-such-suffix", ["", "", "", ""]),
            ("192.0.2.1", ["", "", "", ""]),
        ] {
            assert_eq!(found(host), expected, "{host}");
        }
    }
}
