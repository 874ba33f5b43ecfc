//! Limits how many pages and hosts a site may have in a crawl.
//!
//! All hosts of a site are in one slot, so the slot's holder has their sums: it adds the counts in
//! the headers of their chunks. Does not depend on how a state counts its pages.

/// Maximum hosts per site. A site with more makes them up.
pub(crate) const MAX_HOSTS_PER_SITE: u64 = 1_000;

/// The share of a site's budget that one shape's pages may take before they had new content: a page
/// that links to a trap with thousands of URLs leaves room for others.
const SHAPE_DIVISOR: u64 = 2;

/// Minimum number of such pages. Small budgets belong to small crawls, whose pages may well have
/// one shape.
const MIN_SHAPE_BUDGET: u64 = 64;

/// A shape is closed by default once its pages that repeat others outnumber those with new content
/// by this many. If two in five pages of a shape have new content, one such shape in a million gets
/// here by chance within 10,000 pages. A trap on a site of 50 pages ends within twice as many.
pub const DEFAULT_TRAP_PAGES: u32 = 32;

/// Maximum value that can be set: the known URLs of a host.
pub const MAX_TRAP_PAGES: u32 = 1_000_000;

/// A host may have one sitemap for this many pages of the site's budget. Sitemaps with fewer pages
/// are rare, and endless indexes of indexes are traps.
const PAGES_PER_SITEMAP: u64 = 64;

/// Minimum number of sitemaps that a host may have.
const MIN_SITEMAPS: u64 = 64;

/// The maximum pages per site in a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteBudget(pub u64);

/// Enough for nearly every site, and a trap takes at most a few hours of its host's time.
const DEFAULT_SITE_BUDGET: u64 = 10_000;

impl Default for SiteBudget {
    fn default() -> Self {
        Self(DEFAULT_SITE_BUDGET)
    }
}

impl SiteBudget {
    /// Returns how many pages with one shape a host may have before any had new content.
    #[must_use]
    pub fn of_shape(self) -> u64 {
        (self.0 / SHAPE_DIVISOR).max(MIN_SHAPE_BUDGET)
    }

    /// Returns how many sitemaps a host may have.
    #[must_use]
    pub fn of_sitemaps(self) -> u64 {
        (self.0 / PAGES_PER_SITEMAP).max(MIN_SITEMAPS)
    }
}

/// A site's usage of its budget in a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SiteUse {
    /// Known pages on all its hosts, without requisites and sitemaps.
    pub pages: u64,
    /// Hosts with a known URL.
    pub hosts: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_half_of_the_budget_and_64_pages_at_least() {
        assert_eq!(SiteBudget::default().of_shape(), 5_000);
        assert_eq!(SiteBudget(100).of_shape(), 64);
        assert_eq!(SiteBudget(0).of_shape(), 64);
        assert_eq!(SiteBudget::default().of_sitemaps(), 156);
        assert_eq!(SiteBudget(100).of_sitemaps(), 64);
    }
}
