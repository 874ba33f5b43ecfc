//! Limits how many pages and hosts a site may have in a crawl.
//!
//! All of a site's hosts are in one slot, so the slot's holder has their sums: it adds the counts
//! in their chunks' headers. A link farm's hosts are fetched in parallel and would use up the
//! budget before the host with the content is read. This is why part of it is reserved for the
//! site's largest host. Does not depend on how a state counts its pages.

/// Maximum hosts per site. A site with more makes them up.
pub(crate) const MAX_HOSTS_PER_SITE: u64 = 1_000;

/// The share of a site's budget that one shape's pages may take before they had new content, so
/// that a page that links to a trap with thousands of URLs leaves room for others.
const SHAPE_DIVISOR: u64 = 2;

/// The share of a site's budget that is reserved for its largest host.
const HOST_DIVISOR: u64 = 4;

/// Minimum number of these pages. Small budgets belong to small crawls, and their pages may well
/// have one shape.
const MIN_SHAPE_BUDGET: u64 = 64;

/// By default, a shape is closed once its repetitive pages outnumber those with new content by this
/// many. If two in five pages with a shape have new content, one such shape in a million gets here
/// by chance within 10,000 pages. A trap on a site with 50 pages ends within twice as many.
pub const DEFAULT_TRAP_PAGES: u32 = 32;

/// Maximum value that can be set: the maximum known URLs per host.
pub const MAX_TRAP_PAGES: u32 = 1_000_000;

/// A host may have one sitemap per this many pages in the site's budget. Sitemaps with fewer pages
/// are rare, and endless nested indexes are traps.
const PAGES_PER_SITEMAP: u64 = 64;

/// Every host may have at least this many sitemaps.
const MIN_SITEMAPS: u64 = 64;

/// The maximum pages per site in a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteBudget(pub u64);

/// This is enough for nearly every site, and a trap takes at most a few hours of its host's time.
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

    /// Returns true if the site's budget has no room for another page on a host with `pages`. The
    /// largest host may have a quarter of the budget, however many pages the others have.
    pub(crate) fn is_used_up(self, pages: u64, site: SiteUsage) -> bool {
        let reserved = if pages >= site.largest { 0 } else { self.0 / HOST_DIVISOR };
        site.pages.saturating_add(reserved.saturating_sub(site.largest)) >= self.0
    }

    /// Returns how many sitemaps a host may have.
    #[must_use]
    pub fn of_sitemaps(self) -> u64 {
        (self.0 / PAGES_PER_SITEMAP).max(MIN_SITEMAPS)
    }
}

/// How much of its budget a site uses in a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SiteUsage {
    /// Known pages on all its hosts, without requisites and sitemaps.
    pub pages: u64,
    /// Hosts with a known URL.
    pub hosts: u64,
    /// Known pages on the largest host. This is too high after [`Self::remove_page`], until the
    /// caller sets it again.
    pub largest: u64,
}

impl SiteUsage {
    /// Adds a host with `pages` known pages among `urls` known URLs.
    pub fn add_host(&mut self, pages: u64, urls: u64) {
        self.pages += pages;
        self.hosts += u64::from(urls > 0);
        self.largest = self.largest.max(pages);
    }

    /// Counts one more page on a host, which has `pages` including this one.
    pub(crate) fn add_page(&mut self, pages: u64) {
        self.pages += 1;
        self.largest = self.largest.max(pages);
    }

    /// Counts one page less.
    pub(crate) fn remove_page(&mut self) {
        self.pages = self.pages.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_half_of_the_budget_and_at_least_64_pages() {
        assert_eq!(SiteBudget::default().of_shape(), 5_000);
        assert_eq!(SiteBudget(100).of_shape(), 64);
        assert_eq!(SiteBudget(0).of_shape(), 64);
        assert_eq!(SiteBudget::default().of_sitemaps(), 156);
        assert_eq!(SiteBudget(100).of_sitemaps(), 64);
    }

    #[test]
    fn the_largest_host_has_a_quarter_of_the_budget_whatever_the_others_have() {
        let budget = SiteBudget(600);
        let site = |pages, largest| SiteUsage { pages, hosts: 9, largest };
        // The largest host has 20 pages, and 130 more are reserved for it.
        assert!(!budget.is_used_up(19, site(469, 20)));
        assert!(budget.is_used_up(19, site(470, 20)));
        assert!(!budget.is_used_up(20, site(599, 20)));
        assert!(budget.is_used_up(20, site(600, 20)));
        // Once it has its quarter, any host may use the rest.
        assert!(!budget.is_used_up(1, site(599, 150)));
        assert!(!SiteBudget(u64::MAX).is_used_up(1, site(u64::MAX - 1, u64::MAX)));
    }

    #[test]
    fn hosts_are_counted_with_a_known_url_and_the_largest_by_its_pages() {
        let mut site = SiteUsage::default();
        site.add_host(3, 5);
        site.add_host(0, 1);
        site.add_host(0, 0);
        assert_eq!(site, SiteUsage { pages: 3, hosts: 2, largest: 3 });
        site.add_page(4);
        assert_eq!(site, SiteUsage { pages: 4, hosts: 2, largest: 4 });
    }
}
