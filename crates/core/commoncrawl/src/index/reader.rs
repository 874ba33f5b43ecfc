//! Reads one index file: requests the byte ranges that it needs next, and returns captures.

use std::ops::Range;

use bytes::Bytes;

use super::{
    capture::Capture,
    counts::IndexCounts,
    error::IndexError,
    footer::{Footer, FooterStep},
    formats::Formats,
    options::IndexOptions,
    rows::{RowReader, RowStep},
};

/// What [`IndexReader::next`] returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Exactly these byte ranges are needed next. Pass their bytes to [`IndexReader::supply`], then
    /// call [`IndexReader::next`] again.
    Need(Vec<Range<u64>>),
    /// At least one capture. If this file is not sorted, a hostname may be returned again later.
    Captures(Vec<Capture>),
    /// This file has been read.
    Done(IndexCounts),
}

/// Reads one index file from bytes that the caller supplies. Call [`next`](Self::next) until it
/// returns [`Step::Done`] or an error.
#[derive(Debug)]
pub struct IndexReader {
    file_size: u64,
    options: IndexOptions,
    bytes_read: u64,
    ranges_read: u64,
    formats: Option<Formats>,
    state: ReaderState,
}

#[derive(Debug)]
enum ReaderState {
    Footer(Footer),
    Rows(Box<RowReader>),
    Done(IndexCounts),
    Failed(IndexError),
}

impl IndexReader {
    /// Creates a reader for a file with `file_size` bytes.
    pub fn new(file_size: u64, options: IndexOptions) -> Self {
        let footer = Footer::new(file_size, options.first_read_bytes);
        Self {
            file_size,
            options,
            bytes_read: 0,
            ranges_read: 0,
            formats: None,
            state: ReaderState::Footer(footer),
        }
    }

    /// Reads until bytes are needed, captures are ready, or the file ends. A call may take about
    /// ten milliseconds.
    ///
    /// # Errors
    /// Returns any [`IndexError`] except `WrongSupply`.
    #[expect(
        clippy::should_implement_trait,
        reason = "not an iterator: a step may ask for bytes before the next can be taken"
    )]
    pub fn next(&mut self) -> Result<Step, IndexError> {
        let step = self.step();
        match &step {
            Ok(Step::Done(counts)) => self.state = ReaderState::Done(*counts),
            Err(error) => self.state = ReaderState::Failed(error.clone()),
            Ok(_) => {}
        }
        step
    }

    fn step(&mut self) -> Result<Step, IndexError> {
        loop {
            match &mut self.state {
                ReaderState::Footer(footer) => match footer.next()? {
                    FooterStep::Need(ranges) => return Ok(Step::Need(ranges)),
                    FooterStep::Metadata(metadata) => {
                        let rows = RowReader::new(*metadata, self.file_size, &self.options)?;
                        self.formats = Some(rows.formats().clone());
                        self.state = ReaderState::Rows(Box::new(rows));
                    }
                },
                ReaderState::Rows(rows) => {
                    return Ok(match rows.next()? {
                        RowStep::Need(ranges) => Step::Need(ranges),
                        RowStep::Captures(captures) => Step::Captures(captures),
                        RowStep::Done(counts) => Step::Done(self.with_reads(counts)),
                    });
                }
                ReaderState::Done(counts) => return Ok(Step::Done(*counts)),
                ReaderState::Failed(error) => return Err(error.clone()),
            }
        }
    }

    /// Returns the byte ranges that will probably be needed next. This is empty if captures are
    /// limited, because reading may then stop early.
    pub fn upcoming(&self) -> Vec<Range<u64>> {
        match &self.state {
            ReaderState::Rows(rows) => rows.upcoming(),
            ReaderState::Footer(_) | ReaderState::Done(_) | ReaderState::Failed(_) => Vec::new(),
        }
    }

    /// Returns how the needed columns are stored. `None` until the metadata have been read.
    pub fn formats(&self) -> Option<&Formats> {
        self.formats.as_ref()
    }

    /// Returns the counts so far. After an error, only bytes and ranges are counted.
    pub fn counts(&self) -> IndexCounts {
        match &self.state {
            ReaderState::Rows(rows) => self.with_reads(rows.counts()),
            ReaderState::Done(counts) => *counts,
            ReaderState::Footer(_) | ReaderState::Failed(_) => {
                self.with_reads(IndexCounts::default())
            }
        }
    }

    fn with_reads(&self, counts: IndexCounts) -> IndexCounts {
        IndexCounts { bytes_read: self.bytes_read, ranges_read: self.ranges_read, ..counts }
    }

    /// Accepts the bytes for the ranges in [`Step::Need`], in the same order.
    ///
    /// # Errors
    /// Returns an error if the bytes do not match the ranges, or are invalid.
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
            ReaderState::Footer(footer) => ranges
                .into_iter()
                .zip(data)
                .try_for_each(|(range, data)| footer.supply(range, data)),
            ReaderState::Rows(rows) => rows.supply(&ranges, &data),
            ReaderState::Done(_) | ReaderState::Failed(_) => Ok(()),
        }
    }
}
