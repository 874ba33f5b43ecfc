//! What pages say is noted with the state of their host, and decides which of its URLs are of a
//! trap.
//!
//! Does not depend on how a page is read.

use super::{
    host_state::HostState,
    turns::{Answered, Ending},
};
use crate::{
    budget::SiteUse,
    canonical::{CanonicalUrl, UrlHash},
    link::{Link, LinkFlags},
    rules::Rules,
    shape::Shapes,
    shape_counts::LastPage,
    shape_debts::PageSays,
};

/// Number of known pages of a host from which on it is remembered what they say. Smaller hosts have
/// no trap, and cost no more than before.
const MIN_PAGES: u64 = 16;

/// Unknown links of a page that decide whether it leads to something new: their shapes are found by
/// the task that has the state of all hosts, in 2 µs each.
const MAX_LINKS_JUDGED: usize = 64;

impl HostState {
    /// Notes what a page says that was fetched and is not answered, before its links are merged:
    /// the hashes of its lines, and its links on its host. Bit 0 of a hash is set of a line that
    /// may differ by a number alone, bit 1 of a sentence. `None` if the host has few pages, or if
    /// this was noted before.
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

    /// Returns what a page says that repeats others, by most of the unknown pages to which it leads
    /// and of whose shapes something is known. One that has the path of the page itself, with
    /// another query, is no reason to go on before it was read.
    fn leads_to(&self, from: Shapes, links: &[Link]) -> PageSays {
        let (mut all, mut new, mut unread) = (0, 0, 0);
        let unknown = links
            .iter()
            .filter(|link| !link.attributes.flags.is_no_page() && !self.knows(link.url.hash()));
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

    /// Returns true if a shape of the host is closed, so that [`Self::is_of_trap`] may be true.
    #[must_use]
    pub fn has_trap(&self, rules: &Rules) -> bool {
        self.shapes.has_closed(rules)
    }

    /// Returns true if a pending URL is of a shape that is closed. What a user submitted never is,
    /// nor what was fetched and lost its record.
    #[must_use]
    pub fn is_of_trap(&self, url: &CanonicalUrl, flags: LinkFlags, rules: &Rules) -> bool {
        !flags.contains(LinkFlags::SEED)
            && !flags.is_no_page()
            && !self.novelty.is_noted(url.hash())
            && self.shapes.are_closed(Shapes::of(url.path_and_query()), rules)
    }

    /// Answers a pending page of a trap as left. Its site may have another page instead.
    pub fn leave_trap(&mut self, url: UrlHash, site: &mut SiteUse) -> Answered {
        let answered = self.answer(url, Ending::Left);
        if answered == Answered::Recorded {
            self.pages = self.pages.saturating_sub(1);
            site.pages = site.pages.saturating_sub(1);
        }
        answered
    }
}

#[cfg(test)]
mod tests;
