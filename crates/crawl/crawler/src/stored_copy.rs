//! Reads a page's copy from an earlier crawl. An unchanged page is parsed from this copy, so that
//! its links, its text and the filters' decisions are those of a received page.

use everytab_commoncrawl::warc::{HttpResponse, Limits, RecordMismatch, read_recorded};
use everytab_coordinator::EarlierFetch;
use everytab_storage::{StorageError, StorageErrorKind, Store};

/// Maximum length of a record's gzip member, in bytes: the maximum page and some overhead.
const MAX_RECORD_BYTES: u64 = 20 << 20;
/// Maximum length of a record's block after decompression, in bytes: the maximum page and its head.
const MAX_BLOCK_BYTES: u64 = 18 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum StoredCopyError {
    #[error(transparent)]
    Store(#[from] StorageError),
    #[error("the crawl has no store")]
    NoStore,
    #[error("the fetch has no valid record location")]
    BadLocation,
    #[error(transparent)]
    Mismatch(#[from] RecordMismatch),
}

impl StoredCopyError {
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Store(error) if error.kind() == StorageErrorKind::Unreachable)
    }
}

/// Reads the stored response that has an earlier fetch's body.
///
/// # Errors
/// Returns an error if the row has no valid record location, if the store does not return the
/// record, or if the record is not the expected one.
pub(crate) async fn read_copy(
    store: &dyn Store,
    copy: &EarlierFetch,
) -> Result<HttpResponse, StoredCopyError> {
    let place = u64::try_from(copy.body_offset).ok().zip(u64::try_from(copy.body_length).ok());
    let (offset, length) = place
        .filter(|(_, length)| (1..=MAX_RECORD_BYTES).contains(length))
        .ok_or(StoredCopyError::BadLocation)?;
    let range = offset..offset.saturating_add(length);
    let member = store.get_range(&copy.body_object, range).await?;
    let limits = Limits { max_block_bytes: MAX_BLOCK_BYTES, ..Limits::default() };
    // Accept any URL, because the record may belong to another URL of the earlier crawl with the
    // same body.
    Ok(read_recorded(&member, limits, |_| true, &copy.sha256)?)
}
