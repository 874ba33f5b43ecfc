//! The record in an archive, and whether it is the one that was recorded.

use bytes::Bytes;
use everytab_commoncrawl::warc::{HttpResponse, Limits, RecordMismatch, read_recorded};
use everytab_coordinator::ApiFetch;
use url::Url;

/// Longest gzip member of a record that is read: a requisite has up to 32 MiB, and what does not
/// compress grows a little.
pub(crate) const MAX_RECORD_BYTES: u64 = 40 << 20;

/// Longest block of a record after inflating: the longest body and its head.
const MAX_BLOCK_BYTES: u64 = 34 << 20;

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
        let is_expected = |found: &str| !is_own || is_same_url(found, fetch.url.as_deref());
        let sha256 = fetch.sha256.as_deref().unwrap_or_default();
        let response = read_recorded(&member, limits, is_expected, sha256)?;
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
