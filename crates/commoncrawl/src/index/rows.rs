//! From a file's metadata on: windows of bytes to rows to captures.
//!
//! Owns the limit: where reading starts in the middle of the file, the captures of its first site
//! are held back until the end, because better ones may stand before the start.
//! Invariant: a capture is counted when it is given, held back or dropped, never twice.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::file::metadata::ParquetMetaData;

use super::capture::Capture;
use super::columns::Columns;
use super::dedup::Deduplicator;
use super::error::IndexError;
use super::home_page::{Verdict, judge};
use super::row_groups;
use super::windows::{Window, Windows};
use super::{IndexCounts, IndexOptions};

/// Captures that are enough to be handed over before more rows are read.
const ENOUGH_CAPTURES: usize = 1_000;

pub(super) enum RowStep {
    Need(Vec<Range<u64>>),
    Captures(Vec<Capture>),
    Done(IndexCounts),
}

/// The captures of the first site, where the reading started in the middle of the file.
#[derive(Debug)]
enum Head {
    /// The reading starts at the beginning, or the head has been put back.
    None,
    Expected,
    Held(Vec<Capture>),
}

#[derive(Debug)]
pub(super) struct RowReader {
    metadata: Arc<ParquetMetaData>,
    columns: Columns,
    windows: Windows,
    /// The window that is asked for, and the one after it, which is known once that has come.
    asked: Option<Window>,
    upcoming: Option<Window>,
    /// The row group in hand, its rows, and the next of them to be looked at.
    row_group: Option<usize>,
    rows: u64,
    row: u64,
    dedup: Deduplicator,
    head: Head,
    ready: Vec<Capture>,
    remaining: u64,
    has_limit: bool,
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
        let columns = Columns::of(&schema)?;
        let leaves = columns.leaves();
        row_groups::check(&metadata, &leaves, file_size, options.max_row_group_bytes)?;
        let has_limit = options.max_captures.is_some();
        // The hostname comes first among the columns.
        let hostname_leaf = leaves.first().copied().filter(|_| has_limit);
        let mut order = row_groups::reading_order(&metadata, hostname_leaf);
        let most = options.max_row_groups.unwrap_or(u64::MAX);
        order.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        let head = match order.first() {
            None | Some(0) => Head::None,
            Some(_) => Head::Expected,
        };
        let mut windows = Windows::new(Arc::clone(&metadata), leaves, order, options.window_bytes);
        let upcoming = windows.next(Vec::new());
        let row_groups = metadata.num_row_groups() as u64;
        Ok(Self {
            metadata,
            columns,
            windows,
            asked: None,
            upcoming,
            row_group: None,
            rows: 0,
            row: 0,
            dedup: Deduplicator::default(),
            head,
            ready: Vec::new(),
            remaining: options.max_captures.unwrap_or(u64::MAX),
            has_limit,
            is_finished: options.max_captures == Some(0),
            counts: IndexCounts { row_groups, ..IndexCounts::default() },
        })
    }

    pub(super) fn counts(&self) -> IndexCounts {
        IndexCounts { duplicates_removed: self.dedup.duplicates_removed(), ..self.counts }
    }

    /// What will be asked for next, if that is sure.
    pub(super) fn upcoming(&self) -> Vec<Range<u64>> {
        match &self.upcoming {
            Some(window) if !self.has_limit && !self.is_finished => window.ranges.clone(),
            _ => Vec::new(),
        }
    }

    pub(super) fn supply(
        &mut self,
        ranges: &[Range<u64>],
        data: &[Bytes],
    ) -> Result<(), IndexError> {
        let Some(window) = self.asked.take().filter(|window| window.ranges == ranges) else {
            return Err(IndexError::WrongSupply("ranges that were not asked for".into()));
        };
        self.counts.row_bytes += data.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
        for (number, piece, place) in window.pieces {
            let Some(range) = data.get(number).filter(|range| piece.end <= range.len()) else {
                return Err(IndexError::WrongSupply("a range cut short".into()));
            };
            self.columns.push(place, range.slice(piece))?;
        }
        self.upcoming = self.windows.next(self.columns.progress());
        Ok(())
    }

    pub(super) fn next(&mut self) -> Result<RowStep, IndexError> {
        while !self.is_finished && self.ready.len() < ENOUGH_CAPTURES {
            let end = self.columns.rows_here();
            if self.row_group.is_some() && self.row < end {
                self.look_at(end)?;
            } else if self.row < self.rows || (self.row_group.is_none() && self.enters_next()?) {
                if self.ready.is_empty() {
                    return self.ask();
                }
                break;
            } else if !self.leaves_group() {
                self.finish();
            }
        }
        if !self.ready.is_empty() {
            return Ok(RowStep::Captures(std::mem::take(&mut self.ready)));
        }
        Ok(RowStep::Done(self.counts()))
    }

    /// Goes to the row group of the next window; false where there is none.
    fn enters_next(&mut self) -> Result<bool, IndexError> {
        let Some(window) = &self.upcoming else { return Ok(false) };
        let group = self.metadata.row_group(window.row_group);
        self.columns.enter(group)?;
        self.row_group = Some(window.row_group);
        self.rows = group.num_rows().unsigned_abs();
        self.row = 0;
        Ok(true)
    }

    /// All rows of the row group have been read; false where there was none.
    fn leaves_group(&mut self) -> bool {
        let Some(row_group) = self.row_group.take() else { return false };
        if self.upcoming.as_ref().is_none_or(|window| window.row_group == row_group) {
            self.windows.leave(row_group);
            self.upcoming = self.windows.next(Vec::new());
        }
        true
    }

    fn ask(&mut self) -> Result<RowStep, IndexError> {
        if self.asked.is_none() {
            let next =
                self.upcoming.take().filter(|window| Some(window.row_group) == self.row_group);
            self.asked = next;
        }
        match &self.asked {
            Some(window) => Ok(RowStep::Need(window.ranges.clone())),
            None => {
                let what = format!("{} rows of {} in a row group", self.row, self.rows);
                Err(IndexError::Corrupt(what))
            }
        }
    }

    /// Looks at the rows that are here.
    fn look_at(&mut self, end: u64) -> Result<(), IndexError> {
        if self.row == 0 {
            self.counts.row_groups_read += 1;
        }
        while self.row < end && self.ready.len() < ENOUGH_CAPTURES {
            let found = self.columns.find_root(self.row, end)?;
            let passed = found.unwrap_or(end) - self.row;
            self.counts.rows += passed;
            self.counts.not_home_pages += passed;
            self.row += passed;
            if found.is_none() {
                break;
            }
            let verdict = judge(&mut self.columns, self.row)?;
            self.row += 1;
            self.counts.rows += 1;
            match verdict {
                Verdict::NotHomePage => self.counts.not_home_pages += 1,
                Verdict::Malformed => {
                    self.counts.home_pages += 1;
                    self.counts.malformed += 1;
                }
                Verdict::HomePage(capture) => {
                    self.counts.home_pages += 1;
                    if let Some(done) = self.dedup.push(capture) {
                        self.give(done);
                    }
                    if self.remaining == 0 {
                        self.stop();
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Hands on the captures of a site that is complete, as far as the limit allows.
    fn give(&mut self, mut captures: Vec<Capture>) {
        if captures.is_empty() {
            return;
        }
        if matches!(self.head, Head::Expected) {
            self.head = Head::Held(captures);
            return;
        }
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
            Head::Held(captures) => captures.len(),
            Head::None | Head::Expected => 0,
        };
        self.counts.beyond_limit += (held_back + self.dedup.take().len()) as u64;
    }

    /// Every row group has been read: gives what is held, the head's captures among it.
    fn finish(&mut self) {
        self.is_finished = true;
        if let Head::Held(head) = std::mem::replace(&mut self.head, Head::None) {
            for capture in head {
                if let Some(done) = self.dedup.push(capture) {
                    self.give(done);
                }
            }
        }
        let last = self.dedup.take();
        self.give(last);
    }
}
