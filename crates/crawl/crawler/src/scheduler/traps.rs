//! Records page content for trap detection, and leaves URLs whose shapes no longer yield new
//! content.

use everytab_frontier::{
    CanonicalUrl, FinalState, FinishEffect, Link, PendingUrl, RejectReason, UrlHash,
};

use crate::{crawl::Crawl, host::SiteKey, scheduler::state::Scheduler};

/// The reason to leave pending URLs whose shape yields no new content.
pub(crate) const TRAP_SHAPE: &str = RejectReason::TrapShape.as_str();

impl Scheduler {
    /// Call this before `links` are merged. A page whose links were merged in batches passes no
    /// links here.
    pub(super) fn note_page(
        &mut self,
        (host_hash, crawl): (u64, &Crawl),
        pending: &PendingUrl,
        hashes: &[u32],
        links: &[Link],
    ) {
        let is_page = !pending.attributes.flags.is_requisite_or_sitemap();
        let url = CanonicalUrl::parse(&pending.url, &self.context.parameters).ok();
        let Some(url) = url.filter(|_| is_page) else { return };
        let of = (pending.hash, url.path_and_query());
        self.state_of(crawl.number, host_hash, |state| {
            state.note_page(of, hashes, links, &crawl.rules())
        });
    }

    pub(super) fn left_as_trap(
        &self,
        host_hash: u64,
        crawl: &Crawl,
        pending: &PendingUrl,
    ) -> Option<(FinalState, &'static str)> {
        let state = self.known_in(crawl.number, host_hash)?;
        if !state.has_trap(&crawl.rules()) {
            return None;
        }
        let url = CanonicalUrl::parse(&pending.url, &self.context.parameters).ok()?;
        let is_of_trap = state.is_of_trap(&url, pending.attributes.flags, &crawl.rules());
        is_of_trap.then_some((FinalState::Left, TRAP_SHAPE))
    }

    pub(super) fn finish_in_state(
        &mut self,
        crawl: i32,
        host_hash: u64,
        url: UrlHash,
        (final_state, outcome): (FinalState, &str),
    ) -> Option<FinishEffect> {
        if outcome != TRAP_SHAPE {
            return self.state_of(crawl, host_hash, |state| state.finish(url, final_state));
        }
        let site_hash = self.state.hosts.get(&host_hash)?.site_hash;
        let site = self.state.sites.get_mut(&SiteKey { crawl, site_hash })?;
        let state = site.hosts.get_mut(&host_hash)?;
        Some(state.leave_trap(url, &mut site.usage))
    }
}
