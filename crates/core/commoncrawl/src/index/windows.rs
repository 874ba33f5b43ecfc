//! Chooses which bytes are read next. A window ends at about the same row in every column, which
//! saves memory.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use parquet::file::metadata::ParquetMetaData;

use super::row_groups::chunk_start;

/// Pieces with a gap up to this many bytes are read in one range, which is faster than a separate
/// request.
const MAX_GAP_BYTES: u64 = 16 << 10;
/// Minimum size in bytes of a column's piece in a window, except for its last piece.
const MIN_PIECE_BYTES: u64 = 128 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) row_group: usize,
    /// Byte ranges in the file, which do not overlap or touch.
    pub(super) ranges: Vec<Range<u64>>,
    /// For each column: a range's index, the part of this range, and the column's index.
    pub(super) pieces: Vec<(usize, Range<usize>, usize)>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ColumnProgress {
    /// Rows in complete pages.
    pub(super) rows: u64,
    pub(super) waiting_bytes: u64,
}

#[derive(Debug)]
pub(super) struct Windows {
    metadata: Arc<ParquetMetaData>,
    leaves: Vec<usize>,
    row_groups: VecDeque<usize>,
    window_bytes: u64,
    /// For each needed column in the row group, the bytes that are not in a window yet.
    left: Vec<Range<u64>>,
}

impl Windows {
    pub(super) fn new(
        metadata: Arc<ParquetMetaData>,
        leaves: Vec<usize>,
        row_groups: Vec<usize>,
        window_bytes: u64,
    ) -> Self {
        let row_groups = row_groups.into();
        let mut windows = Self { metadata, leaves, row_groups, window_bytes, left: Vec::new() };
        windows.left = windows.chunks();
        windows
    }

    fn chunks(&self) -> Vec<Range<u64>> {
        let Some(row_group) = self.row_groups.front() else { return Vec::new() };
        let group = self.metadata.row_group(*row_group);
        let chunks = self.leaves.iter().filter_map(|leaf| group.columns().get(*leaf));
        let chunks = chunks.map(|chunk| {
            let start = chunk_start(chunk).unsigned_abs();
            start..start + chunk.compressed_size().unsigned_abs()
        });
        chunks.collect()
    }

    fn rows(&self) -> u64 {
        let group = self.row_groups.front().map(|group| self.metadata.row_group(*group));
        group.map_or(0, |group| group.num_rows().unsigned_abs())
    }

    pub(super) fn leave(&mut self, row_group: usize) {
        if self.row_groups.front() == Some(&row_group) {
            self.row_groups.pop_front();
            self.left = self.chunks();
        }
    }

    /// Returns the next window, from this row group or the next one.
    pub(super) fn next(&mut self, mut progress: Vec<ColumnProgress>) -> Option<Window> {
        while self.left.iter().all(Range::is_empty) || self.rows() == 0 {
            self.row_groups.pop_front()?;
            self.left = self.chunks();
            progress.clear();
        }
        progress.resize(self.left.len(), ColumnProgress::default());
        let row_group = *self.row_groups.front()?;
        let rows = self.rows();
        let chunks = self.chunks();
        let lengths = || chunks.iter().map(|chunk| chunk.end - chunk.start);
        let share = self.window_bytes as f64 / lengths().sum::<u64>().max(1) as f64;
        let unfinished = progress.iter().zip(&self.left).filter(|(_, left)| !left.is_empty());
        let behind = unfinished.map(|(column, _)| column.rows).min().unwrap_or(0);
        let target = behind as f64 + rows as f64 * share;
        let mut parts = Vec::new();
        for (index, ((left, length), column)) in
            self.left.iter_mut().zip(lengths()).zip(&progress).enumerate()
        {
            let missing_rows = target - column.rows as f64;
            let estimate = missing_rows / rows as f64 * length as f64 - column.waiting_bytes as f64;
            // The cast saturates, which is harmless because the value only decides where the window
            // ends.
            let wanted = (estimate.max(0.0) as u64).max(MIN_PIECE_BYTES);
            if left.is_empty() || (missing_rows <= 0.0 && column.rows > behind) {
                continue;
            }
            let end = left.start.saturating_add(wanted);
            let end = if end.saturating_add(MIN_PIECE_BYTES) >= left.end { left.end } else { end };
            parts.push((left.start..end, index));
            left.start = end;
        }
        parts.sort_unstable_by_key(|(part, _)| (part.start, part.end));
        Some(join(row_group, &parts))
    }
}

fn join(row_group: usize, parts: &[(Range<u64>, usize)]) -> Window {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut pieces = Vec::with_capacity(parts.len());
    for (part, index) in parts {
        match ranges.last_mut() {
            Some(last) if part.start <= last.end.saturating_add(MAX_GAP_BYTES) => {
                last.end = last.end.max(part.end);
            }
            _ => ranges.push(part.clone()),
        }
        let number = ranges.len() - 1;
        let start = ranges.get(number).map_or(0, |range| range.start);
        let inside = |at: u64| usize::try_from(at - start).unwrap_or(usize::MAX);
        pieces.push((number, inside(part.start)..inside(part.end), *index));
    }
    Window { row_group, ranges, pieces }
}

#[cfg(test)]
mod tests {
    use parquet::{
        file::metadata::{ColumnChunkMetaData, FileMetaData, RowGroupMetaData},
        schema::{parser::parse_message_type, types::SchemaDescriptor},
    };
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_are_read_in_one_range_and_others_apart() {
        let parts = [(10..20, 2), (20..30, 0), (30 + MAX_GAP_BYTES..40 + MAX_GAP_BYTES, 1)];
        let window = join(7, &parts);
        assert_eq!(window.ranges, vec![10..40 + MAX_GAP_BYTES]);
        let apart = [(10..20, 2), (21 + MAX_GAP_BYTES..30 + MAX_GAP_BYTES, 0)];
        let window = join(7, &apart);
        assert_eq!(window.ranges, [10..20, 21 + MAX_GAP_BYTES..30 + MAX_GAP_BYTES]);
        assert_eq!(window.pieces, [(0, 0..10, 2), (1, 0..9, 0)]);
    }

    fn metadata(row_groups: usize, lengths: &[u64]) -> ParquetMetaData {
        let columns: String = (0..lengths.len()).map(|n| format!("required int64 c{n};")).collect();
        let schema = parse_message_type(&format!("message m {{ {columns} }}")).unwrap();
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
        let mut at = 4;
        let mut group = || {
            let chunks = lengths.iter().enumerate().map(|(leaf, length)| {
                let chunk = ColumnChunkMetaData::builder(schema.column(leaf))
                    .set_num_values(1_000)
                    .set_data_page_offset(at)
                    .set_total_compressed_size(length.cast_signed())
                    .build();
                at += length.cast_signed();
                chunk.unwrap()
            });
            RowGroupMetaData::builder(Arc::clone(&schema))
                .set_num_rows(1_000)
                .set_column_metadata(chunks.collect())
                .build()
                .unwrap()
        };
        let groups = (0..row_groups).map(|_| group()).collect();
        let file = FileMetaData::new(2, 1_000, None, None, Arc::clone(&schema), None);
        ParquetMetaData::new(file, groups)
    }

    #[test]
    fn a_column_that_is_ahead_waits_until_the_others_have_caught_up() {
        let metadata = Arc::new(metadata(1, &[1 << 20, 1 << 20]));
        let mut windows = Windows::new(metadata, vec![0, 1], vec![0], 1 << 19);
        let places = |window: Window| -> Vec<usize> {
            window.pieces.into_iter().map(|(_, _, index)| index).collect()
        };
        assert_eq!(places(windows.next(vec![]).unwrap()), [0, 1]);
        let ahead = |rows| ColumnProgress { rows, waiting_bytes: 0 };
        assert_eq!(places(windows.next(vec![ahead(100), ahead(900)]).unwrap()), [0]);
        assert_eq!(places(windows.next(vec![ahead(800), ahead(900)]).unwrap()), [0, 1]);
    }

    proptest! {
        #[test]
        fn every_byte_is_read_once_and_in_order(
            lengths in prop::collection::vec(0_u64..1 << 20, 1..5),
            row_groups in 1_usize..4,
            window_bytes in 0_u64..1 << 20,
            rows in prop::collection::vec(0_u64..1_000, 5),
        ) {
            let metadata = Arc::new(metadata(row_groups, &lengths));
            let leaves: Vec<usize> = (0..lengths.len()).collect();
            let order: Vec<usize> = (0..row_groups).collect();
            let mut windows =
                Windows::new(Arc::clone(&metadata), leaves.clone(), order, window_bytes);
            let mut got = vec![vec![0; lengths.len()]; row_groups];
            let mut count = 0_u64;
            loop {
                let progress = leaves.iter().map(|leaf| ColumnProgress {
                    rows: rows[*leaf] * count % 1_000,
                    waiting_bytes: rows[*leaf],
                });
                let Some(window) = windows.next(progress.collect()) else { break };
                count += 1;
                prop_assert!(!window.pieces.is_empty(), "{window:?}");
                for (number, piece, index) in &window.pieces {
                    let chunk = metadata.row_group(window.row_group).column(*index);
                    let start = window.ranges[*number].start + piece.start as u64;
                    let got = &mut got[window.row_group][*index];
                    prop_assert_eq!(start, chunk.data_page_offset() as u64 + *got);
                    *got += piece.len() as u64;
                }
            }
            prop_assert!(got.iter().all(|got| *got == lengths), "{got:?}");
        }
    }
}
