//! Takes pending URLs for fetching, and records their results.

use std::sync::Arc;

use super::host_state::{HostState, Pending};
use crate::{
    canonical::UrlHash,
    link::{Attributes, LinkFlags},
    origin::Origin,
};

/// Maximum retries per URL after transient failures.
pub const MAX_RETRIES: u8 = 10;

/// A pending URL that was taken for fetching.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a URL that is taken stays in flight until it is finished or put back"]
pub struct PendingUrl {
    /// URL to request.
    pub url: String,
    /// The key's hash, which identifies this URL.
    pub hash: UrlHash,
    /// The attributes.
    pub attributes: Attributes,
    /// URL that links or redirects to this one.
    pub via: Option<Arc<str>>,
    /// How many attempts had a transient failure.
    pub retries: u8,
}

/// A `free_s` for [`HostState::next`] without paused origins.
#[must_use]
pub fn never_paused(_: Origin) -> u64 {
    0
}

/// A URL's final state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FinalState {
    /// Fetched and stored.
    Captured,
    /// Fetched without success.
    Failed,
    /// Refused by a rule, for example by robots.txt, a filter or the content type.
    Refused,
    /// Given up without a result, because the crawl ended, or its host or shape was given up.
    Left,
}

/// Effect of [`HostState::finish`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishEffect {
    /// The URL was pending and is now finished.
    Finished,
    /// The URL was already finished. The caller must not record this result again.
    AlreadyFinished,
    /// The URL is unknown.
    Unknown,
}

impl Pending {
    pub(super) fn pending_url(&self, hash: UrlHash) -> PendingUrl {
        PendingUrl {
            url: self.url.clone().into_string(),
            hash,
            attributes: self.attributes,
            via: self.via.clone(),
            retries: self.retries,
        }
    }
}

impl HostState {
    /// Takes the next URL that is due at `now_s`, in seconds since 1970, as in flight. `free_s`
    /// returns the time until which an origin is paused.
    pub fn next(&mut self, now_s: u64, free_s: impl Fn(Origin) -> u64) -> Option<PendingUrl> {
        let pending = &self.pending;
        let place_of = |hash| Some(pending.get(&hash)?.place(hash));
        let hash = self.queues.pop(now_s, |origin| free_s(origin) <= now_s, place_of)?;
        self.mark_in_flight(hash)
    }

    /// Takes this URL as [`Self::next`] does. `None` if it is not pending, in flight, or not due at
    /// `now_s`.
    pub fn take(&mut self, hash: UrlHash, now_s: u64) -> Option<PendingUrl> {
        if self.is_due(hash, now_s) { self.take_waiting(hash) } else { None }
    }

    /// Returns a pending URL's origin. `None` if this program cannot parse the URL.
    #[must_use]
    pub fn origin_of(&self, hash: UrlHash) -> Option<Origin> {
        self.pending.get(&hash)?.origin()
    }

    /// Returns how many pending URLs have this pending URL's origin, including itself.
    #[must_use]
    pub fn pending_with_origin_of(&self, hash: UrlHash) -> usize {
        let origin = self.origin_of(hash);
        let in_flight =
            self.in_flight.iter().filter(|hash| self.origin_of(**hash) == origin).count();
        self.queues.len_of(origin) + in_flight
    }

    /// Returns true if a URL is pending and not in flight, due or not.
    #[must_use]
    pub fn is_waiting(&self, hash: UrlHash) -> bool {
        self.pending.contains_key(&hash) && !self.is_in_flight(hash)
    }

    /// Returns true if a URL is in flight.
    #[must_use]
    pub fn is_in_flight(&self, hash: UrlHash) -> bool {
        self.in_flight.contains(&hash)
    }

    /// Returns true if a URL is pending, not in flight, and due at `now_s`, even if its origin is
    /// paused.
    #[must_use]
    pub fn is_due(&self, hash: UrlHash, now_s: u64) -> bool {
        let pending = self.pending.get(&hash).filter(|_| self.is_waiting(hash));
        pending.is_some_and(|pending| pending.not_before_s <= now_s)
    }

    /// Returns the hashes of pending URLs that are not in flight, due or not.
    #[must_use]
    pub fn waiting_hashes(&self) -> Vec<UrlHash> {
        self.pending.keys().filter(|hash| !self.in_flight.contains(hash)).copied().collect()
    }

    /// Returns a pending URL that is not in flight, due or not, without taking it.
    #[must_use]
    pub fn waiting(&self, hash: UrlHash) -> Option<PendingUrl> {
        if self.is_waiting(hash) { self.pending_url(hash) } else { None }
    }

    /// Takes a pending URL that is not in flight, due or not.
    pub fn take_waiting(&mut self, hash: UrlHash) -> Option<PendingUrl> {
        self.unqueue(hash).then_some(())?;
        self.mark_in_flight(hash)
    }

    fn mark_in_flight(&mut self, hash: UrlHash) -> Option<PendingUrl> {
        let taken = self.pending_url(hash)?;
        self.in_flight.insert(hash);
        Some(taken)
    }

    fn pending_url(&self, hash: UrlHash) -> Option<PendingUrl> {
        Some(self.pending.get(&hash)?.pending_url(hash))
    }

    /// Puts a taken URL back, marked as [`LinkFlags::IN_PROGRESS`], because it may kill this
    /// holder.
    pub fn mark_in_progress(&mut self, hash: UrlHash) {
        if let Some(pending) = self.pending.get_mut(&hash)
            && self.in_flight.remove(&hash)
        {
            let flags = pending.attributes.flags.with(LinkFlags::IN_PROGRESS);
            pending.attributes.flags = flags;
            self.queue(hash, 0);
            self.changed.insert(hash);
        }
    }

    /// Counts one more holder that died while a URL was marked as in progress.
    pub fn note_death(&mut self, hash: UrlHash) {
        if let Some(pending) = self.pending.get_mut(&hash) {
            let flags = pending.attributes.flags;
            pending.attributes.flags = flags.with_deaths(flags.deaths() + 1);
            self.changed.insert(hash);
        }
    }

    /// Clears the mark that this URL is in progress.
    pub fn clear_in_progress(&mut self, hash: UrlHash) {
        if let Some(pending) = self.pending.get_mut(&hash) {
            let before = pending.attributes;
            pending.attributes.flags = before.flags.without(LinkFlags::IN_PROGRESS);
            if pending.attributes != before {
                self.changed.insert(hash);
            }
        }
    }

    /// Returns true if a client is waiting for the next URL of an origin that is not paused at
    /// `now_s`.
    #[must_use]
    pub fn is_urgent(&self, now_s: u64, free_s: impl Fn(Origin) -> u64) -> bool {
        let mut first = self.queues.first_ready();
        first.any(|(origin, place)| {
            place.is_urgent() && origin.is_none_or(|origin| free_s(origin) <= now_s)
        })
    }

    /// Returns the pending URLs' origins, without URLs in flight.
    pub fn queued_origins(&self) -> impl Iterator<Item = Origin> {
        self.queues.origins()
    }

    /// Makes the next pack record the due time again, because an origin's pause changed.
    pub fn pause_changed(&mut self) {
        self.has_unmerged = true;
    }

    /// Returns true if a URL is in flight.
    #[must_use]
    pub fn has_in_flight(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// Returns the time from which [`Self::next`] returns a URL, in seconds since 1970 or 0. `None`
    /// if all pending URLs are in flight.
    #[must_use]
    pub fn next_ready_s(&self, free_s: impl Fn(Origin) -> u64) -> Option<u64> {
        self.queues.next_at_s(free_s)
    }

    /// Returns the time from which a URL is due, in seconds since 1970. 0 if a URL is in flight,
    /// and `None` if no URL is pending.
    #[must_use]
    pub fn next_due_s(&self, free_s: impl Fn(Origin) -> u64) -> Option<u64> {
        if self.in_flight.is_empty() { self.next_ready_s(free_s) } else { Some(0) }
    }

    /// Marks a pending URL as finished, whether it is in flight or not. The URL's record must be
    /// uploaded before.
    pub fn finish(&mut self, hash: UrlHash, final_state: FinalState) -> FinishEffect {
        if self.finished.contains(&hash) {
            return FinishEffect::AlreadyFinished;
        }
        if self.remove_pending(hash).is_none() {
            return FinishEffect::Unknown;
        }
        self.changed.remove(&hash);
        let owed = self.novelty.finished(hash);
        self.shapes.page_finished(&owed);
        self.finished.insert(hash);
        self.newly_finished.push(hash);
        let sum = match final_state {
            FinalState::Captured => &mut self.ended.captured,
            FinalState::Failed => &mut self.ended.failed,
            FinalState::Refused => &mut self.ended.refused,
            FinalState::Left => &mut self.ended.left,
        };
        *sum += 1;
        FinishEffect::Finished
    }

    /// Puts a URL in flight back after a transient failure, until `not_before_s`, a Unix time in
    /// seconds. Returns false without a change if it was retried `max_retries` times or is not in
    /// flight.
    #[must_use]
    pub fn retry(&mut self, hash: UrlHash, not_before_s: u64, max_retries: u8) -> bool {
        let Some(pending) = self.pending.get_mut(&hash) else { return false };
        if pending.retries >= max_retries || !self.in_flight.remove(&hash) {
            return false;
        }
        pending.retries += 1;
        pending.not_before_s = not_before_s;
        let flags = pending.attributes.flags.without(LinkFlags::IN_PROGRESS);
        pending.attributes.flags = flags.with_deaths(0);
        self.queue(hash, not_before_s);
        self.changed.insert(hash);
        true
    }

    /// Puts a URL in flight back until `not_before_s`, a Unix time in seconds, without counting a
    /// retry. Returns false if it is not in flight.
    pub fn put_off(&mut self, hash: UrlHash, not_before_s: u64) -> bool {
        self.clear_in_progress(hash);
        let is_in_flight = self.in_flight.remove(&hash);
        if is_in_flight && let Some(pending) = self.pending.get_mut(&hash) {
            pending.not_before_s = not_before_s;
            self.queue(hash, not_before_s);
            self.changed.insert(hash);
        }
        is_in_flight
    }

    /// Puts a URL in flight back so that it is due now. Returns false if it is not in flight.
    pub fn put_back(&mut self, hash: UrlHash) -> bool {
        self.clear_in_progress(hash);
        let was_in_flight = self.in_flight.remove(&hash);
        if was_in_flight {
            // The URL was due when it was taken, except by `take_waiting`.
            self.queue(hash, 0);
        }
        was_in_flight
    }

    /// Marks all pending URLs as left, and returns their hashes in ascending order.
    pub fn leave_pending(&mut self) -> Vec<UrlHash> {
        let mut hashes: Vec<UrlHash> = self.pending.keys().copied().collect();
        hashes.sort_unstable();
        for hash in &hashes {
            self.finish(*hash, FinalState::Left);
        }
        hashes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        budget::{SiteBudget, SiteUsage},
        canonical::CanonicalUrl,
        link::Link,
        parameters::ParameterList,
        reject_reason::RejectReason,
        rules::Rules,
        state::merge::MergeOutcome,
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
    fn a_retried_url_is_taken_once_it_is_due() {
        let mut state = HostState::new("a.example");
        let hash = link("http://a.example/check").url.hash();
        let links = [link("http://a.example/check"), link("http://a.example/other")];
        state.merge(links, &Rules::default(), &mut SiteUsage::default());
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
        state.merge(links.map(link), &Rules::default(), &mut SiteUsage::default());
        let [first, second, third] = links.map(|url| link(url).url.hash());
        let _turn = state.take(first, 0);
        let pending = [first, second, third].map(|hash| state.pending_with_origin_of(hash));
        assert_eq!(pending, [2, 2, 1]);
    }

    #[test]
    fn only_redirects_within_the_host_pass_a_used_up_budget() {
        let rules = Rules { site_budget: SiteBudget(1), ..Rules::default() };
        let mut state = HostState::new("a.example");
        let mut site = SiteUsage::default();
        let wall = "http://a.example/wall";
        assert_eq!(state.merge_link(link(wall), &rules, &mut site), MergeOutcome::New);
        for from in ["http://short.example/1", "http://a.example.net/", "http://www.a.example/"] {
            let outcome = state.merge_link(redirect(from, "http://a.example/x"), &rules, &mut site);
            assert_eq!(outcome, MergeOutcome::Rejected(RejectReason::TrapSitePages), "{from}");
        }
        let page = redirect(wall, "http://a.example/page");
        assert_eq!(state.merge_link(page, &rules, &mut site), MergeOutcome::New);
    }
}
