//! Deduplication in the stream: one capture a hostname within one surtkey, in bounded memory.
//!
//! The index is sorted by url_surtkey, which drops a leading `www.`: the rows of `www.x` and `x`
//! interleave under one key, so the hostnames of the current key are held until it changes.
//! Invariant: whatever the order of the rows, each hostname keeps its best capture among those that
//! stood together; rows that did not stand together only give more captures of a hostname.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::capture::Capture;

/// A key has a handful of hostnames (`www`, `www2`, ...); more than this is no sorted index, and
/// holding fewer captures is never wrong.
const MAX_HELD_HOSTNAMES: usize = 4_096;

/// The captures of one surtkey, one a hostname, ordered by hostname.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) surtkey: String,
    pub(super) captures: Vec<Capture>,
}

/// The hostnames that were seen under the current surtkey, each with its best capture so far.
#[derive(Debug, Default)]
pub(super) struct Deduplicator {
    surtkey: String,
    held: BTreeMap<String, Capture>,
    duplicates_removed: u64,
}

impl Deduplicator {
    /// Takes one more capture. Where it belongs to another key than those held, returns those.
    pub(super) fn push(&mut self, surtkey: &str, capture: Capture) -> Option<Group> {
        let is_new_key = self.surtkey != surtkey || self.held.len() >= MAX_HELD_HOSTNAMES;
        let done = is_new_key.then(|| self.take());
        if is_new_key {
            surtkey.clone_into(&mut self.surtkey);
        }
        match self.held.get_mut(&capture.hostname) {
            None => {
                self.held.insert(capture.hostname.clone(), capture);
            }
            Some(best) => {
                self.duplicates_removed += 1;
                if capture.preference(best) == Ordering::Less {
                    *best = capture;
                }
            }
        }
        done
    }

    /// Returns what is held.
    pub(super) fn take(&mut self) -> Group {
        Group {
            surtkey: std::mem::take(&mut self.surtkey),
            captures: std::mem::take(&mut self.held).into_values().collect(),
        }
    }

    /// How many captures a better one of the same hostname has displaced or kept out.
    pub(super) fn duplicates_removed(&self) -> u64 {
        self.duplicates_removed
    }
}
