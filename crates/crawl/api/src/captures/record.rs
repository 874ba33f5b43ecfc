//! Reads an archived record, and checks that it is the expected one.

use bytes::Bytes;
use everytab_commoncrawl::warc::{HttpResponse, Limits, RecordMismatch, read_recorded};
use everytab_coordinator::ApiFetch;
use url::Url;

/// Maximum size of a record's gzip member. A requisite has up to 32 MiB, and gzip makes
/// incompressible data slightly larger.
pub(crate) const MAX_RECORD_BYTES: u64 = 40 << 20;

/// Maximum size of a record's block after decompression: the largest body and its head.
const MAX_BLOCK_BYTES: u64 = 34 << 20;

#[derive(Debug)]
pub(crate) struct ArchivedRecord {
    pub(super) member: Bytes,
    pub(super) response: HttpResponse,
}

impl ArchivedRecord {
    /// If the record is not the capture's own, it may belong to another URL with the same body.
    ///
    /// # Errors
    /// Returns an error if the record does not match the row.
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

/// Compares parsed URLs without fragments, because the row has the URL as found, and the record has
/// the URL as requested.
fn is_same_url(found: &str, expected: Option<&str>) -> bool {
    let parsed = |text: &str| {
        let mut url = Url::parse(text).ok()?;
        url.set_fragment(None);
        Some(url)
    };
    let Some(expected) = expected else { return false };
    found == expected || parsed(found).is_some_and(|url| Some(url) == parsed(expected))
}
