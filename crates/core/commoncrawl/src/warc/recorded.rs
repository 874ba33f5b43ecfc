//! Reads the record at a stored position, and checks that it is the expected one.

use sha2::{Digest as _, Sha256};

use super::{
    http::{HttpResponse, split_head},
    limits::Limits,
    member::read_record,
    record::RecordType,
};

/// Why the record at a position is not the expected one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordMismatch {
    /// The bytes do not contain a record with an HTTP response.
    #[error("the bytes are not a WARC record: {0}")]
    NoRecord(String),
    /// The record has this type, which is not a response.
    #[error("the record is not a response: {0:?}")]
    NoResponse(RecordType),
    /// The record belongs to another URL.
    #[error("the record belongs to another URL")]
    OtherUrl,
    /// The body has another digest.
    #[error("the body has another digest")]
    OtherBody,
}

/// Reads the HTTP response in the first record of `bytes`, and checks the SHA-256 digest of its
/// stored body. `is_expected` checks the record's URL.
///
/// # Errors
/// Returns an error if the bytes do not start with the expected record.
pub fn read_recorded(
    bytes: &[u8],
    limits: Limits,
    is_expected: impl FnOnce(&str) -> bool,
    sha256: &[u8],
) -> Result<HttpResponse, RecordMismatch> {
    let no_record = |error: &dyn ToString| RecordMismatch::NoRecord(error.to_string());
    let record = read_record(bytes, limits).map_err(|error| no_record(&error))?;
    if record.record_type != RecordType::Response {
        return Err(RecordMismatch::NoResponse(record.record_type));
    }
    if !is_expected(record.target_uri().as_deref().unwrap_or_default()) {
        return Err(RecordMismatch::OtherUrl);
    }
    let (_, payload) = split_head(&record.block);
    if Sha256::digest(payload).as_slice() != sha256 {
        return Err(RecordMismatch::OtherBody);
    }
    record.http_response().map_err(|error| no_record(&error))
}
