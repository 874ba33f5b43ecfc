//! A host's state. If a change affects several parts that must agree, one function in this module
//! makes it.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use super::{order::Place, origin_queues::OriginQueues, referrers::Referrers};
use crate::{
    canonical::UrlHash,
    chunk::MAX_TEXT_BYTES,
    link::{Attributes, LinkFlags},
    novelty::Novelty,
    origin::Origin,
    shape_counts::ShapeCounts,
};

/// Maximum known URLs per host. Their hashes take 8 MB, and fetching this many takes 11 days at one
/// request per second.
pub const MAX_KNOWN_PER_HOST: usize = 1_000_000;

/// Maximum total length in bytes of a host's pending URLs. A million URLs may have 134 bytes each.
pub const MAX_PENDING_BYTES: usize = MAX_TEXT_BYTES;

/// A host's URL counts, by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// All known URLs, which is the sum of the other numbers.
    pub known: u64,
    /// Not finished yet.
    pub pending: u64,
    /// Fetched and stored.
    pub captured: u64,
    /// Fetched without success.
    pub failed: u64,
    /// Refused by a rule, for example by robots.txt, a filter or the content type.
    pub refused: u64,
    /// Given up without a result, because the crawl ended, or the host or a shape was given up.
    pub left: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) url: Box<str>,
    pub(super) attributes: Attributes,
    pub(super) via: Option<Arc<str>>,
    pub(super) retries: u8,
    /// Due time in seconds since 1970, or 0 if the URL is due.
    pub(super) not_before_s: u64,
}

impl Pending {
    /// `None` if this program cannot parse the URL.
    pub(super) fn origin(&self) -> Option<Origin> {
        Origin::of(&self.url)
    }

    pub(super) fn place(&self, hash: UrlHash) -> Place {
        Place::of(hash, &self.attributes, self.retries)
    }
}

/// A host's state in a crawl.
#[derive(Debug, Clone)]
pub struct HostState {
    pub(super) host: Box<str>,
    pub(super) pending: HashMap<UrlHash, Pending>,
    pub(super) referrers: Referrers,
    pub(super) finished: HashSet<UrlHash>,
    /// Pending URLs that are not in flight.
    pub(super) queues: OriginQueues,
    pub(super) in_flight: HashSet<UrlHash>,
    /// Counts of finished URLs, by state. `known` and `pending` are not maintained here (see
    /// [`Self::sums`]).
    pub(super) ended: Sums,
    pub(super) pages: u64,
    pub(super) shapes: ShapeCounts,
    pub(super) novelty: Novelty,
    pub(super) pending_bytes: usize,
    /// Pending URLs that are new or changed since the last pack.
    pub(super) changed: HashSet<UrlHash>,
    /// Pending URLs without a submitted scheme that [`Self::over_http`] has not returned yet.
    pub(super) bare: BTreeSet<UrlHash>,
    /// Whether a pack is needed even if no URL changed. This happens if the pack supersedes
    /// appended links, or if the next due time changed.
    pub(super) has_unmerged: bool,
    pub(super) newly_finished: Vec<UrlHash>,
    /// Number of packs so far, including those by earlier holders.
    pub(super) generation: u64,
    /// Size in bytes of the last snapshot, and of all deltas since.
    pub(super) snapshot_bytes: usize,
    pub(super) delta_bytes: usize,
}

/// Two states are equal if their content is equal, regardless of insertion order, packs and
/// holders.
impl PartialEq for HostState {
    fn eq(&self, other: &Self) -> bool {
        self.host == other.host
            && self.pending == other.pending
            && self.finished == other.finished
            && self.sums() == other.sums()
            && self.pages == other.pages
            && self.shapes == other.shapes
            && self.novelty == other.novelty
    }
}

impl HostState {
    /// Creates a state without known URLs. `host` has the form of [`crate::CanonicalUrl::host`].
    #[must_use]
    pub fn new(host: &str) -> Self {
        Self {
            host: host.into(),
            pending: HashMap::new(),
            referrers: Referrers::default(),
            finished: HashSet::new(),
            queues: OriginQueues::default(),
            in_flight: HashSet::new(),
            ended: Sums::default(),
            pages: 0,
            shapes: ShapeCounts::default(),
            novelty: Novelty::default(),
            pending_bytes: 0,
            changed: HashSet::new(),
            bare: BTreeSet::new(),
            has_unmerged: false,
            newly_finished: Vec::new(),
            generation: 0,
            snapshot_bytes: 0,
            delta_bytes: 0,
        }
    }

    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns true if a URL is pending or finished.
    #[must_use]
    pub fn knows(&self, hash: UrlHash) -> bool {
        self.finished.contains(&hash) || self.pending.contains_key(&hash)
    }

    /// Returns true if a URL is finished.
    #[must_use]
    pub fn is_finished(&self, hash: UrlHash) -> bool {
        self.finished.contains(&hash)
    }

    /// Returns this host's URL counts, by state.
    #[must_use]
    pub fn sums(&self) -> Sums {
        let (pending, finished) = (self.pending.len() as u64, self.finished.len() as u64);
        Sums { known: pending + finished, pending, ..self.ended }
    }

    /// Returns how many known URLs are neither requisites nor sitemaps.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Returns true if this state changed since the last pack, so that it must not be dropped.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.has_unmerged || !self.changed.is_empty() || !self.newly_finished.is_empty()
    }

    /// Returns the approximate memory in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        // Maps and B-trees may have room for about twice their entries.
        let pending = size_of::<(UrlHash, Pending)>() * 2 + size_of::<Place>() * 2;
        let finished = size_of::<UrlHash>() * 2;
        size_of::<Self>()
            + self.pending_bytes
            + self.referrers.memory_bytes()
            + self.novelty.memory_bytes()
            + pending * self.pending.len()
            + finished
                * (self.finished.len()
                    + self.changed.len()
                    + self.newly_finished.len()
                    + self.bare.len())
    }

    /// Prefix that most URLs have. A chunk stores its first URL without this prefix, so it is part
    /// of the chunk format.
    pub(super) fn usual_start(&self) -> String {
        format!("https://{}/", self.host)
    }

    pub(super) fn insert_pending(&mut self, hash: UrlHash, mut pending: Pending) {
        pending.via = pending.via.and_then(|via| self.referrers.add(via));
        self.queues.insert(pending.origin(), pending.place(hash), pending.not_before_s);
        self.pending_bytes += pending.url.len();
        if pending.attributes.flags.contains(LinkFlags::BARE) {
            self.bare.insert(hash);
        }
        self.pending.insert(hash, pending);
    }

    pub(super) fn remove_pending(&mut self, hash: UrlHash) -> Option<Pending> {
        let pending = self.pending.remove(&hash)?;
        self.queues.remove(pending.origin(), pending.place(hash), pending.not_before_s);
        self.in_flight.remove(&hash);
        self.bare.remove(&hash);
        if let Some(via) = &pending.via {
            self.referrers.remove(via);
        }
        self.pending_bytes = self.pending_bytes.saturating_sub(pending.url.len());
        Some(pending)
    }

    /// `not_before_s` is in seconds since 1970, or 0 if the URL is due.
    pub(super) fn queue(&mut self, hash: UrlHash, not_before_s: u64) {
        if let Some(pending) = self.pending.get(&hash) {
            self.queues.insert(pending.origin(), pending.place(hash), not_before_s);
        }
    }

    pub(super) fn unqueue(&mut self, hash: UrlHash) -> bool {
        let Some(pending) = self.pending.get(&hash) else { return false };
        self.queues.remove(pending.origin(), pending.place(hash), pending.not_before_s)
    }

    #[cfg(test)]
    pub(super) fn check(&self) {
        let sums = self.sums();
        let ended = sums.captured + sums.failed + sums.refused + sums.left;
        assert_eq!(sums.known, sums.pending + ended);
        assert_eq!(self.finished.len() as u64, ended);
        assert!(self.pending.keys().all(|hash| !self.finished.contains(hash)));
        let queued = self.queues.hashes();
        assert_eq!(queued.len() + self.in_flight.len(), self.pending.len());
        assert!(queued.iter().all(|hash| self.pending.contains_key(hash)));
        assert!(self.in_flight.iter().all(|hash| self.pending.contains_key(hash)));
        assert!(self.changed.iter().all(|hash| self.pending.contains_key(hash)));
        let bytes: usize = self.pending.values().map(|pending| pending.url.len()).sum();
        assert_eq!(self.pending_bytes, bytes);
        self.referrers.check(self.pending.values().filter_map(|pending| pending.via.as_ref()));
    }
}
