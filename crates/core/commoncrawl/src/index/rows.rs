//! Reads rows from byte windows, and returns captures up to the limit.
//!
//! If reading starts in the middle of the file, the first site's captures are held until the end,
//! because rows before the start may contain better ones.

use std::{net::IpAddr, ops::Range, sync::Arc};

use bytes::Bytes;
use parquet::file::metadata::ParquetMetaData;

use super::{
    capture::Capture,
    columns::Columns,
    counts::IndexCounts,
    dedup::Deduplicator,
    error::IndexError,
    formats::Formats,
    home_page::{RowVerdict, judge},
    options::IndexOptions,
    row_groups,
    windows::{Window, Windows},
};

/// Return captures before reading further rows once this many are ready, which bounds the memory.
const ENOUGH_CAPTURES: usize = 1_000;

pub(super) enum RowStep {
    Need(Vec<Range<u64>>),
    Captures(Vec<Capture>),
    Done(IndexCounts),
}

#[derive(Debug)]
enum FirstSite {
    /// Reading started at the beginning, or the captures have been returned or dropped.
    None,
    /// The first site has not been read completely.
    Expected,
    /// The captures are held until the end.
    Held(Vec<Capture>),
}

#[derive(Debug)]
pub(super) struct RowReader {
    metadata: Arc<ParquetMetaData>,
    columns: Columns,
    formats: Formats,
    windows: Windows,
    needed: Option<Window>,
    /// The next window to request.
    upcoming: Option<Window>,
    row_group: Option<usize>,
    rows: u64,
    row: u64,
    dedup: Deduplicator,
    first_site: FirstSite,
    ready: Vec<Capture>,
    remaining: u64,
    has_limit: bool,
    is_finished: bool,
    is_public_address: fn(IpAddr) -> bool,
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
        let formats = columns.formats(&metadata)?;
        row_groups::check(&metadata, &leaves, file_size, options.max_row_group_bytes)?;
        let has_limit = options.max_captures.is_some();
        // The first needed column contains the hostname.
        let hostname_leaf = leaves.first().copied().filter(|_| has_limit);
        let mut order = row_groups::reading_order(&metadata, hostname_leaf);
        let most = options.max_row_groups.unwrap_or(u64::MAX);
        order.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        let first_site = match order.first() {
            None | Some(0) => FirstSite::None,
            Some(_) => FirstSite::Expected,
        };
        let mut windows = Windows::new(Arc::clone(&metadata), leaves, order, options.window_bytes);
        let upcoming = windows.next(Vec::new());
        let row_groups = metadata.num_row_groups() as u64;
        Ok(Self {
            metadata,
            columns,
            formats,
            windows,
            needed: None,
            upcoming,
            row_group: None,
            rows: 0,
            row: 0,
            dedup: Deduplicator::default(),
            first_site,
            ready: Vec::new(),
            remaining: options.max_captures.unwrap_or(u64::MAX),
            has_limit,
            is_finished: options.max_captures == Some(0),
            is_public_address: options.is_public_address,
            counts: IndexCounts { row_groups, ..IndexCounts::default() },
        })
    }

    pub(super) fn formats(&self) -> &Formats {
        &self.formats
    }

    pub(super) fn counts(&self) -> IndexCounts {
        IndexCounts { duplicates_removed: self.dedup.duplicates_removed(), ..self.counts }
    }

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
        let Some(window) = self.needed.take().filter(|window| window.ranges == ranges) else {
            return Err(IndexError::WrongSupply("ranges that were not requested".into()));
        };
        self.counts.row_bytes += data.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
        for (number, piece, index) in window.pieces {
            let Some(range) = data.get(number).filter(|range| piece.end <= range.len()) else {
                return Err(IndexError::WrongSupply("a truncated range".into()));
            };
            self.columns.push(index, range.slice(piece))?;
        }
        self.upcoming = self.windows.next(self.columns.progress());
        Ok(())
    }

    pub(super) fn next(&mut self) -> Result<RowStep, IndexError> {
        while !self.is_finished && self.ready.len() < ENOUGH_CAPTURES {
            let end = self.columns.rows_here();
            if self.row_group.is_some() && self.row < end {
                self.read_rows(end)?;
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

    fn enters_next(&mut self) -> Result<bool, IndexError> {
        let Some(window) = &self.upcoming else { return Ok(false) };
        let group = self.metadata.row_group(window.row_group);
        self.columns.enter(group)?;
        self.row_group = Some(window.row_group);
        self.rows = group.num_rows().unsigned_abs();
        self.row = 0;
        Ok(true)
    }

    fn leaves_group(&mut self) -> bool {
        let Some(row_group) = self.row_group.take() else { return false };
        if self.upcoming.as_ref().is_none_or(|window| window.row_group == row_group) {
            self.windows.leave(row_group);
            self.upcoming = self.windows.next(Vec::new());
        }
        true
    }

    fn ask(&mut self) -> Result<RowStep, IndexError> {
        if self.needed.is_none() {
            let next =
                self.upcoming.take().filter(|window| Some(window.row_group) == self.row_group);
            self.needed = next;
        }
        match &self.needed {
            Some(window) => Ok(RowStep::Need(window.ranges.clone())),
            None => {
                let what = format!("only {} of {} rows in a row group", self.row, self.rows);
                Err(IndexError::Corrupt(what))
            }
        }
    }

    fn read_rows(&mut self, end: u64) -> Result<(), IndexError> {
        if self.row == 0 {
            self.counts.row_groups_read += 1;
        }
        while self.row < end && self.ready.len() < ENOUGH_CAPTURES {
            let found = self.columns.find_root(self.row, end)?;
            let passed = found.map_or(end, |(row, _)| row) - self.row;
            self.counts.rows += passed;
            self.counts.not_home_pages += passed;
            self.row += passed;
            let Some((_, path_is_empty)) = found else { break };
            let accepts = self.is_public_address;
            let verdict = judge(&mut self.columns, self.row, path_is_empty, accepts)?;
            self.row += 1;
            self.counts.rows += 1;
            match verdict {
                RowVerdict::NotHomePage(reason) => {
                    self.counts.not_home_pages += 1;
                    reason.into_iter().for_each(|reason| self.counts.leave_out(reason));
                }
                RowVerdict::Malformed(reason) => {
                    self.counts.home_pages += 1;
                    self.counts.malformed += 1;
                    reason.into_iter().for_each(|reason| self.counts.refuse(reason));
                }
                RowVerdict::HomePage(capture) => {
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

    /// Holds the first site's captures if they may be incomplete.
    fn give(&mut self, mut captures: Vec<Capture>) {
        if captures.is_empty() {
            return;
        }
        if matches!(self.first_site, FirstSite::Expected) {
            self.first_site = FirstSite::Held(captures);
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

    fn stop(&mut self) {
        self.is_finished = true;
        let held_back = match std::mem::replace(&mut self.first_site, FirstSite::None) {
            FirstSite::Held(captures) => captures.len(),
            FirstSite::None | FirstSite::Expected => 0,
        };
        self.counts.beyond_limit += (held_back + self.dedup.take().len()) as u64;
    }

    fn finish(&mut self) {
        self.is_finished = true;
        if let FirstSite::Held(held) = std::mem::replace(&mut self.first_site, FirstSite::None) {
            for capture in held {
                if let Some(done) = self.dedup.push(capture) {
                    self.give(done);
                }
            }
        }
        let last = self.dedup.take();
        self.give(last);
    }
}
