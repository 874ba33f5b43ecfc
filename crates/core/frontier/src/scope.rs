//! Decides which links on a page are in a crawl's scope, before they are sent to their slots.

use std::str::FromStr;

use crate::site::site_hash;

/// This string is not a valid scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid scope {0:?}: expected page, host, site, list or any")]
pub struct ScopeError(String);

/// Which links are in scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// No links, only submitted URLs, the targets of their redirects, and requisites.
    Page,
    /// Links to the page's host.
    Host,
    /// Links to the page's site.
    #[default]
    Site,
    /// Links to the seeds' sites and within the page's site, to which a seed may have redirected.
    List,
    /// All links.
    Any,
}

impl Scope {
    /// All variants.
    pub const ALL: [Self; 5] = [Self::Page, Self::Host, Self::Site, Self::List, Self::Any];

    /// Returns a stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Host => "host",
            Self::Site => "site",
            Self::List => "list",
            Self::Any => "any",
        }
    }
}

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| ScopeError(text.to_owned()))
    }
}

/// Hashes for the seeds' sites, for the scope `list`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SiteSet {
    hashes: Vec<u64>,
}

impl SiteSet {
    /// Creates a set from site hashes (see [`site_hash`]) in any order.
    #[must_use]
    pub fn new(mut hashes: Vec<u64>) -> Self {
        hashes.sort_unstable();
        hashes.dedup();
        Self { hashes }
    }

    /// Returns true if this set contains a site.
    #[must_use]
    pub fn contains(&self, site: &str) -> bool {
        self.hashes.binary_search(&site_hash(site)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_read_from_its_name() {
        for scope in Scope::ALL {
            assert_eq!(scope.as_str().parse(), Ok(scope));
        }
        let error = "Site".parse::<Scope>().unwrap_err().to_string();
        assert_eq!(error, "invalid scope \"Site\": expected page, host, site, list or any");
    }

    #[test]
    fn a_set_contains_the_sites_it_was_built_from() {
        let set = SiteSet::new(vec![site_hash("b.example"), site_hash("a.example")]);
        assert!(set.contains("a.example") && set.contains("b.example"));
        assert!(!set.contains("c.example") && !SiteSet::default().contains("a.example"));
    }
}
