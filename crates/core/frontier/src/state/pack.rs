//! Packs a state as a snapshot or a delta. Packing a million URLs takes seconds, so the changes are
//! copied out and packed on another thread.

use std::sync::Arc;

use super::host_state::{HostState, Pending};
use crate::{
    canonical::UrlHash,
    chunk::{
        ChunkKind, Entry, close, open, push_entries, push_hashes, push_number, push_seen,
        push_shapes, seen_to_pack,
    },
    link::Attributes,
    origin::Origin,
    shape_counts::ShapeChanges,
};

/// Deltas may have this many times the total size of their snapshot. A larger ratio writes fewer
/// bytes but stores more (docs/decisions/0060-packing-of-the-frontier.md).
const DELTA_RATIO: usize = 2;

/// A packed snapshot or delta.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "packed changes are not packed again: record them, or drop the state"]
pub struct Packed {
    /// A snapshot supersedes all earlier chunks. Both kinds supersede appended links, because these
    /// are merged.
    pub kind: ChunkKind,
    /// The chunk.
    pub bytes: Vec<u8>,
    /// Generation, which counts a host's chunks.
    pub generation: u64,
    /// Known URLs.
    pub known: u64,
    /// Pending URLs.
    pub pending: u64,
    /// Known pages.
    pub pages: u64,
    /// See [`HostState::next_due_s`].
    pub next_due_s: Option<u64>,
}

/// Changes that were copied out of a state for packing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "taken changes are not taken again: pack and record them, or drop the state"]
pub struct StateChanges {
    packed: Packed,
    start: String,
    numbers: [u64; 5],
    shapes: ShapeChanges,
    seen: [Vec<Vec<u32>>; 2],
    finished: Vec<UrlHash>,
    text: String,
    entries: Vec<ChangedUrl>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ChangedUrl {
    end: usize,
    attributes: Attributes,
    via: Option<Arc<str>>,
    retries: u8,
    not_before_s: u64,
}

impl StateChanges {
    /// Packs the changes. The caller must record a host's chunks in order, and must call
    /// [`HostState::packed`] before it takes the next changes.
    pub fn pack(mut self) -> Packed {
        let mut out = open(self.packed.kind);
        push_number(&mut out, self.packed.generation);
        self.numbers.into_iter().for_each(|number| push_number(&mut out, number));
        push_shapes(&mut out, &self.shapes);
        self.seen.into_iter().for_each(|sets| push_seen(&mut out, sets));
        push_hashes(&mut out, &mut self.finished);
        let mut start = 0;
        let entries = self.entries.iter().map(|changed| {
            let ChangedUrl { end, attributes, via, retries, not_before_s } = changed;
            let url = self.text.get(start..*end).unwrap_or_default();
            start = *end;
            let attributes = *attributes;
            let via = via.clone();
            Entry { url, attributes, via, retries: *retries, not_before_s: *not_before_s }
        });
        push_entries(&mut out, &self.start, &mut entries.collect::<Vec<_>>());
        self.packed.bytes = close(out);
        self.packed
    }
}

impl HostState {
    /// Packs the changes since the last pack, with URLs in flight as pending. `None` if there are
    /// none. `free_s` is as in [`Self::next`].
    pub fn pack(&mut self, free_s: impl Fn(Origin) -> u64) -> Option<Packed> {
        let packed = self.take_changes(free_s)?.pack();
        self.packed(packed.kind, packed.bytes.len());
        Some(packed)
    }

    /// Packs the whole state, even if it has not changed.
    pub fn pack_snapshot(&mut self, free_s: impl Fn(Origin) -> u64) -> Packed {
        let packed = self.take_all_of(ChunkKind::Snapshot, free_s).pack();
        self.packed(packed.kind, packed.bytes.len());
        packed
    }

    /// Copies the changes since the last call. `None` if there are none.
    pub fn take_changes(&mut self, free_s: impl Fn(Origin) -> u64) -> Option<StateChanges> {
        if !self.is_dirty() {
            return None;
        }
        let is_snapshot =
            self.generation == 0 || self.delta_bytes > DELTA_RATIO * self.snapshot_bytes;
        let kind = if is_snapshot { ChunkKind::Snapshot } else { ChunkKind::Delta };
        Some(self.take_all_of(kind, free_s))
    }

    /// Records a pack's size.
    pub fn packed(&mut self, kind: ChunkKind, bytes: usize) {
        if kind == ChunkKind::Snapshot {
            (self.snapshot_bytes, self.delta_bytes) = (bytes, 0);
        } else {
            self.delta_bytes += bytes;
        }
    }

    fn take_all_of(&mut self, kind: ChunkKind, free_s: impl Fn(Origin) -> u64) -> StateChanges {
        let sums = self.sums();
        let is_snapshot = kind == ChunkKind::Snapshot;
        let shapes = if is_snapshot { self.shapes.all() } else { self.shapes.changes() };
        let (urls, bytes) = match kind {
            ChunkKind::Snapshot => (self.pending.len(), self.pending_bytes),
            _ => (self.changed.len(), 0),
        };
        let mut text = String::with_capacity(bytes);
        let mut entries = Vec::with_capacity(urls);
        let mut add = |pending: &Pending| {
            text.push_str(&pending.url);
            let Pending { attributes, retries, not_before_s, .. } = *pending;
            let end = text.len();
            let via = pending.via.clone();
            entries.push(ChangedUrl { end, attributes, via, retries, not_before_s });
        };
        let finished = if is_snapshot {
            self.pending.values().for_each(&mut add);
            self.finished.iter().copied().collect()
        } else {
            self.changed.iter().filter_map(|hash| self.pending.get(hash)).for_each(&mut add);
            std::mem::take(&mut self.newly_finished)
        };
        let seen =
            [&self.novelty.pages, &self.novelty.lines].map(|hashes| seen_to_pack(kind, hashes));
        self.generation += 1;
        self.has_unmerged = false;
        self.changed.clear();
        self.newly_finished.clear();
        self.shapes.forget_changes();
        self.novelty.packed();
        let packed = Packed {
            kind,
            bytes: Vec::new(),
            generation: self.generation,
            known: sums.known,
            pending: sums.pending,
            pages: self.pages,
            next_due_s: self.next_due_s(free_s),
        };
        let numbers = [sums.captured, sums.failed, sums.refused, sums.left, self.pages];
        let start = self.usual_start();
        StateChanges { packed, start, numbers, shapes, seen, finished, text, entries }
    }
}
