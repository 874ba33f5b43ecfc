//! The columnar index: a parquet file of the crawl to the best capture of each host in it.
//!
//! Owns the conversation with whoever has the bytes: [`IndexReader`] says which ranges of the file
//! it needs, takes them, and gives captures. It reads the needed columns only, a window of a row
//! group at a time, inflates the pages in which a row may pass, and deduplicates in the stream. The
//! parquet crate reads the metadata; pages are read here (docs/decisions/0013-index-reader.md).
//!
//! Invariants: what is held does not grow with the file; [`IndexCounts`] accounts for every row
//! that was looked at; the captures depend on the file and the options alone.
//! Must not know: where the file lies, how many files there are, what becomes of a capture.

mod capture;
mod chunk;
mod column;
mod columns;
mod dedup;
mod error;
mod footer;
mod home_page;
mod hybrid;
mod inflate;
mod page;
pub mod paths;
mod row_groups;
mod rows;
mod thrift;
mod whole_file;
mod windows;

use std::ops::Range;

use bytes::Bytes;

pub use capture::{Capture, Protocol};
pub use error::IndexError;
pub use whole_file::{WholeFile, read_bytes};

use footer::{Footer, FooterStep};
use rows::{RowReader, RowStep};

/// What bounds a read.
#[derive(Debug, Clone)]
pub struct IndexOptions {
    /// Stop after this many captures, reading as few row groups as that takes. `None`: all.
    pub max_captures: Option<u64>,
    /// Stop after this many row groups. `None`: all.
    pub max_row_groups: Option<u64>,
    /// Bytes asked for at the end of the file first, in the hope that all metadata is in them.
    pub first_read_bytes: u64,
    /// A row group whose needed columns take more, compressed or not, is refused. Row groups of
    /// Common Crawl's index have about 128 MB, half of it in the needed columns.
    pub max_row_group_bytes: u64,
    /// Bytes asked for at once, about: a window holds the same share of each needed column.
    pub window_bytes: u64,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self {
            max_captures: None,
            max_row_groups: None,
            first_read_bytes: 256 << 10,
            max_row_group_bytes: 1 << 30,
            window_bytes: 1 << 20,
        }
    }
}

/// What became of the rows that were looked at. `rows = not_home_pages + home_pages` and
/// `home_pages = captures + duplicates_removed + malformed + beyond_limit`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct IndexCounts {
    /// Rows looked at; with a limit, not all of the file's.
    pub rows: u64,
    /// Rows that the filter did not want.
    pub not_home_pages: u64,
    /// Rows that passed the filter.
    pub home_pages: u64,
    /// Captures given.
    pub captures: u64,
    /// Home pages that a better capture of the same host stood beside.
    pub duplicates_removed: u64,
    /// Home pages with a null or impossible value in a column that a capture needs.
    pub malformed: u64,
    /// Home pages held when the limit was reached.
    pub beyond_limit: u64,
    /// Row groups of which rows were looked at.
    pub row_groups_read: u64,
    /// Row groups in the file.
    pub row_groups: u64,
    /// Bytes of rows that were asked for: of the file without its metadata.
    pub row_bytes: u64,
    /// Bytes of the file that were asked for.
    pub bytes_read: u64,
    /// Ranges of the file that were asked for.
    pub ranges_read: u64,
}

impl IndexCounts {
    /// Whether every row is accounted for exactly once.
    pub fn add_up(&self) -> bool {
        let kept = self.captures + self.duplicates_removed + self.malformed + self.beyond_limit;
        self.rows == self.not_home_pages + self.home_pages && self.home_pages == kept
    }
}

/// What the reader wants next, or gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// [`IndexReader::supply`] exactly these byte ranges, then go on.
    Need(Vec<Range<u64>>),
    /// Captures, at least one. A hostname may come again later where the file is not sorted.
    Captures(Vec<Capture>),
    /// The file has been read as far as it will be.
    Done(IndexCounts),
}

/// Reads one index file without doing any I/O.
///
/// Call [`next`](Self::next) until it answers [`Step::Done`] or an error; both are final, and
/// further calls answer the same.
#[derive(Debug)]
pub struct IndexReader {
    file_size: u64,
    options: IndexOptions,
    bytes_read: u64,
    ranges_read: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Footer(Footer),
    Rows(Box<RowReader>),
    Done(IndexCounts),
    Failed(IndexError),
}

impl IndexReader {
    /// A reader of a file of `file_size` bytes.
    pub fn new(file_size: u64, options: IndexOptions) -> Self {
        let footer = Footer::new(file_size, options.first_read_bytes);
        Self { file_size, options, bytes_read: 0, ranges_read: 0, state: State::Footer(footer) }
    }

    /// Goes on until bytes are needed, captures are there, or the end. Reads the rows of a window
    /// in one call, some ten milliseconds: not for an async executor's thread.
    #[expect(
        clippy::should_implement_trait,
        reason = "not an iterator: a step may ask for bytes before the next can be taken"
    )]
    pub fn next(&mut self) -> Result<Step, IndexError> {
        let step = self.step();
        match &step {
            Ok(Step::Done(counts)) => self.state = State::Done(*counts),
            Err(error) => self.state = State::Failed(error.clone()),
            Ok(_) => {}
        }
        step
    }

    fn step(&mut self) -> Result<Step, IndexError> {
        loop {
            match &mut self.state {
                State::Footer(footer) => match footer.next()? {
                    FooterStep::Need(ranges) => return Ok(Step::Need(ranges)),
                    FooterStep::Metadata(metadata) => {
                        let rows = RowReader::new(*metadata, self.file_size, &self.options)?;
                        self.state = State::Rows(Box::new(rows));
                    }
                },
                State::Rows(rows) => {
                    return Ok(match rows.next()? {
                        RowStep::Need(ranges) => Step::Need(ranges),
                        RowStep::Captures(captures) => Step::Captures(captures),
                        RowStep::Done(counts) => Step::Done(self.with_reads(counts)),
                    });
                }
                State::Done(counts) => return Ok(Step::Done(*counts)),
                State::Failed(error) => return Err(error.clone()),
            }
        }
    }

    /// The ranges that will be asked for after those that are asked for now, where that is sure
    /// already: who fetches them while rows are read does not wait for them. May be empty.
    pub fn upcoming(&self) -> Vec<Range<u64>> {
        match &self.state {
            State::Rows(rows) => rows.upcoming(),
            State::Footer(_) | State::Done(_) | State::Failed(_) => Vec::new(),
        }
    }

    /// What has become of the rows so far.
    pub fn counts(&self) -> IndexCounts {
        match &self.state {
            State::Rows(rows) => self.with_reads(rows.counts()),
            State::Done(counts) => *counts,
            State::Footer(_) | State::Failed(_) => self.with_reads(IndexCounts::default()),
        }
    }

    fn with_reads(&self, counts: IndexCounts) -> IndexCounts {
        IndexCounts { bytes_read: self.bytes_read, ranges_read: self.ranges_read, ..counts }
    }

    /// Hands over the bytes of the ranges that [`Step::Need`] named, in the same order.
    pub fn supply(&mut self, ranges: Vec<Range<u64>>, data: Vec<Bytes>) -> Result<(), IndexError> {
        if ranges.len() != data.len() {
            let what = format!("{} pieces for {} ranges", data.len(), ranges.len());
            return Err(IndexError::WrongSupply(what));
        }
        for (range, bytes) in ranges.iter().zip(&data) {
            let wanted = range.end.saturating_sub(range.start);
            if bytes.len() as u64 != wanted {
                let what = format!(
                    "{} bytes for the {wanted} bytes from {} to {}",
                    bytes.len(),
                    range.start,
                    range.end
                );
                return Err(IndexError::WrongSupply(what));
            }
            self.bytes_read = self.bytes_read.saturating_add(wanted);
            self.ranges_read += 1;
        }
        match &mut self.state {
            State::Footer(footer) => ranges
                .into_iter()
                .zip(data)
                .try_for_each(|(range, data)| footer.supply(range, data)),
            State::Rows(rows) => rows.supply(&ranges, &data),
            State::Done(_) | State::Failed(_) => Ok(()),
        }
    }
}
