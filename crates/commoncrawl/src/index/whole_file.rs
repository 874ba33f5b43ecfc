//! An index file that is in memory as a whole: captures as an iterator.
//!
//! For tests and `inspect`; a worker uses [`IndexReader`] and never holds a whole file.

use std::ops::Range;

use bytes::Bytes;

use super::{Capture, IndexCounts, IndexError, IndexOptions, IndexReader, Step};

/// Reads `file`, a whole parquet file.
pub fn read_bytes(file: &Bytes, options: IndexOptions) -> WholeFile {
    WholeFile {
        reader: IndexReader::new(file.len() as u64, options),
        file: file.clone(),
        ready: Vec::new().into_iter(),
        counts: None,
        has_ended: false,
    }
}

/// The captures of a file in memory; after an error there are no more.
#[derive(Debug)]
pub struct WholeFile {
    reader: IndexReader,
    file: Bytes,
    ready: std::vec::IntoIter<Capture>,
    counts: Option<IndexCounts>,
    has_ended: bool,
}

impl WholeFile {
    /// What became of the rows, once the last capture has been taken.
    pub fn counts(&self) -> Option<IndexCounts> {
        self.counts
    }

    fn slice(&self, range: &Range<u64>) -> Result<Bytes, IndexError> {
        let bounds = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
        match bounds {
            Some((start, end)) if start <= end && end <= self.file.len() => {
                Ok(self.file.slice(start..end))
            }
            _ => Err(IndexError::Truncated(format!("no bytes {}..{}", range.start, range.end))),
        }
    }

    fn advance(&mut self) -> Result<(), IndexError> {
        match self.reader.next()? {
            Step::Need(ranges) => {
                let data =
                    ranges.iter().map(|range| self.slice(range)).collect::<Result<_, _>>()?;
                self.reader.supply(ranges, data)?;
            }
            Step::Captures(captures) => self.ready = captures.into_iter(),
            Step::Done(counts) => {
                self.counts = Some(counts);
                self.has_ended = true;
            }
        }
        Ok(())
    }
}

impl Iterator for WholeFile {
    type Item = Result<Capture, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(capture) = self.ready.next() {
                return Some(Ok(capture));
            }
            if self.has_ended {
                return None;
            }
            if let Err(error) = self.advance() {
                self.has_ended = true;
                return Some(Err(error));
            }
        }
    }
}
