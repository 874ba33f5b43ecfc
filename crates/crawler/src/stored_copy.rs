//! Reads the copy of a page that an earlier crawl stored: a page that has not changed is read like
//! one that came, so that its links, its text and what filters say of it are the same.
//!
//! Must not know: when a copy is read, requests.

use everytab_commoncrawl::warc::{HttpResponse, Limits, RecordType, read_record};
use everytab_coordinator::EarlierFetch;
use everytab_storage::{StorageError, StorageErrorKind, Store};
use sha2::{Digest as _, Sha256};

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
    /// What is there is not the copy.
    #[error("{0}")]
    Other(String),
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
        .ok_or_else(|| NoCopy::Other("the row names no place of a record".to_owned()))?;
    let range = offset..offset.saturating_add(length);
    let member = store.get_range(&copy.body_object, range).await?;
    let other = |reason: &dyn ToString| NoCopy::Other(reason.to_string());
    let limits = Limits { max_block_bytes: MAX_BLOCK_BYTES, ..Limits::default() };
    let record = read_record(&member, limits).map_err(|error| other(&error))?;
    if record.record_type != RecordType::Response {
        return Err(other(&"the record is no response"));
    }
    let response = record.http_response().map_err(|error| other(&error))?;
    let digest: [u8; 32] = Sha256::digest(&response.body).into();
    if digest == copy.sha256 { Ok(response) } else { Err(other(&"the body has another digest")) }
}
