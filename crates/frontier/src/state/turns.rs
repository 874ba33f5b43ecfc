//! Turns of URLs: which is asked next, and how each ends.
//!
//! Must not know: when a host may be asked, and what an answer says.

use super::{host_state::HostState, order::Place};
use crate::{
    canonical::UrlHash,
    link::{Attributes, LinkFlags},
};

/// Number of times that a URL is tried again after a failure that may be passing. With one, 2 to 4
/// of 94,000 URLs failed for good in a crawl in which the network or its resolver was away for
/// seconds, 200 times.
pub const MAX_RETRIES: u8 = 2;

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
    /// Number of attempts that failed in passing.
    pub retries: u8,
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

impl HostState {
    /// Returns the URL to ask at a time in seconds since 1970, `None` if none is due. It is not
    /// returned again until [`Self::put_back`] or [`Self::retry`], and stays pending until
    /// [`Self::answer`].
    pub fn next(&mut self, now_s: u64) -> Option<Turn> {
        while let Some((due_s, hash)) = self.waiting.first().copied() {
            if due_s > now_s {
                break;
            }
            self.waiting.pop_first();
            if let Some(pending) = self.pending.get(&hash) {
                let attributes = pending.attributes;
                self.queue(hash, 0, &attributes);
            }
        }
        let hash = self.ready.pop_first()?.hash();
        self.ask(hash)
    }

    /// Returns this URL to ask, as [`Self::next`] does: `None` if it is not pending, asked, or not
    /// due.
    pub fn take(&mut self, hash: UrlHash) -> Option<Turn> {
        let attributes = self.pending.get(&hash)?.attributes;
        self.ready.remove(&Place::of(hash, &attributes)).then_some(())?;
        self.ask(hash)
    }

    fn ask(&mut self, hash: UrlHash) -> Option<Turn> {
        let pending = self.pending.get(&hash)?;
        self.asked.insert(hash);
        let url = pending.url.clone().into_string();
        Some(Turn { url, hash, attributes: pending.attributes, retries: pending.retries })
    }

    /// Puts an asked URL back and notes, in the next pack, that it is asked next: whoever unpacks
    /// that finds [`LinkFlags::WRITTEN_DOWN`] with the URL, whose holder died of it perhaps.
    pub fn write_down(&mut self, hash: UrlHash) {
        if let Some(pending) = self.pending.get_mut(&hash)
            && self.asked.remove(&hash)
        {
            let flags = pending.attributes.flags.with(LinkFlags::WRITTEN_DOWN);
            pending.attributes.flags = flags;
            let attributes = pending.attributes;
            self.queue(hash, 0, &attributes);
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

    /// Returns true if [`Self::next`] returns a URL for which a user waits, when one is due.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        self.ready.first().is_some_and(|place| place.is_urgent())
    }

    /// Returns true if a URL is asked and not answered: what is recorded has it as pending.
    #[must_use]
    pub fn has_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Returns the second since 1970 from which [`Self::next`] returns a URL, 0 if it does now,
    /// `None` if all that is pending is asked.
    #[must_use]
    pub fn next_turn_s(&self) -> Option<u64> {
        if !self.ready.is_empty() {
            return Some(0);
        }
        self.waiting.first().map(|(due_s, _)| *due_s)
    }

    /// Returns the second since 1970 from which a URL is due, 0 if one is due or asked now, `None`
    /// if nothing is pending.
    #[must_use]
    pub fn next_due_s(&self) -> Option<u64> {
        if self.asked.is_empty() { self.next_turn_s() } else { Some(0) }
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

    /// Puts an asked URL back after a failure that may be passing, to be asked again from a time in
    /// seconds since 1970. Returns false if it was tried again as often as it may be
    /// ([`MAX_RETRIES`]), or is not asked; then nothing changed, and the caller answers it.
    #[must_use]
    pub fn retry(&mut self, hash: UrlHash, not_before_s: u64) -> bool {
        let Some(pending) = self.pending.get_mut(&hash) else { return false };
        if pending.retries >= MAX_RETRIES || !self.asked.remove(&hash) {
            return false;
        }
        pending.retries += 1;
        pending.not_before_s = not_before_s;
        let flags = pending.attributes.flags.without(LinkFlags::WRITTEN_DOWN);
        pending.attributes.flags = flags.with_deaths(0);
        let attributes = pending.attributes;
        self.queue(hash, not_before_s, &attributes);
        self.changed.insert(hash);
        true
    }

    /// Puts an asked URL back as if it had not been asked, because of trouble of our own. Returns
    /// false if it was not asked.
    pub fn put_back(&mut self, hash: UrlHash) -> bool {
        self.cross_out(hash);
        let Some(pending) = self.pending.get(&hash) else { return false };
        let attributes = pending.attributes;
        let was_asked = self.asked.remove(&hash);
        if was_asked {
            // Its time, if it had one, has come.
            self.queue(hash, 0, &attributes);
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
