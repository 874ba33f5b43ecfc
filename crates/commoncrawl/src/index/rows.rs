//! From a file's metadata on: row groups to batches to captures.
//!
//! Owns the limit: where reading starts in the middle of the file, the captures of its first key
//! are held back until the end, because better ones may stand before the start.
//! Invariant: a capture is counted when it is given, held back or dropped, never twice.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::DecodeResult;
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use parquet::file::metadata::ParquetMetaData;

use super::capture::Capture;
use super::columns::{Columns, arrow_metadata, projected_leaves, projection};
use super::dedup::{Deduplicator, Group};
use super::error::{IndexError, guarded};
use super::home_page::{Verdict, judge};
use super::row_groups;
use super::{IndexCounts, IndexOptions};

/// Rows decoded at once.
const BATCH_ROWS: usize = 8_192;
/// Captures that are enough to be handed over before more rows are decoded.
const ENOUGH_CAPTURES: usize = 1_000;

pub(super) enum RowStep {
    Need(Vec<Range<u64>>),
    Captures(Vec<Capture>),
    Done(IndexCounts),
}

/// The captures of the first key, where the reading started in the middle of the file.
#[derive(Debug)]
enum Head {
    /// The reading starts at the beginning, or the head has been put back.
    None,
    Expected,
    Held(Group),
}

#[derive(Debug)]
pub(super) struct RowReader {
    decoder: ParquetPushDecoder,
    /// Rows of the row groups still to come or in hand, in reading order.
    group_rows: VecDeque<u64>,
    rows_into_group: u64,
    dedup: Deduplicator,
    head: Head,
    ready: Vec<Capture>,
    remaining: u64,
    is_finished: bool,
    counts: IndexCounts,
}

impl RowReader {
    pub(super) fn new(
        metadata: ParquetMetaData,
        file_size: u64,
        options: &IndexOptions,
    ) -> Result<Self, IndexError> {
        let metadata = Arc::new(metadata);
        let schema = metadata.file_metadata().schema_descr_ptr();
        let leaves = projected_leaves(&schema)?;
        row_groups::check(&metadata, &leaves, file_size, options.max_row_group_bytes)?;
        let hostname_leaf = schema
            .columns()
            .iter()
            .position(|column| column.path().string() == "url_host_name")
            .filter(|_| options.max_captures.is_some());
        let order = row_groups::reading_order(&metadata, hostname_leaf);
        let head = match order.first() {
            None | Some(0) => Head::None,
            Some(_) => Head::Expected,
        };
        let rows = |group: &usize| u64::try_from(metadata.row_group(*group).num_rows()).ok();
        let group_rows = order.iter().map(|group| rows(group).unwrap_or(0)).collect();
        let arrow = arrow_metadata(&metadata)?;
        let decoder = guarded(|| {
            ParquetPushDecoderBuilder::new_with_metadata(arrow)
                .with_projection(projection(&schema, &leaves))
                .with_row_groups(order)
                .with_batch_size(BATCH_ROWS)
                .build()
        })?;
        let row_groups = metadata.num_row_groups() as u64;
        Ok(Self {
            decoder,
            group_rows,
            rows_into_group: 0,
            dedup: Deduplicator::default(),
            head,
            ready: Vec::new(),
            remaining: options.max_captures.unwrap_or(u64::MAX),
            is_finished: options.max_captures == Some(0),
            counts: IndexCounts { row_groups, ..IndexCounts::default() },
        })
    }

    pub(super) fn supply(
        &mut self,
        ranges: Vec<Range<u64>>,
        data: Vec<Bytes>,
    ) -> Result<(), IndexError> {
        guarded(|| self.decoder.push_ranges(ranges, data))
    }

    pub(super) fn next(&mut self) -> Result<RowStep, IndexError> {
        while !self.is_finished && self.ready.len() < ENOUGH_CAPTURES {
            match guarded(|| self.decoder.try_decode())? {
                DecodeResult::NeedsData(ranges) if self.ready.is_empty() => {
                    return Ok(RowStep::Need(ranges));
                }
                // Asked again, the decoder names the same ranges.
                DecodeResult::NeedsData(_) => break,
                DecodeResult::Data(batch) => self.take_batch(&batch)?,
                DecodeResult::Finished => self.finish()?,
            }
        }
        if !self.ready.is_empty() {
            return Ok(RowStep::Captures(std::mem::take(&mut self.ready)));
        }
        self.counts.duplicates_removed = self.dedup.duplicates_removed();
        Ok(RowStep::Done(self.counts))
    }

    fn take_batch(&mut self, batch: &RecordBatch) -> Result<(), IndexError> {
        let columns = Columns::of(batch)?;
        for row in 0..batch.num_rows() {
            self.count_row();
            match judge(&columns, row) {
                Verdict::NotHomePage => self.counts.not_home_pages += 1,
                Verdict::Malformed => {
                    self.counts.home_pages += 1;
                    self.counts.malformed += 1;
                }
                Verdict::HomePage { surtkey, capture } => {
                    self.counts.home_pages += 1;
                    if let Some(done) = self.dedup.push(surtkey, capture) {
                        self.give(done);
                    }
                    if self.remaining == 0 {
                        self.stop();
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn count_row(&mut self) {
        while self.group_rows.front().is_some_and(|rows| self.rows_into_group >= *rows) {
            self.group_rows.pop_front();
            self.rows_into_group = 0;
        }
        if self.rows_into_group == 0 {
            self.counts.row_groups_read += 1;
        }
        self.rows_into_group += 1;
        self.counts.rows += 1;
    }

    /// Hands on the captures of a key that is complete, as far as the limit allows.
    fn give(&mut self, group: Group) {
        if group.captures.is_empty() {
            return;
        }
        if matches!(self.head, Head::Expected) {
            self.head = Head::Held(group);
            return;
        }
        let mut captures = group.captures;
        let wanted = usize::try_from(self.remaining).unwrap_or(usize::MAX);
        let dropped = captures.len().saturating_sub(wanted);
        captures.truncate(wanted);
        self.counts.beyond_limit += dropped as u64;
        self.counts.captures += captures.len() as u64;
        self.remaining -= captures.len() as u64;
        self.ready.append(&mut captures);
    }

    /// The limit is reached: what is held will not be given.
    fn stop(&mut self) {
        self.is_finished = true;
        let held_back = match std::mem::replace(&mut self.head, Head::None) {
            Head::Held(group) => group.captures.len(),
            Head::None | Head::Expected => 0,
        };
        self.counts.beyond_limit += (held_back + self.dedup.take().captures.len()) as u64;
    }

    /// Every row group has been read: gives what is held, the head's captures among it.
    fn finish(&mut self) -> Result<(), IndexError> {
        self.is_finished = true;
        let unread = self.unread_rows();
        if unread > 0 {
            let what = format!("{unread} rows fewer than its row groups say");
            return Err(IndexError::Corrupt(what));
        }
        if let Head::Held(head) = std::mem::replace(&mut self.head, Head::None) {
            for capture in head.captures {
                if let Some(done) = self.dedup.push(&head.surtkey, capture) {
                    self.give(done);
                }
            }
        }
        let last = self.dedup.take();
        self.give(last);
        Ok(())
    }

    fn unread_rows(&self) -> u64 {
        let all = self.group_rows.iter().fold(0_u64, |sum, rows| sum.saturating_add(*rows));
        all.saturating_sub(self.rows_into_group)
    }
}
