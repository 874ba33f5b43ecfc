//! Tracks which archives are being uploaded, and since when.
//!
//! A crawl whose store stops accepting archives sends no more requests. Otherwise waiting records
//! would fill the disk and the memory. This module does not depend on how an archive is uploaded,
//! or on how slow uploads are handled.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// The uploads in progress. All clones share one list.
#[derive(Clone, Default)]
pub(crate) struct PendingUploads(Arc<Mutex<Uploads>>);

#[derive(Default)]
struct Uploads {
    last: u64,
    /// Each upload's crawl and start time.
    begun: HashMap<u64, (i32, Instant)>,
}

impl PendingUploads {
    /// Notes that an upload for a crawl starts. Returns the upload's number.
    pub(crate) fn begin(&self, crawl: i32, now: Instant) -> u64 {
        let mut uploads = self.0.lock();
        uploads.last += 1;
        let number = uploads.last;
        uploads.begun.insert(number, (crawl, now));
        number
    }

    /// Notes that an upload has ended, or that its archive is lost.
    pub(crate) fn end(&self, number: u64) {
        self.0.lock().begun.remove(&number);
    }

    /// Returns the crawls that have an upload in progress for longer than `patience`.
    pub(crate) fn stalled_crawls(&self, patience: Duration, now: Instant) -> HashSet<i32> {
        let uploads = self.0.lock();
        let late = uploads
            .begun
            .values()
            .filter(|(_, begun)| now.saturating_duration_since(*begun) > patience);
        late.map(|(crawl, _)| *crawl).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crawl_is_stalled_while_one_of_its_uploads_takes_too_long() {
        let (uploads, begun) = (PendingUploads::default(), Instant::now());
        let patience = Duration::from_secs(60);
        let first = uploads.begin(1, begun);
        uploads.begin(2, begun + patience);
        let late = |after| uploads.stalled_crawls(patience, begun + after);
        assert_eq!(late(patience), HashSet::new());
        assert_eq!(late(patience * 3 / 2), HashSet::from([1]));
        assert_eq!(late(patience * 3), HashSet::from([1, 2]));
        uploads.end(first);
        assert_eq!(late(patience * 3), HashSet::from([2]));
    }
}
