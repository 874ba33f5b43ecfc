//! Tracks which archives are being uploaded, and since when. A crawl whose store stops accepting
//! archives sends no more requests; otherwise waiting records would fill the disk and the memory.
//!
//! Does not depend on how an archive is uploaded, or on what follows from a slow upload.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// The uploads in progress. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct PutsUnderWay(Arc<Mutex<Puts>>);

#[derive(Default)]
struct Puts {
    last: u64,
    /// The crawl of each upload, and when it started.
    begun: HashMap<u64, (i32, Instant)>,
}

impl PutsUnderWay {
    /// Notes the start of an upload for a crawl. Returns the number of the upload.
    pub(crate) fn begin(&self, crawl: i32, now: Instant) -> u64 {
        let mut puts = self.0.lock();
        puts.last += 1;
        let number = puts.last;
        puts.begun.insert(number, (crawl, now));
        number
    }

    /// Notes that an upload has ended, or that its archive is lost.
    pub(crate) fn end(&self, number: u64) {
        self.0.lock().begun.remove(&number);
    }

    /// Returns the crawls that have an upload in progress for longer than `patience`.
    pub(crate) fn late_crawls(&self, patience: Duration, now: Instant) -> HashSet<i32> {
        let puts = self.0.lock();
        let late = puts
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
    fn a_crawl_is_late_while_an_archive_of_it_is_under_way_for_too_long() {
        let (puts, begun) = (PutsUnderWay::default(), Instant::now());
        let patience = Duration::from_secs(60);
        let first = puts.begin(1, begun);
        puts.begin(2, begun + patience);
        let late = |after| puts.late_crawls(patience, begun + after);
        assert_eq!(late(patience), HashSet::new());
        assert_eq!(late(patience * 3 / 2), HashSet::from([1]));
        assert_eq!(late(patience * 3), HashSet::from([1, 2]));
        puts.end(first);
        assert_eq!(late(patience * 3), HashSet::from([2]));
    }
}
