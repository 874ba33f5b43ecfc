//! Reads an index file from a store, and fetches the next window while the current one is parsed.

use std::ops::Range;

use bytes::Bytes;
use everytab_commoncrawl::index::{
    Capture, Formats, IndexCounts, IndexError, IndexOptions, IndexReader, Step,
};
use everytab_storage::{StorageError, Store};
use everytab_webpage::address::is_public;
use futures_util::{StreamExt, TryStreamExt, stream};

/// Byte ranges in an index file that are requested concurrently. A source that limits connections
/// (the HTTPS mirror allows 50) still has room for four index jobs.
const CONCURRENT_RANGES: usize = 8;

/// Returns the options for reading all captures on public hosts from a file.
pub fn index_options() -> IndexOptions {
    IndexOptions { is_public_address: is_public, ..IndexOptions::default() }
}

/// Why an index file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum IndexFileError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StorageError),
    /// The file is not a valid index file. This is permanent, because its bytes will not change.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The runtime is being shut down.
    #[error("a blocking task ended early: {0}")]
    Ended(#[from] tokio::task::JoinError),
}

/// An index file being read.
#[derive(Debug)]
pub struct IndexFile<'a> {
    store: &'a dyn Store,
    path: &'a str,
    /// `None` after an error.
    reader: Option<IndexReader>,
    ahead: (Vec<Range<u64>>, Vec<Bytes>),
    counts: IndexCounts,
    formats: Option<Formats>,
}

impl<'a> IndexFile<'a> {
    /// Creates a reader for the file at `path`, which has `size` bytes.
    pub fn new(store: &'a dyn Store, path: &'a str, size: u64, options: IndexOptions) -> Self {
        let reader = IndexReader::new(size, options);
        Self {
            store,
            path,
            counts: reader.counts(),
            reader: Some(reader),
            ahead: Default::default(),
            formats: None,
        }
    }

    /// Returns the counts of rows so far.
    pub fn counts(&self) -> IndexCounts {
        self.counts
    }

    /// Returns how the needed columns are encoded. `None` until the file's metadata has been read.
    pub fn formats(&self) -> Option<&Formats> {
        self.formats.as_ref()
    }

    /// Returns the next captures. The result is empty only at the end and after an error.
    pub async fn next(&mut self) -> Result<Vec<Capture>, IndexFileError> {
        while let Some(mut reader) = self.reader.take() {
            let upcoming = reader.upcoming();
            let stepping = tokio::task::spawn_blocking(move || {
                let step = reader.next();
                (reader, step)
            });
            let (stepped, ahead) = if self.ahead.0 == upcoming {
                (stepping.await, Ok(None))
            } else {
                let fetching = fetch(self.store, self.path, &upcoming);
                let (stepped, ahead) = tokio::join!(stepping, fetching);
                (stepped, ahead.map(|data| Some((upcoming, data))))
            };
            let (mut reader, step) = stepped?;
            if let Some(ahead) = ahead? {
                self.ahead = ahead;
            }
            self.counts = reader.counts();
            if self.formats.is_none() {
                self.formats = reader.formats().cloned();
            }
            match step? {
                Step::Need(ranges) => {
                    let data = if self.ahead.0 == ranges {
                        std::mem::take(&mut self.ahead).1
                    } else {
                        fetch(self.store, self.path, &ranges).await?
                    };
                    reader.supply(ranges, data)?;
                    self.reader = Some(reader);
                }
                Step::Captures(captures) => {
                    self.reader = Some(reader);
                    return Ok(captures);
                }
                Step::Done(_) => {}
            }
        }
        Ok(Vec::new())
    }
}

async fn fetch(
    store: &dyn Store,
    path: &str,
    ranges: &[Range<u64>],
) -> Result<Vec<Bytes>, StorageError> {
    let reads: Vec<_> = ranges.iter().map(|range| store.get_range(path, range.clone())).collect();
    stream::iter(reads).buffered(CONCURRENT_RANGES).try_collect().await
}
