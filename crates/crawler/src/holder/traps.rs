//! Records the content of pages for trap detection, and leaves URLs whose shapes no longer yield
//! new content.
//!
//! The crate `everytab-frontier` decides. Does not depend on how a page is parsed.

use everytab_frontier::{Answered, CanonicalUrl, Ending, Link, Turn, TurnedAway, UrlHash};

use crate::{crawl::Crawl, holder::state::Holder, known::SiteKey};

/// The reason to leave pending URLs whose shape yields no new content. Links to them are rejected
/// for the same reason.
pub(crate) const TRAP_SHAPE: &str = TurnedAway::TrapShape.as_str();

impl Holder {
    /// Records the content hashes of a page, before its links are merged.
    pub(super) fn note_page(
        &mut self,
        (host_hash, crawl): (u64, &Crawl),
        turn: &Turn,
        said: &[u32],
        links: &[Link],
    ) {
        let is_page = !turn.attributes.flags.is_no_page();
        let url = CanonicalUrl::parse(&turn.url, &self.context.parameters).ok();
        let Some(url) = url.filter(|_| is_page) else { return };
        let of = (turn.hash, url.path_and_query());
        self.state_of(crawl.number, host_hash, |state| {
            state.note_page(of, said, links, &crawl.rules())
        });
    }

    /// Returns the final state for a URL whose shape yields no new content. `None` if it may be
    /// requested.
    pub(super) fn left_as_trap(
        &self,
        host_hash: u64,
        crawl: &Crawl,
        turn: &Turn,
    ) -> Option<(Ending, &'static str)> {
        let state = self.known_in(crawl.number, host_hash)?;
        if !state.has_trap(&crawl.rules()) {
            return None;
        }
        let url = CanonicalUrl::parse(&turn.url, &self.context.parameters).ok()?;
        let is_of_trap = state.is_of_trap(&url, turn.attributes.flags, &crawl.rules());
        is_of_trap.then_some((Ending::Left, TRAP_SHAPE))
    }

    /// Marks a URL as finished in its host's state.
    pub(super) fn answer_in_state(
        &mut self,
        crawl: i32,
        host_hash: u64,
        url: UrlHash,
        (ending, outcome): (Ending, &str),
    ) -> Option<Answered> {
        if outcome != TRAP_SHAPE {
            return self.state_of(crawl, host_hash, |state| state.answer(url, ending));
        }
        let site_hash = self.state.hosts.get(&host_hash)?.site_hash;
        let site = self.state.sites.get_mut(&SiteKey { crawl, site_hash })?;
        let state = site.hosts.get_mut(&host_hash)?;
        Some(state.leave_trap(url, &mut site.site_use))
    }
}
