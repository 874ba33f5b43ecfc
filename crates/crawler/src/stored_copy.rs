//! Reads the copy of a page that an earlier crawl stored: a page that has not changed is read like
//! one that came, so that its links, its text and what filters say of it are the same.
//!
//! Must not know: when a copy is read, requests.

use everytab_commoncrawl::warc::{HttpResponse, Limits, RecordMismatch, read_recorded};
use everytab_coordinator::EarlierFetch;
use everytab_storage::{StorageError, StorageErrorKind, Store};

/// Longest gzip member of a record that is read: the longest page, and what does not compress
/// grows a little.
const MAX_RECORD_BYTES: u64 = 20 << 20;
/// Longest block of a record after inflating: the longest page and its head.
const MAX_BLOCK_BYTES: u64 = 18 << 20;

/// Why a copy cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoCopy {
    /// The store does not give it.
    #[error(transparent)]
    Store(#[from] StorageError),
    /// The crawl has no store.
    #[error("the crawl has no store")]
    NoStore,
    /// The row has a place that cannot be one.
    #[error("the row names no place of a record")]
    NoPlace,
    /// Another record is in its place, or none.
    #[error(transparent)]
    Mismatch(#[from] RecordMismatch),
}

impl NoCopy {
    /// Whether another try may help.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Store(error) if error.kind() == StorageErrorKind::Unreachable)
    }
}

/// Reads the answer that has the body of an earlier fetch.
///
/// # Errors
/// When the store does not give it, or it is not the body that was recorded.
pub(crate) async fn read_copy(
    store: &dyn Store,
    copy: &EarlierFetch,
) -> Result<HttpResponse, NoCopy> {
    let place = u64::try_from(copy.body_offset).ok().zip(u64::try_from(copy.body_length).ok());
    let (offset, length) = place
        .filter(|(_, length)| (1..=MAX_RECORD_BYTES).contains(length))
        .ok_or(NoCopy::NoPlace)?;
    let range = offset..offset.saturating_add(length);
    let member = store.get_range(&copy.body_object, range).await?;
    let limits = Limits { max_block_bytes: MAX_BLOCK_BYTES, ..Limits::default() };
    // Another URL of the earlier crawl may have had the same body.
    Ok(read_recorded(&member, limits, |_| true, &copy.sha256)?)
}
