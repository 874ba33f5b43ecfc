//! The record in an archive, and whether it is the one that was recorded.

use bytes::Bytes;
use everytab_commoncrawl::warc::{HttpResponse, Limits, RecordType, read_record};
use everytab_coordinator::ApiFetch;
use sha2::{Digest as _, Sha256};
use url::Url;

/// Longest gzip member of a record that is read: a requisite has up to 32 MiB, and what does not
/// compress grows a little.
pub(crate) const MAX_RECORD_BYTES: u64 = 40 << 20;

/// Longest block of a record after inflating: the longest body and its head.
const MAX_BLOCK_BYTES: u64 = 34 << 20;

/// How the record in a place differs from the one that was recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecordMismatch {
    /// The bytes are no record.
    #[error("the bytes are no record: {0}")]
    NoRecord(String),
    /// The record is of another type.
    #[error("the record is no response: {0:?}")]
    NoResponse(RecordType),
    /// The record is of another URL.
    #[error("the record is of another URL")]
    OtherUrl,
    /// The body has another digest.
    #[error("the body has another digest")]
    OtherBody,
}

/// A record that is the one that was recorded.
#[derive(Debug)]
pub(crate) struct ArchivedRecord {
    /// The gzip member as it is stored.
    pub(super) member: Bytes,
    /// The answer, whose body is as it is kept.
    pub(super) response: HttpResponse,
}

impl ArchivedRecord {
    /// Reads a record. Where it is not the capture's own, another URL may have the same body.
    ///
    /// # Errors
    /// When it is not what the row says.
    pub(crate) fn read(
        member: Bytes,
        fetch: &ApiFetch,
        is_own: bool,
    ) -> Result<Self, RecordMismatch> {
        let limits = Limits { max_block_bytes: MAX_BLOCK_BYTES, ..Limits::default() };
        let no_record = |error: &dyn ToString| RecordMismatch::NoRecord(error.to_string());
        let record = read_record(&member, limits).map_err(|error| no_record(&error))?;
        if record.record_type != RecordType::Response {
            return Err(RecordMismatch::NoResponse(record.record_type));
        }
        let (found, expected) = (record.target_uri(), fetch.url.as_deref());
        if is_own && !is_same_url(found.as_deref().unwrap_or_default(), expected) {
            return Err(RecordMismatch::OtherUrl);
        }
        let response = record.http_response().map_err(|error| no_record(&error))?;
        let digest = Sha256::digest(&response.body);
        if fetch.sha256.as_deref() != Some(digest.as_slice()) {
            return Err(RecordMismatch::OtherBody);
        }
        Ok(Self { member, response })
    }
}

/// Compares as URLs: the row has the URL as it was found, the record as it was asked for.
fn is_same_url(found: &str, expected: Option<&str>) -> bool {
    let parsed = |text: &str| {
        let mut url = Url::parse(text).ok()?;
        url.set_fragment(None);
        Some(url)
    };
    let Some(expected) = expected else { return false };
    found == expected || parsed(found).is_some_and(|url| Some(url) == parsed(expected))
}
