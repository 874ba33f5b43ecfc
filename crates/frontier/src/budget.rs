//! How many pages and hosts a site may have in a crawl.
//!
//! All hosts of a site are in one slot, so its holder has their sums: it adds the counts in the
//! heads of their chunks. Must not know: how a state counts its pages.

/// Greatest number of hosts of a site: a site that makes more makes them up.
pub(crate) const MAX_HOSTS_PER_SITE: u64 = 1_000;

/// The part of a site's budget that pages of one shape may fill before they said something new: one
/// page that links to a trap of thousands leaves room for others.
const SHAPE_DIVISOR: u64 = 2;

/// Least number of such pages: small budgets are of small crawls, whose pages may well be of one
/// shape.
const MIN_SHAPE_BUDGET: u64 = 64;

/// Number of pages by which those of a shape that repeat others may outnumber those that say
/// something new, unless the crawl says otherwise. Of shapes of which two pages in five say
/// something new, one in a million comes to so many by chance in 10,000 pages; and a trap on a site
/// of 50 pages ends within twice these.
pub const DEFAULT_TRAP_PAGES: u32 = 32;

/// Greatest such number that can be set: as many pages as a crawl knows of a host.
pub const MAX_TRAP_PAGES: u32 = 1_000_000;

/// Pages of a site's budget for each of which a host may have a sitemap: one that lists fewer pages
/// is rare, and indexes of indexes without end are traps.
const PAGES_PER_SITEMAP: u64 = 64;

/// Least number of sitemaps that a host may have.
const MIN_SITEMAPS: u64 = 64;

/// The number of pages that a site may have in a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteBudget(pub u64);

/// Enough for nearly every site, and a trap does not take more than a few hours of its host's time.
const DEFAULT_SITE_BUDGET: u64 = 10_000;

impl Default for SiteBudget {
    fn default() -> Self {
        Self(DEFAULT_SITE_BUDGET)
    }
}

impl SiteBudget {
    /// The number of pages of one shape that a host may have without having said anything new.
    #[must_use]
    pub fn of_shape(self) -> u64 {
        (self.0 / SHAPE_DIVISOR).max(MIN_SHAPE_BUDGET)
    }

    /// The number of sitemaps that a host may have.
    #[must_use]
    pub fn of_sitemaps(self) -> u64 {
        (self.0 / PAGES_PER_SITEMAP).max(MIN_SITEMAPS)
    }
}

/// What a crawl knows of a site so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SiteUse {
    /// Known pages of all its hosts; requisites and sitemaps are none.
    pub pages: u64,
    /// Hosts of which a URL is known.
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
