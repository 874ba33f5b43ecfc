//! Adds page content to a host's state, and decides which URLs belong to a trap.

use super::{
    host_state::HostState,
    pending::{FinalState, FinishEffect},
};
use crate::{
    budget::SiteUsage,
    canonical::{CanonicalUrl, UrlHash},
    link::{Link, LinkFlags},
    rules::Rules,
    shape::Shapes,
    shape_counts::LastPage,
    shape_debts::PageSays,
};

/// Minimum known pages on a host for remembering content, because smaller hosts do not have traps.
const MIN_PAGES: u64 = 16;

/// Maximum unknown links that decide whether a page leads to new content. Each takes the scheduler
/// 2 µs.
const MAX_LINKS_JUDGED: usize = 64;

impl HostState {
    /// Adds a fetched page's lines, and its links on its host, before the links are merged. `None`
    /// if the host has few pages, if the URL is not pending, or if this page was added before.
    pub fn note_page(
        &mut self,
        (url, path_and_query): (UrlHash, &str),
        lines: &[u32],
        links: &[Link],
        rules: &Rules,
    ) -> Option<PageSays> {
        let is_noted = self.novelty.is_noted(url);
        if self.pages < MIN_PAGES || is_noted || !self.pending.contains_key(&url) {
            return None;
        }
        let shapes = Shapes::of(path_and_query);
        let says = match self.novelty.note(url, lines) {
            Some(gain) => PageSays::New(gain),
            None => self.leads_to(shapes, links),
        };
        let owed = self.shapes.note_page(shapes, says, rules);
        self.novelty.note_owed(url, owed);
        Some(says)
    }

    /// Classifies a repetitive page by the majority of its links to unknown pages.
    fn leads_to(&self, from: Shapes, links: &[Link]) -> PageSays {
        let (mut all, mut new, mut unread) = (0, 0, 0);
        let unknown = links.iter().filter(|link| {
            !link.attributes.flags.is_requisite_or_sitemap() && !self.knows(link.url.hash())
        });
        for link in unknown.take(MAX_LINKS_JUDGED) {
            all += 1;
            let to = Shapes::of(link.url.path_and_query());
            let slot = to.iter().find_map(|(hash, _)| self.shapes.slot(hash));
            let of_others = slot.filter(|slot| from.iter().all(|(hash, _)| hash != slot.hash));
            match of_others.map(|slot| slot.last) {
                Some(LastPage::New) => new += 1,
                Some(LastPage::Unread) if !to.has_path_of(from) => unread += 1,
                _ => {}
            }
        }
        match all {
            _ if 2 * new > all => PageSays::Leads,
            _ if 2 * (new + unread) > all => PageSays::Lists,
            _ => PageSays::Nothing,
        }
    }

    /// Returns false if no shape is closed, so that [`Self::is_of_trap`] is false for all URLs.
    #[must_use]
    pub fn has_trap(&self, rules: &Rules) -> bool {
        self.shapes.has_closed(rules)
    }

    /// Returns true if a pending page has a closed shape and was neither submitted nor read.
    #[must_use]
    pub fn is_of_trap(&self, url: &CanonicalUrl, flags: LinkFlags, rules: &Rules) -> bool {
        !flags.contains(LinkFlags::SEED)
            && !flags.is_requisite_or_sitemap()
            && !self.novelty.is_noted(url.hash())
            && self.shapes.are_closed(Shapes::of(url.path_and_query()), rules)
    }

    /// Marks a trap's pending page as left. This page no longer counts towards the site's budget.
    pub fn leave_trap(&mut self, url: UrlHash, site: &mut SiteUsage) -> FinishEffect {
        let finished = self.finish(url, FinalState::Left);
        if finished == FinishEffect::Finished {
            self.pages = self.pages.saturating_sub(1);
            site.remove_page();
        }
        finished
    }
}

#[cfg(test)]
mod tests;
