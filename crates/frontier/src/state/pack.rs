//! Packing a state: a snapshot of all of it, or a delta of what changed since the last pack.
//!
//! A snapshot is written when the deltas since the last one are twice its size: then a URL costs
//! the least bytes written and stored together. Must not know: where chunks are kept.

use super::host_state::{HostState, Pending};
use crate::{
    canonical::UrlHash,
    chunk::{ChunkKind, Entry, close, open, push_entries, push_hashes, push_number, push_shapes},
    origin::Origin,
};

/// Number of times its own size that a snapshot lets deltas grow. Measured with 1 and 0.5 as well:
/// 2 writes the least log.
const DELTA_RATIO: usize = 2;

/// A packed state, or what changed of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "what is packed is not packed again: record it, or drop the state"]
pub struct Packed {
    /// Whether it is a snapshot, which supersedes all chunks before it, or a delta. Both supersede
    /// links that were appended before it and merged.
    pub kind: ChunkKind,
    /// The chunk.
    pub bytes: Vec<u8>,
    /// Number of the pack, ascending without a gap.
    pub generation: u64,
    /// URLs known.
    pub known: u64,
    /// URLs pending.
    pub pending: u64,
    /// Pages known.
    pub pages: u64,
    /// As [`HostState::next_due_s`].
    pub next_due_s: Option<u64>,
}

impl HostState {
    /// Packs what changed since the last pack, `None` if nothing did. URLs that are asked are
    /// packed as pending. `free_s` is as in [`Self::next`]. The caller records the chunks in order,
    /// or drops the state.
    pub fn pack(&mut self, free_s: impl Fn(Origin) -> u64) -> Option<Packed> {
        if !self.is_dirty() {
            return None;
        }
        let is_snapshot =
            self.generation == 0 || self.delta_bytes > DELTA_RATIO * self.snapshot_bytes;
        Some(if is_snapshot { self.pack_snapshot(free_s) } else { self.pack_delta(free_s) })
    }

    /// Packs the whole state, whatever changed.
    pub fn pack_snapshot(&mut self, free_s: impl Fn(Origin) -> u64) -> Packed {
        let mut answered: Vec<UrlHash> = self.answered.iter().copied().collect();
        let entries: Vec<_> = self.pending.values().map(entry).collect();
        let bytes = self.chunk(ChunkKind::Snapshot, &mut answered, entries);
        self.snapshot_bytes = bytes.len();
        self.delta_bytes = 0;
        let next_due_s = self.next_due_s(free_s);
        self.packed(ChunkKind::Snapshot, bytes, next_due_s)
    }

    fn pack_delta(&mut self, free_s: impl Fn(Origin) -> u64) -> Packed {
        let mut answered = self.newly_answered.clone();
        let changed = self.changed.iter();
        let entries = changed.filter_map(|hash| self.pending.get(hash)).map(entry).collect();
        let bytes = self.chunk(ChunkKind::Delta, &mut answered, entries);
        self.delta_bytes += bytes.len();
        let next_due_s = self.next_due_s(free_s);
        self.packed(ChunkKind::Delta, bytes, next_due_s)
    }

    fn chunk(
        &self,
        kind: ChunkKind,
        answered: &mut [UrlHash],
        mut entries: Vec<Entry<&str>>,
    ) -> Vec<u8> {
        let mut out = open(kind);
        let sums = self.sums();
        let numbers = [sums.captured, sums.failed, sums.refused, sums.left, self.pages];
        push_number(&mut out, self.generation + 1);
        numbers.into_iter().for_each(|number| push_number(&mut out, number));
        let is_snapshot = kind == ChunkKind::Snapshot;
        let shapes = if is_snapshot { self.shapes.all() } else { self.shapes.changes() };
        push_shapes(&mut out, &shapes);
        push_hashes(&mut out, answered);
        push_entries(&mut out, &self.usual_start(), &mut entries);
        close(out)
    }

    fn packed(&mut self, kind: ChunkKind, bytes: Vec<u8>, next_due_s: Option<u64>) -> Packed {
        self.generation += 1;
        self.has_unmerged = false;
        self.changed.clear();
        self.newly_answered.clear();
        self.shapes.forget_changes();
        let sums = self.sums();
        Packed {
            kind,
            bytes,
            generation: self.generation,
            known: sums.known,
            pending: sums.pending,
            pages: self.pages,
            next_due_s,
        }
    }
}

fn entry(pending: &Pending) -> Entry<&str> {
    let Pending { url, attributes, via, retries, not_before_s } = pending;
    let (attributes, via) = (*attributes, via.clone());
    Entry { url, attributes, via, retries: *retries, not_before_s: *not_before_s }
}
