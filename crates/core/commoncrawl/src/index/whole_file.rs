//! Reads an index file that is completely in memory.

use std::ops::Range;

use bytes::Bytes;

use super::{
    capture::Capture,
    counts::IndexCounts,
    error::IndexError,
    options::IndexOptions,
    reader::{IndexReader, Step},
};

/// Returns an iterator over the captures in `file`, a complete parquet file.
pub fn read_bytes(file: &Bytes, options: IndexOptions) -> WholeFile {
    WholeFile {
        reader: IndexReader::new(file.len() as u64, options),
        file: file.clone(),
        ready: Vec::new().into_iter(),
        counts: None,
        has_ended: false,
    }
}

/// Iterates over the captures in a file in memory. This iterator ends after an error.
#[derive(Debug)]
pub struct WholeFile {
    reader: IndexReader,
    file: Bytes,
    ready: std::vec::IntoIter<Capture>,
    counts: Option<IndexCounts>,
    has_ended: bool,
}

impl WholeFile {
    /// Returns the row counts. `None` until the last capture has been returned.
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
