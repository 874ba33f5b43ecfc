//! Tracks which archives are being uploaded, and since when, so that a crawl whose store stops
//! accepting archives sends no more requests.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

#[derive(Clone, Default)]
pub(crate) struct PendingUploads(Arc<Mutex<Uploads>>);

#[derive(Default)]
struct Uploads {
    last: u64,
    begun: HashMap<u64, (i32, Instant)>,
}

impl PendingUploads {
    pub(crate) fn begin(&self, crawl: i32, now: Instant) -> u64 {
        let mut uploads = self.0.lock();
        uploads.last += 1;
        let number = uploads.last;
        uploads.begun.insert(number, (crawl, now));
        number
    }

    pub(crate) fn end(&self, number: u64) {
        self.0.lock().begun.remove(&number);
    }

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
        let uploads = PendingUploads::default();
        let begun = Instant::now();
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
