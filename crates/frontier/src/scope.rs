//! Says which links of a page are in the scope of a crawl.
//!
//! Scope depends on where a link was found, so the finder decides it, before the link travels to
//! the slot of its site. Must not know: patterns, depth, traps.

use std::str::FromStr;

use crate::site::site_hash;

/// The text is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no scope: page, host, site, list or any")]
pub struct ScopeError(String);

/// Which links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// None: only what was submitted.
    Page,
    /// Those to the host of the page.
    Host,
    /// Those to the site of the page.
    #[default]
    Site,
    /// Those to the sites of the seeds, and within the site of the page, which is another one where
    /// a seed redirects to it.
    List,
    /// All.
    Any,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 5] = [Self::Page, Self::Host, Self::Site, Self::List, Self::Any];

    /// Returns the stable name.
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

/// The sites of the seeds, for the scope `list`: 8 bytes each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SiteSet {
    hashes: Vec<u64>,
}

impl SiteSet {
    /// Makes a set of hashes of sites (see [`site_hash`]), in any order.
    #[must_use]
    pub fn new(mut hashes: Vec<u64>) -> Self {
        hashes.sort_unstable();
        hashes.dedup();
        Self { hashes }
    }

    /// Returns true if the set has a site.
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
        assert_eq!(error, "\"Site\" is no scope: page, host, site, list or any");
    }

    #[test]
    fn a_set_has_the_sites_it_was_made_of() {
        let set = SiteSet::new(vec![site_hash("b.example"), site_hash("a.example")]);
        assert!(set.contains("a.example") && set.contains("b.example"));
        assert!(!set.contains("c.example") && !SiteSet::default().contains("a.example"));
    }
}
