//! The bodies that this process has stored for crawls, so that the same one under another URL of a
//! site is named and not stored again.
//!
//! A record may name another one if that one is in the same archive, or in one that was put: then
//! it is not lost where this one stays. Of the bodies the last ones are remembered, and a process
//! that takes a slot over knows none of those before. Must not know: which records may name others,
//! how they are written.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use chrono::{DateTime, Utc};
use everytab_commoncrawl::warc::write::Position;
use everytab_coordinator::EarlierFetch;

/// Bodies that are remembered at most, about 300 bytes each: 17 MB. Half as many at least are, each
/// half in a table that is nearly full at this number.
const MAX_REMEMBERED: usize = 2 * 28_000;

/// The record that has a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodyPlace {
    /// Its URL.
    pub url: Arc<str>,
    /// The URL's hashes, of its host and of its key.
    pub hashes: (u64, u64),
    /// When it was asked for.
    pub at: DateTime<Utc>,
    /// Its archive.
    pub object: Arc<str>,
    /// Where it is in that.
    pub position: Position,
}

impl BodyPlace {
    /// The record that an earlier crawl has; none if its row has a place that cannot be one.
    pub(crate) fn of_earlier(copy: &EarlierFetch) -> Option<Self> {
        let offset = u64::try_from(copy.body_offset).ok()?;
        let length = u64::try_from(copy.body_length).ok()?;
        Some(Self {
            url: copy.body_url.as_str().into(),
            hashes: copy.body_hashes,
            at: copy.body_at,
            object: copy.body_object.as_str().into(),
            position: Position { offset, length },
        })
    }
}

/// When something was forgotten last, in whatever crawl: records of before may be taken out of
/// their archives.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastForgotten(Arc<AtomicI64>);

impl LastForgotten {
    /// Something was forgotten at this time.
    pub(crate) fn note(&self, at: DateTime<Utc>) {
        self.0.fetch_max(at.timestamp_micros(), Ordering::AcqRel);
    }

    /// Whether a record that was stored at this time may be forgotten.
    pub(crate) fn may_concern(&self, stored_at: DateTime<Utc>) -> bool {
        stored_at.timestamp_micros() <= self.0.load(Ordering::Acquire)
    }
}

/// An archive, as the bodies in it know it.
#[derive(Debug, Clone)]
pub(crate) struct BodyArchive {
    /// Its name.
    pub object: Arc<str>,
    is_put: Arc<AtomicBool>,
}

impl BodyArchive {
    /// An archive that is begun.
    pub(crate) fn new(object: &str) -> Self {
        Self { object: object.into(), is_put: Arc::default() }
    }

    /// It was put.
    pub(crate) fn was_put(&self) {
        self.is_put.store(true, Ordering::Release);
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.is_put, &other.is_put)
    }
}

struct StoredBody {
    place: BodyPlace,
    archive: BodyArchive,
}

/// The bodies by what makes them the same.
pub(crate) struct StoredBodies<K> {
    /// Those that were stored or named last.
    newer: HashMap<K, StoredBody>,
    /// Those before them.
    older: HashMap<K, StoredBody>,
    max_newer: usize,
}

impl<K> Default for StoredBodies<K> {
    fn default() -> Self {
        Self { newer: HashMap::new(), older: HashMap::new(), max_newer: MAX_REMEMBERED / 2 }
    }
}

impl<K: Eq + Hash> StoredBodies<K> {
    /// The record that has a body, which a record in the archive `open` may name.
    pub(crate) fn named(&mut self, key: K, open: Option<&BodyArchive>) -> Option<BodyPlace> {
        let stored = self.newer.remove(&key).or_else(|| self.older.remove(&key))?;
        let is_kept = stored.archive.is_put.load(Ordering::Acquire)
            || open.is_some_and(|open| open.is_same(&stored.archive));
        let place = is_kept.then(|| stored.place.clone());
        self.insert(key, stored);
        place
    }

    /// A body was stored in this place of an archive.
    pub(crate) fn add(&mut self, key: K, place: BodyPlace, archive: &BodyArchive) {
        self.insert(key, StoredBody { place, archive: archive.clone() });
    }

    fn insert(&mut self, key: K, stored: StoredBody) {
        if self.newer.len() >= self.max_newer {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(key, stored);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(url: &str) -> BodyPlace {
        let position = Position { offset: 1, length: 2 };
        BodyPlace { url: url.into(), hashes: (1, 2), at: Utc::now(), object: "a".into(), position }
    }

    #[test]
    fn a_body_is_named_in_its_archive_and_elsewhere_when_that_is_put() {
        let mut bodies = StoredBodies::default();
        let (first, second) = (BodyArchive::new("a"), BodyArchive::new("a"));
        bodies.add(7, place("http://a.test/b"), &first);
        let named = |bodies: &mut StoredBodies<_>, open: Option<&BodyArchive>| {
            bodies.named(7, open).map(|place| place.url.to_string())
        };
        let url = Some("http://a.test/b".to_owned());
        assert_eq!(named(&mut bodies, Some(&first)), url);
        assert_eq!(named(&mut bodies, Some(&second)), None, "it may be lost, and this one put");
        assert_eq!(named(&mut bodies, None), None);
        first.was_put();
        assert_eq!(named(&mut bodies, Some(&second)), url);
        assert_eq!(named(&mut bodies, None), url);
        assert_eq!(bodies.named(8, None), None);
    }

    #[test]
    fn those_that_were_neither_stored_nor_named_for_long_are_forgotten() {
        let mut bodies = StoredBodies { max_newer: 3, ..StoredBodies::default() };
        let archive = BodyArchive::new("a");
        archive.was_put();
        for key in 0..100 {
            bodies.add(key, place("http://a.test/"), &archive);
            assert!(bodies.named(0, None).is_some(), "it is named all the time");
            assert!(bodies.newer.len() + bodies.older.len() <= 6);
        }
        assert!(bodies.named(99, None).is_some() && bodies.named(50, None).is_none());
    }
}
