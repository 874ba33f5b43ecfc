//! Finds a host's public suffix and registered domain, both with and without the Public Suffix
//! List's private section.

use crate::suffixes::{DEFAULT_SUFFIX_LIST, SuffixList, domain_of};

/// Start of the list's private section.
const PRIVATE_SECTION: &str = "// ===BEGIN PRIVATE DOMAINS===";

/// A host's domains. A field is `None` if there is no such domain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedDomains {
    /// Public suffix by the registry section, such as `com`.
    pub registry_suffix: Option<String>,
    /// Registered domain by the registry section, such as `googleapis.com`.
    pub registered_domain: Option<String>,
    /// Public suffix by both sections, such as `googleapis.com`.
    pub private_suffix: Option<String>,
    /// Registered domain by both sections, such as `storage.googleapis.com`.
    pub private_domain: Option<String>,
}

/// The Public Suffix List with and without its private section.
#[derive(Debug, Clone)]
pub struct DomainLists {
    registries: SuffixList,
    both: SuffixList,
}

impl DomainLists {
    /// Returns this host's domains. `host` has the form of [`crate::CanonicalUrl::host`].
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
