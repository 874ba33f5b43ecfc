//! Limits how many pages and hosts a site may have in a crawl, and how many sitemaps and pages with
//! one shape a host may have.
//!
//! Part of this budget is reserved for the site's largest host. Otherwise, a link farm's hosts
//! could use it up before the host with the content is read.

/// Maximum hosts per site. URLs on further hosts are rejected.
pub(crate) const MAX_HOSTS_PER_SITE: u64 = 1_000;

/// The site's budget divided by this is the maximum number of pages without new content per shape,
/// so that a trap cannot use up the whole budget.
const SHAPE_DIVISOR: u64 = 2;

/// The site's budget divided by this is reserved for its largest host.
const HOST_DIVISOR: u64 = 4;

/// Minimum pages per shape, because all pages in a small crawl may have the same shape.
const MIN_SHAPE_BUDGET: u64 = 64;

/// By default, this many repetitive pages, not offset by pages with new content, close a shape.
pub const DEFAULT_TRAP_PAGES: u32 = 32;

/// Maximum for the setting `trap_pages`.
pub const MAX_TRAP_PAGES: u32 = 1_000_000;

/// A host may have one sitemap per this many pages in the site's budget.
const PAGES_PER_SITEMAP: u64 = 64;

/// Every host may have at least this many sitemaps.
const MIN_SITEMAPS: u64 = 64;

/// Maximum pages per site in a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteBudget(pub u64);

/// Default budget. 10,000 pages are enough for nearly every site.
const DEFAULT_SITE_BUDGET: u64 = 10_000;

impl Default for SiteBudget {
    fn default() -> Self {
        Self(DEFAULT_SITE_BUDGET)
    }
}

impl SiteBudget {
    /// Returns how many pages with one shape a host may have, not counting pages with new content.
    #[must_use]
    pub fn of_shape(self) -> u64 {
        (self.0 / SHAPE_DIVISOR).max(MIN_SHAPE_BUDGET)
    }

    /// Returns true if this budget has no room for another page on a host with `pages` pages.
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

/// How much of its budget a site has used in this crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SiteUsage {
    /// Known pages on all hosts, without requisites and sitemaps.
    pub pages: u64,
    /// Hosts with a known URL.
    pub hosts: u64,
    /// Known pages on the largest host. After [`Self::remove_page`], this may be too high until the
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

    pub(crate) fn add_page(&mut self, pages: u64) {
        self.pages += 1;
        self.largest = self.largest.max(pages);
    }

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
