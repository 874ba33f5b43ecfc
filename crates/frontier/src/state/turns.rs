//! Turns of URLs: which is asked next, and how each ends.
//!
//! Must not know: when a host may be asked, and what an answer says.

use std::sync::Arc;

use super::host_state::{HostState, Pending};
use crate::{
    canonical::UrlHash,
    link::{Attributes, LinkFlags},
    origin::Origin,
};

/// Maximum number of times that a URL is retried after failures that may pass. Their pauses double,
/// so the tenth would come more than four hours after the first failure.
pub const MAX_RETRIES: u8 = 10;

/// A URL that is to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a URL that is taken and not answered stays asked until the state is unpacked anew"]
pub struct Turn {
    /// The URL that is fetched.
    pub url: String,
    /// The hash of its key, by which it is answered.
    pub hash: UrlHash,
    /// What is kept of it.
    pub attributes: Attributes,
    /// The URL whose link or redirect led to it.
    pub via: Option<Arc<str>>,
    /// Number of attempts that failed in passing.
    pub retries: u8,
}

/// Returns 0, the second until which an origin is paused that is not, for [`HostState::next`].
#[must_use]
pub fn never_paused(_: Origin) -> u64 {
    0
}

/// How a URL ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Fetched and kept.
    Captured,
    /// Asked without success.
    Failed,
    /// Refused by a rule: robots.txt, a filter, its type.
    Refused,
    /// Not asked when the crawl ended, or when the host was given up.
    Left,
}

/// What an answer did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// The URL was pending and is answered now.
    Recorded,
    /// The URL was answered before; nothing changed, and nothing may be recorded.
    Before,
    /// The URL is not known; nothing changed.
    Unknown,
}

impl Pending {
    /// Returns the URL as it is to be fetched.
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
    /// Returns the URL to fetch at a time in seconds since 1970, `None` if none is due. `free_s`
    /// returns the second until which an origin is paused. The URL is not returned again until
    /// [`Self::put_back`] or [`Self::retry`], and stays pending until [`Self::answer`].
    pub fn next(&mut self, now_s: u64, free_s: impl Fn(Origin) -> u64) -> Option<Turn> {
        let pending = &self.pending;
        let place_of = |hash| Some(pending.get(&hash)?.place(hash));
        let hash = self.queues.pop(now_s, |origin| free_s(origin) <= now_s, place_of)?;
        self.ask(hash)
    }

    /// Returns this URL to ask, as [`Self::next`] does: `None` if it is not pending, asked, or not
    /// due.
    pub fn take(&mut self, hash: UrlHash) -> Option<Turn> {
        let pending = self.pending.get(&hash)?;
        let is_due = self.queues.remove_ready(pending.origin(), pending.place(hash));
        is_due.then_some(())?;
        self.ask(hash)
    }

    /// Returns the origin of a pending URL. `None` if the URL is not pending, or its text is not a
    /// URL for this program.
    #[must_use]
    pub fn origin_of(&self, hash: UrlHash) -> Option<Origin> {
        self.pending.get(&hash)?.origin()
    }

    /// Returns true if [`Self::take`] returns this URL now.
    #[must_use]
    pub fn is_ready(&self, hash: UrlHash) -> bool {
        let pending = self.pending.get(&hash);
        pending.is_some_and(|one| self.queues.is_ready(one.origin(), one.place(hash)))
    }

    /// Returns the hashes of the pending URLs that are not being fetched, due or not.
    #[must_use]
    pub fn waiting_hashes(&self) -> Vec<UrlHash> {
        self.pending.keys().filter(|hash| !self.asked.contains(hash)).copied().collect()
    }

    /// Returns a pending URL that is not being fetched, due or not, and leaves it where it is.
    #[must_use]
    pub fn waiting(&self, hash: UrlHash) -> Option<Turn> {
        if self.asked.contains(&hash) { None } else { self.turn(hash) }
    }

    /// As [`Self::take`], also if the URL is not due.
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

    /// Puts an asked URL back and notes, in the next pack, that it is asked next: whoever unpacks
    /// that finds [`LinkFlags::WRITTEN_DOWN`] with the URL, whose holder died of it perhaps.
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

    /// Notes in the next pack that one more holder died while a URL was written down.
    pub fn note_death(&mut self, hash: UrlHash) {
        if let Some(pending) = self.pending.get_mut(&hash) {
            let flags = pending.attributes.flags;
            pending.attributes.flags = flags.with_deaths(flags.deaths() + 1);
            self.changed.insert(hash);
        }
    }

    /// Notes in the next pack that a URL is not asked any more that was written down.
    pub fn cross_out(&mut self, hash: UrlHash) {
        if let Some(pending) = self.pending.get_mut(&hash) {
            let before = pending.attributes;
            pending.attributes.flags = before.flags.without(LinkFlags::WRITTEN_DOWN);
            if pending.attributes != before {
                self.changed.insert(hash);
            }
        }
    }

    /// Returns true if the next URL of an origin is one for which a client waits, and `free_s`,
    /// as in [`Self::next`], is at most `now_s` for that origin.
    #[must_use]
    pub fn is_urgent(&self, now_s: u64, free_s: impl Fn(Origin) -> u64) -> bool {
        let mut first = self.queues.first_ready();
        first.any(|(origin, place)| {
            place.is_urgent() && origin.is_none_or(|origin| free_s(origin) <= now_s)
        })
    }

    /// Returns the origins that have pending URLs which are not being fetched.
    pub fn queued_origins(&self) -> impl Iterator<Item = Origin> {
        self.queues.origins()
    }

    /// Has the next pack say anew from when on a URL is due: an origin was paused, or is not any
    /// longer.
    pub fn pause_changed(&mut self) {
        self.has_unmerged = true;
    }

    /// Returns true if a URL is asked and not answered: what is recorded has it as pending.
    #[must_use]
    pub fn has_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Returns the second since 1970 from which [`Self::next`] returns a URL, 0 if it does now,
    /// `None` if all that is pending is asked. `free_s` is as in [`Self::next`].
    #[must_use]
    pub fn next_turn_s(&self, free_s: impl Fn(Origin) -> u64) -> Option<u64> {
        self.queues.next_at_s(free_s)
    }

    /// Returns the second since 1970 from which a URL is due, 0 if one is due or asked now, `None`
    /// if nothing is pending. `free_s` is as in [`Self::next`].
    #[must_use]
    pub fn next_due_s(&self, free_s: impl Fn(Origin) -> u64) -> Option<u64> {
        if self.asked.is_empty() { self.next_turn_s(free_s) } else { Some(0) }
    }

    /// Answers a pending URL, asked or not. The caller does so when the record of the answer is
    /// where it stays; until then a pack has the URL as pending.
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

    /// Puts an asked URL back after a failure that may pass, to be fetched again from a time in
    /// seconds since 1970. Returns false if it was retried `max_retries` times, or is not asked;
    /// then nothing changed, and the caller answers it.
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

    /// Puts an asked URL back after a failure that is not its own, to be fetched again from a time
    /// in seconds since 1970, with as many retries left. Returns false if it is not asked.
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

    /// Puts an asked URL back as if it had not been asked, because of trouble of our own. Returns
    /// false if it was not asked.
    pub fn put_back(&mut self, hash: UrlHash) -> bool {
        self.cross_out(hash);
        let was_asked = self.asked.remove(&hash);
        if was_asked {
            // Its time, if it had one, has come.
            self.queue(hash, 0);
        }
        was_asked
    }

    /// Answers all pending URLs as left, and returns their hashes, ascending.
    pub fn leave_pending(&mut self) -> Vec<UrlHash> {
        let mut hashes: Vec<UrlHash> = self.pending.keys().copied().collect();
        hashes.sort_unstable();
        for hash in &hashes {
            self.answer(*hash, Ending::Left);
        }
        hashes
    }
}
