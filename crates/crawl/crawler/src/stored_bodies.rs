//! Remembers the bodies that this process has stored for crawls, so that an identical body under
//! another URL on the site need not be stored again.
//!
//! A record may refer to another record only in the same archive or in an uploaded one. Otherwise
//! the other record could be lost while this one is kept.

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

/// Maximum remembered bodies, at about 300 bytes each. The most recent half is always remembered.
const MAX_REMEMBERED: usize = 2 * 28_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodyLocation {
    pub url: Arc<str>,
    pub hashes: (u64, u64),
    pub at: DateTime<Utc>,
    pub object: Arc<str>,
    pub position: Position,
}

impl BodyLocation {
    /// `None` if the earlier fetch's row has no valid location.
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

/// When `crawl forget` last ran. No record may refer to an older record, because that record may
/// have been erased.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastForgetTime(Arc<AtomicI64>);

impl LastForgetTime {
    pub(crate) fn note(&self, at: DateTime<Utc>) {
        self.0.fetch_max(at.timestamp_micros(), Ordering::AcqRel);
    }

    pub(crate) fn may_concern(&self, stored_at: DateTime<Utc>) -> bool {
        stored_at.timestamp_micros() <= self.0.load(Ordering::Acquire)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct BodyArchive {
    pub object: Arc<str>,
    is_uploaded: Arc<AtomicBool>,
}

impl BodyArchive {
    pub(crate) fn new(object: &str) -> Self {
        Self { object: object.into(), is_uploaded: Arc::default() }
    }

    pub(crate) fn set_uploaded(&self) {
        self.is_uploaded.store(true, Ordering::Release);
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.is_uploaded, &other.is_uploaded)
    }
}

struct StoredBody {
    location: BodyLocation,
    archive: BodyArchive,
}

pub(crate) struct StoredBodies<K> {
    newer: HashMap<K, StoredBody>,
    older: HashMap<K, StoredBody>,
    max_newer: usize,
}

impl<K> Default for StoredBodies<K> {
    fn default() -> Self {
        Self { newer: HashMap::new(), older: HashMap::new(), max_newer: MAX_REMEMBERED / 2 }
    }
}

impl<K: Eq + Hash> StoredBodies<K> {
    /// `open` is the archive whose record may refer to the body.
    pub(crate) fn named(&mut self, key: K, open: Option<&BodyArchive>) -> Option<BodyLocation> {
        let stored = self.newer.remove(&key).or_else(|| self.older.remove(&key))?;
        let is_kept = stored.archive.is_uploaded.load(Ordering::Acquire)
            || open.is_some_and(|open| open.is_same(&stored.archive));
        let location = is_kept.then(|| stored.location.clone());
        self.insert(key, stored);
        location
    }

    pub(crate) fn add(&mut self, key: K, location: BodyLocation, archive: &BodyArchive) {
        self.insert(key, StoredBody { location, archive: archive.clone() });
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

    fn location(url: &str) -> BodyLocation {
        let position = Position { offset: 1, length: 2 };
        BodyLocation {
            url: url.into(),
            hashes: (1, 2),
            at: Utc::now(),
            object: "a".into(),
            position,
        }
    }

    #[test]
    fn a_body_can_be_referenced_in_its_own_archive_or_after_its_upload() {
        let mut bodies = StoredBodies::default();
        let (first, second) = (BodyArchive::new("a"), BodyArchive::new("a"));
        bodies.add(7, location("http://a.test/b"), &first);
        let named = |bodies: &mut StoredBodies<_>, open: Option<&BodyArchive>| {
            bodies.named(7, open).map(|location| location.url.to_string())
        };
        let url = Some("http://a.test/b".to_owned());
        assert_eq!(named(&mut bodies, Some(&first)), url);
        assert_eq!(named(&mut bodies, Some(&second)), None, "the other archive may be lost");
        assert_eq!(named(&mut bodies, None), None);
        first.set_uploaded();
        assert_eq!(named(&mut bodies, Some(&second)), url);
        assert_eq!(named(&mut bodies, None), url);
        assert_eq!(bodies.named(8, None), None);
    }

    #[test]
    fn bodies_not_stored_or_named_recently_are_forgotten() {
        let mut bodies = StoredBodies { max_newer: 3, ..StoredBodies::default() };
        let archive = BodyArchive::new("a");
        archive.set_uploaded();
        for key in 0..100 {
            bodies.add(key, location("http://a.test/"), &archive);
            assert!(bodies.named(0, None).is_some(), "it is referenced regularly");
            assert!(bodies.newer.len() + bodies.older.len() <= 6);
        }
        assert!(bodies.named(99, None).is_some() && bodies.named(50, None).is_none());
    }
}
