//! Takes pending URLs for fetching, and records their results.
//!
//! Does not depend on when a host may get a request, or on a response's content.

use std::sync::Arc;

use super::host_state::{HostState, Pending};
use crate::{
    canonical::UrlHash,
    link::{Attributes, LinkFlags},
    origin::Origin,
};

/// Maximum retries of a URL after transient failures. Their pauses double, so that the tenth
/// follows more than four hours after the first failure.
pub const MAX_RETRIES: u8 = 10;

/// A pending URL that was taken for fetching.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a URL that is taken and not answered stays asked until the state is unpacked anew"]
pub struct Turn {
    /// The URL to request.
    pub url: String,
    /// Its key's hash, by which its result is recorded.
    pub hash: UrlHash,
    /// The attributes.
    pub attributes: Attributes,
    /// The URL whose link or redirect led to it.
    pub via: Option<Arc<str>>,
    /// Attempts with a transient failure.
    pub retries: u8,
}

/// Returns 0: when the pause ends for an origin that is not paused, for [`HostState::next`].
#[must_use]
pub fn never_paused(_: Origin) -> u64 {
    0
}

/// A URL's final state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Fetched and stored.
    Captured,
    /// Fetched without success.
    Failed,
    /// Refused by a rule: robots.txt, a filter, or the content type.
    Refused,
    /// Not fetched before the crawl ended or the host was given up.
    Left,
}

/// What recording a result did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// The URL was pending and is finished now.
    Recorded,
    /// The URL was already finished. Nothing changed, and nothing may be recorded.
    Before,
    /// The URL is unknown. Nothing changed.
    Unknown,
}

impl Pending {
    /// Returns the URL in the form in which it is fetched.
    pub(super) fn turn(&self, hash: UrlHash) -> Turn {
        Turn {
            url: self.url.clone().into_string(),
            hash,
            attributes: self.attributes,
            via: self.via.clone(),
            retries: self.retries,
        }
    }
}

impl HostState {
    /// Takes the next URL that is due at a time in seconds since 1970. `None` if no URL is due.
    /// `free_s` returns the second until which an origin is paused. The URL is not returned again
    /// until [`Self::put_back`] or [`Self::retry`], and stays pending until [`Self::answer`].
    pub fn next(&mut self, now_s: u64, free_s: impl Fn(Origin) -> u64) -> Option<Turn> {
        let pending = &self.pending;
        let place_of = |hash| Some(pending.get(&hash)?.place(hash));
        let hash = self.queues.pop(now_s, |origin| free_s(origin) <= now_s, place_of)?;
        self.ask(hash)
    }

    /// Takes this URL as [`Self::next`] does. `None` if it is not pending, in flight, or not due at
    /// a time in seconds since 1970.
    pub fn take(&mut self, hash: UrlHash, now_s: u64) -> Option<Turn> {
        if self.is_due(hash, now_s) { self.take_waiting(hash) } else { None }
    }

    /// Returns a pending URL's origin. `None` if the URL is not pending, or this program cannot
    /// parse it.
    #[must_use]
    pub fn origin_of(&self, hash: UrlHash) -> Option<Origin> {
        self.pending.get(&hash)?.origin()
    }

    /// Returns the number of pending URLs with the same origin as a pending URL, itself included.
    #[must_use]
    pub fn pending_with_origin_of(&self, hash: UrlHash) -> usize {
        let origin = self.origin_of(hash);
        let asked = self.asked.iter().filter(|hash| self.origin_of(**hash) == origin).count();
        self.queues.len_of(origin) + asked
    }

    /// Returns true if a URL is pending and not in flight, due or not.
    #[must_use]
    pub fn is_waiting(&self, hash: UrlHash) -> bool {
        self.pending.contains_key(&hash) && !self.is_asked(hash)
    }

    /// Returns true if a URL is in flight.
    #[must_use]
    pub fn is_asked(&self, hash: UrlHash) -> bool {
        self.asked.contains(&hash)
    }

    /// Returns true if a URL is pending, not in flight, and due at a time in seconds since 1970,
    /// unless its origin is paused.
    #[must_use]
    pub fn is_due(&self, hash: UrlHash, now_s: u64) -> bool {
        let pending = self.pending.get(&hash).filter(|_| self.is_waiting(hash));
        pending.is_some_and(|pending| pending.not_before_s <= now_s)
    }

    /// Returns the hashes of the pending URLs that are not being fetched, due or not.
    #[must_use]
    pub fn waiting_hashes(&self) -> Vec<UrlHash> {
        self.pending.keys().filter(|hash| !self.asked.contains(hash)).copied().collect()
    }

    /// Returns a pending URL that is not in flight, due or not, without taking it.
    #[must_use]
    pub fn waiting(&self, hash: UrlHash) -> Option<Turn> {
        if self.is_waiting(hash) { self.turn(hash) } else { None }
    }

    /// Takes a URL like [`Self::take`], even if it is not due.
    pub fn take_waiting(&mut self, hash: UrlHash) -> Option<Turn> {
        self.unqueue(hash).then_some(())?;
        self.ask(hash)
    }

    fn ask(&mut self, hash: UrlHash) -> Option<Turn> {
        let turn = self.turn(hash)?;
        self.asked.insert(hash);
        Some(turn)
    }

    fn turn(&self, hash: UrlHash) -> Option<Turn> {
        Some(self.pending.get(&hash)?.turn(hash))
    }

    /// Puts a URL back that was taken, and marks it in the next pack as about to be fetched. The
    /// next holder finds [`LinkFlags::WRITTEN_DOWN`] with the URL if this holder dies, perhaps
    /// because of it.
    pub fn write_down(&mut self, hash: UrlHash) {
        if let Some(pending) = self.pending.get_mut(&hash)
            && self.asked.remove(&hash)
        {
            let flags = pending.attributes.flags.with(LinkFlags::WRITTEN_DOWN);
            pending.attributes.flags = flags;
            self.queue(hash, 0);
            self.changed.insert(hash);
        }
    }

    /// Counts, in the next pack, one more holder that died while a URL was marked as in progress.
    pub fn note_death(&mut self, hash: UrlHash) {
        if let Some(pending) = self.pending.get_mut(&hash) {
            let flags = pending.attributes.flags;
            pending.attributes.flags = flags.with_deaths(flags.deaths() + 1);
            self.changed.insert(hash);
        }
    }

    /// Clears, in the next pack, the mark that a URL is in progress.
    pub fn cross_out(&mut self, hash: UrlHash) {
        if let Some(pending) = self.pending.get_mut(&hash) {
            let before = pending.attributes;
            pending.attributes.flags = before.flags.without(LinkFlags::WRITTEN_DOWN);
            if pending.attributes != before {
                self.changed.insert(hash);
            }
        }
    }

    /// Returns true if the next URL of an origin is one for which a client is waiting, and the
    /// origin's `free_s`, as in [`Self::next`], is at most `now_s`.
    #[must_use]
    pub fn is_urgent(&self, now_s: u64, free_s: impl Fn(Origin) -> u64) -> bool {
        let mut first = self.queues.first_ready();
        first.any(|(origin, place)| {
            place.is_urgent() && origin.is_none_or(|origin| free_s(origin) <= now_s)
        })
    }

    /// Returns the origins of the pending URLs that are not in flight.
    pub fn queued_origins(&self) -> impl Iterator<Item = Origin> {
        self.queues.origins()
    }

    /// Has the next pack record the due time again, because an origin's pause has started or ended.
    pub fn pause_changed(&mut self) {
        self.has_unmerged = true;
    }

    /// Returns true if a URL is in flight. Chunks store it as pending.
    #[must_use]
    pub fn has_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Returns the second since 1970 from which [`Self::next`] returns a URL. 0 if it does now,
    /// `None` if all pending URLs are in flight. `free_s` is as in [`Self::next`].
    #[must_use]
    pub fn next_turn_s(&self, free_s: impl Fn(Origin) -> u64) -> Option<u64> {
        self.queues.next_at_s(free_s)
    }

    /// Returns the second since 1970 from which a URL is due. 0 if a URL is due now or in flight,
    /// `None` if nothing is pending. `free_s` is as in [`Self::next`].
    #[must_use]
    pub fn next_due_s(&self, free_s: impl Fn(Origin) -> u64) -> Option<u64> {
        if self.asked.is_empty() { self.next_turn_s(free_s) } else { Some(0) }
    }

    /// Marks a pending URL as finished, in flight or not. Call this once its record is uploaded;
    /// until then packs contain the URL as pending.
    pub fn answer(&mut self, hash: UrlHash, ending: Ending) -> Answered {
        if self.answered.contains(&hash) {
            return Answered::Before;
        }
        if self.remove_pending(hash).is_none() {
            return Answered::Unknown;
        }
        self.changed.remove(&hash);
        let owed = self.novelty.answered(hash);
        self.shapes.page_answered(&owed);
        self.answered.insert(hash);
        self.newly_answered.push(hash);
        let sum = match ending {
            Ending::Captured => &mut self.ended.captured,
            Ending::Failed => &mut self.ended.failed,
            Ending::Refused => &mut self.ended.refused,
            Ending::Left => &mut self.ended.left,
        };
        *sum += 1;
        Answered::Recorded
    }

    /// Puts a URL back that is in flight and had a transient failure, to be fetched again from a
    /// time in seconds since 1970. Returns false if it was retried `max_retries` times or is not in
    /// flight. Then nothing has changed, and the caller must record its result.
    #[must_use]
    pub fn retry(&mut self, hash: UrlHash, not_before_s: u64, max_retries: u8) -> bool {
        let Some(pending) = self.pending.get_mut(&hash) else { return false };
        if pending.retries >= max_retries || !self.asked.remove(&hash) {
            return false;
        }
        pending.retries += 1;
        pending.not_before_s = not_before_s;
        let flags = pending.attributes.flags.without(LinkFlags::WRITTEN_DOWN);
        pending.attributes.flags = flags.with_deaths(0);
        self.queue(hash, not_before_s);
        self.changed.insert(hash);
        true
    }

    /// Puts a URL back that is in flight and failed for another reason than its own, to be fetched
    /// again from a time in seconds since 1970, with as many retries left. Returns false if it is
    /// not in flight.
    pub fn put_off(&mut self, hash: UrlHash, not_before_s: u64) -> bool {
        self.cross_out(hash);
        let is_asked = self.asked.remove(&hash);
        if is_asked && let Some(pending) = self.pending.get_mut(&hash) {
            pending.not_before_s = not_before_s;
            self.queue(hash, not_before_s);
            self.changed.insert(hash);
        }
        is_asked
    }

    /// Puts a URL back as if it had not been taken, because of a local failure. Returns false if it
    /// was not in flight.
    pub fn put_back(&mut self, hash: UrlHash) -> bool {
        self.cross_out(hash);
        let was_asked = self.asked.remove(&hash);
        if was_asked {
            // If it had a due time, that is over.
            self.queue(hash, 0);
        }
        was_asked
    }

    /// Marks all pending URLs as left, and returns their hashes in ascending order.
    pub fn leave_pending(&mut self) -> Vec<UrlHash> {
        let mut hashes: Vec<UrlHash> = self.pending.keys().copied().collect();
        hashes.sort_unstable();
        for hash in &hashes {
            self.answer(*hash, Ending::Left);
        }
        hashes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        budget::{SiteBudget, SiteUse},
        canonical::CanonicalUrl,
        link::Link,
        parameters::ParameterList,
        rules::Rules,
        state::merge::LinkVerdict,
        turned_away::TurnedAway,
    };

    fn link(url: &str) -> Link {
        let url = CanonicalUrl::parse(url, &ParameterList::default()).unwrap();
        Link { url, attributes: Attributes::default(), via: None }
    }

    fn redirect(from: &str, to: &str) -> Link {
        let attributes = Attributes { hops: 1, ..Attributes::default() };
        Link { attributes, via: Some(from.into()), ..link(to) }
    }

    #[test]
    fn a_retried_url_is_taken_from_its_time_on() {
        let mut state = HostState::new("a.example");
        let hash = link("http://a.example/check").url.hash();
        let links = [link("http://a.example/check"), link("http://a.example/other")];
        state.merge(links, &Rules::default(), &mut SiteUse::default());
        assert_eq!(state.take(hash, 5).unwrap().hash, hash);
        assert_eq!(state.take(hash, 5), None, "it is in flight");
        assert!(state.retry(hash, 10, 2));
        assert_eq!(state.take(hash, 9), None);
        assert!(state.is_due(hash, 10));
        assert_eq!(state.take(hash, 10).unwrap().hash, hash);
        state.check();
    }

    #[test]
    fn pending_urls_are_counted_by_origin() {
        let mut state = HostState::new("a.example");
        let links = ["http://a.example/1", "http://a.example/2", "https://a.example/3"];
        state.merge(links.map(link), &Rules::default(), &mut SiteUse::default());
        let [first, second, third] = links.map(|url| link(url).url.hash());
        let _turn = state.take(first, 0);
        let pending = [first, second, third].map(|hash| state.pending_with_origin_of(hash));
        assert_eq!(pending, [2, 2, 1]);
    }

    #[test]
    fn only_a_redirect_of_the_host_itself_passes_a_spent_budget() {
        let rules = Rules { site_budget: SiteBudget(1), ..Rules::default() };
        let (mut state, mut site) = (HostState::new("a.example"), SiteUse::default());
        let wall = "http://a.example/wall";
        assert_eq!(state.merge_link(link(wall), &rules, &mut site), LinkVerdict::New);
        for from in ["http://short.example/1", "http://a.example.net/", "http://www.a.example/"] {
            let verdict = state.merge_link(redirect(from, "http://a.example/x"), &rules, &mut site);
            assert_eq!(verdict, LinkVerdict::TurnedAway(TurnedAway::TrapSitePages), "{from}");
        }
        let page = redirect(wall, "http://a.example/page");
        assert_eq!(state.merge_link(page, &rules, &mut site), LinkVerdict::New);
    }
}
