//! Adds an origin's sitemaps when one of its pages is about to be fetched.

use std::sync::Arc;

use everytab_frontier::{OutgoingLinks, PendingUrl, site_hash};
use everytab_webpage::RobotsTxt;

use crate::{crawl::Crawl, host::SiteKey, scheduler::state::Scheduler, sitemaps};

impl Scheduler {
    /// Adds an origin's sitemaps to a crawl, once while the site is in memory. The page's URL stays
    /// pending until the sitemaps are added, and one checkpoint records both, so that the crawl
    /// does not end in between.
    pub(super) fn add_sitemaps(
        &mut self,
        host_hash: u64,
        crawl: &Arc<Crawl>,
        pending: &PendingUrl,
        (origin, rules): (&str, &RobotsTxt),
    ) {
        if !sitemaps::should_add(crawl, pending) {
            return;
        }
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        let name = Arc::clone(&host.name);
        let slot = host.slot;
        let key = SiteKey { crawl: crawl.number, site_hash: host.site_hash };
        let Some(site) = self.state.sites.get_mut(&key) else { return };
        if !site.sitemap_origins.insert(site_hash(origin)) {
            return;
        }
        let found = sitemaps::of_origin(&self.context, crawl, (&name, pending), (origin, rules));
        if !found.own_host.is_empty() {
            self.merge_links(crawl.number, found.own_host);
        }
        let (links, held_slots): (OutgoingLinks, _) =
            (found.elsewhere.iter().collect(), self.state.slots.len());
        if (!links.is_empty() || found.rejected.total() > 0)
            && let Some(slot) = self.state.slots.get_mut(&slot)
        {
            slot.found(crawl.number, &links, &found.rejected, held_slots);
        }
    }
}
