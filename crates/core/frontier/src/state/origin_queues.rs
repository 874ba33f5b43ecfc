//! A host's pending URLs that are not in flight, by origin, so that an origin's pause delays only
//! its own URLs.

use std::collections::{BTreeMap, BTreeSet};

use super::order::Place;
use crate::{canonical::UrlHash, origin::Origin};

/// Queues by origin. `None` contains the URLs that this program cannot parse, and is never paused.
#[derive(Debug, Clone, Default)]
pub(super) struct OriginQueues(BTreeMap<Option<Origin>, OriginQueue>);

#[derive(Debug, Clone, Default)]
struct OriginQueue {
    ready: BTreeSet<Place>,
    waiting: BTreeSet<(u64, UrlHash)>,
}

impl OriginQueues {
    /// `not_before_s` is the due time in seconds since 1970, or 0 if the URL is due.
    pub(super) fn insert(&mut self, origin: Option<Origin>, place: Place, not_before_s: u64) {
        let queue = self.0.entry(origin).or_default();
        if not_before_s == 0 {
            queue.ready.insert(place);
        } else {
            queue.waiting.insert((not_before_s, place.hash()));
        }
    }

    /// Removes a URL, whether it is due or not. Returns false if it is not queued.
    pub(super) fn remove(
        &mut self,
        origin: Option<Origin>,
        place: Place,
        not_before_s: u64,
    ) -> bool {
        self.change(origin, |queue| {
            queue.ready.remove(&place) || queue.waiting.remove(&(not_before_s, place.hash()))
        })
    }

    fn change(
        &mut self,
        origin: Option<Origin>,
        act: impl FnOnce(&mut OriginQueue) -> bool,
    ) -> bool {
        let Some(queue) = self.0.get_mut(&origin) else { return false };
        let is_changed = act(queue);
        if queue.is_empty() {
            self.0.remove(&origin);
        }
        is_changed
    }

    /// Removes and returns the first due URL among the origins that `may_fetch` accepts.
    pub(super) fn pop(
        &mut self,
        now_s: u64,
        may_fetch: impl Fn(Origin) -> bool,
        place_of: impl Fn(UrlHash) -> Option<Place>,
    ) -> Option<UrlHash> {
        let mut first: Option<(Place, Option<Origin>)> = None;
        for (origin, queue) in &mut self.0 {
            if !origin.is_none_or(&may_fetch) {
                continue;
            }
            queue.take_due(now_s, &place_of);
            if let Some(place) = queue.ready.first()
                && first.is_none_or(|(before, _)| *place < before)
            {
                first = Some((*place, *origin));
            }
        }
        let (place, origin) = first?;
        self.change(origin, |queue| queue.ready.remove(&place));
        Some(place.hash())
    }

    /// Returns the time from which [`Self::pop`] returns a URL, in seconds since 1970 or 0.
    pub(super) fn next_at_s(&self, free_s: impl Fn(Origin) -> u64) -> Option<u64> {
        let times = self.0.iter().filter_map(|(origin, queue)| {
            let due_s = if queue.ready.is_empty() {
                queue.waiting.first().map(|(due_s, _)| *due_s)?
            } else {
                0
            };
            Some(due_s.max(origin.map_or(0, &free_s)))
        });
        times.min()
    }

    pub(super) fn len_of(&self, origin: Option<Origin>) -> usize {
        self.0.get(&origin).map_or(0, |queue| queue.ready.len() + queue.waiting.len())
    }

    /// Returns each origin's first due URL, without URLs that became due since the last
    /// [`Self::pop`].
    pub(super) fn first_ready(&self) -> impl Iterator<Item = (Option<Origin>, Place)> {
        let queues = self.0.iter();
        queues.filter_map(|(origin, queue)| Some((*origin, *queue.ready.first()?)))
    }

    pub(super) fn origins(&self) -> impl Iterator<Item = Origin> {
        self.0.keys().copied().flatten()
    }

    #[cfg(test)]
    pub(super) fn hashes(&self) -> Vec<UrlHash> {
        let queues = self.0.values();
        let hashes = queues.flat_map(|queue| {
            let waiting = queue.waiting.iter().map(|(_, hash)| *hash);
            queue.ready.iter().map(|place| place.hash()).chain(waiting)
        });
        hashes.collect()
    }
}

impl OriginQueue {
    fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.waiting.is_empty()
    }

    fn take_due(&mut self, now_s: u64, place_of: impl Fn(UrlHash) -> Option<Place>) {
        while let Some((due_s, hash)) = self.waiting.first().copied() {
            if due_s > now_s {
                return;
            }
            self.waiting.pop_first();
            self.ready.extend(place_of(hash));
        }
    }
}
