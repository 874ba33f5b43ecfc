//! Sitemaps become known when a page of their origin has its turn, and what a large one lists is
//! merged in parts, so that the holder's other hosts do not wait.
//!
//! Until the last part is merged the sitemap is pending: whoever holds the slot after a death asks
//! for it again. Must not know: how a sitemap is read.

use std::sync::Arc;

use everytab_coordinator::SlotFence;
use everytab_frontier::{SentLinks, Turn, site_hash};
use everytab_webpage::RobotsTxt;

use crate::{
    crawl::Crawl,
    holder::state::{Holder, Unmerged},
    known::SiteKey,
    sitemaps,
    visit::Answer,
};

/// Links of a sitemap that are merged at a time, by the task that has the state of all hosts: 16 to
/// 30 ms on a busy machine, where each takes 8 to 15 µs.
const MAX_MERGED_AT_ONCE: usize = 2_000;

impl Holder {
    /// A URL of an origin whose robots.txt is known has its turn: its sitemaps become known, once
    /// for as long as the site is in memory. What is known already changes nothing.
    ///
    /// The URL is pending meanwhile, and all this is recorded by one checkpoint: the crawl does not
    /// end in between.
    pub(super) fn tell_sitemaps(
        &mut self,
        host_hash: u64,
        crawl: &Arc<Crawl>,
        turn: &Turn,
        (origin, rules): (&str, &RobotsTxt),
    ) {
        if !sitemaps::are_told(crawl, turn) {
            return;
        }
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        let (name, slot) = (Arc::clone(&host.name), host.slot);
        let key = SiteKey { crawl: crawl.number, site_hash: host.site_hash };
        let Some(site) = self.state.sites.get_mut(&key) else { return };
        if !site.told_origins.insert(site_hash(origin)) {
            return;
        }
        let found = sitemaps::of_origin(&self.context, crawl, (&name, turn), (origin, rules));
        if !found.own_host.is_empty() {
            self.merge_links(crawl.number, found.own_host);
        }
        let (links, held_slots): (SentLinks, _) =
            (found.elsewhere.iter().collect(), self.state.slots.len());
        if (!links.is_empty() || found.turned_away.total() > 0)
            && let Some(slot) = self.state.slots.get_mut(&slot)
        {
            slot.found(crawl.number, &links, &found.turned_away, held_slots);
        }
    }

    /// Whether an answer is that of a sitemap with so many links that they are merged in parts.
    pub(super) fn is_merged_in_parts(answer: &Answer) -> bool {
        answer.facts.reading.is_some() && answer.facts.found.own_host.len() > MAX_MERGED_AT_ONCE
    }

    /// Has the links of an answer merged in parts.
    pub(super) fn merge_later(
        &mut self,
        (fence, host_hash): (SlotFence, u64),
        crawl: &Arc<Crawl>,
        turn: &Turn,
        answer: Answer,
    ) {
        let (crawl, turn) = (Arc::clone(crawl), turn.clone());
        self.state.unmerged.push_back(Unmerged { fence, host_hash, crawl, turn, answer });
    }

    /// Merges a part of what waits for that. After the last one the answer is as any other.
    pub(super) fn merge_more(&mut self) {
        let Some(mut unmerged) = self.state.unmerged.pop_front() else { return };
        let crawl = unmerged.crawl.number;
        // Otherwise the next holder asks for it again, or nobody does.
        if !self.holds(unmerged.fence) || !self.state.crawls.contains_key(&crawl) {
            return;
        }
        if Self::is_merged_in_parts(&unmerged.answer) {
            let links = &mut unmerged.answer.facts.found.own_host;
            let rest = links.split_off(MAX_MERGED_AT_ONCE);
            let part = std::mem::replace(links, rest);
            self.merge_links(crawl, part);
            self.state.unmerged.push_front(unmerged);
        } else {
            let Unmerged { fence, host_hash, crawl, turn, answer } = unmerged;
            self.page_answered(fence, host_hash, &crawl, &turn, answer);
        }
    }
}
