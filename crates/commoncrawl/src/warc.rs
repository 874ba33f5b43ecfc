//! WARC archives (ISO 28500, WARC 1.0 and 1.1): records in ([`read_record`], [`Records`]), the HTTP
//! message in a record ([`Record::http_response`]), and archives out ([`write`]).
//!
//! Invariants: no input panics; what one record may take in memory is bounded by [`Limits`]; a
//! record that cannot be read is an error item, never left out in silence.
//! Must not know: where an archive lies, what HTML is.

mod coding;
mod error;
mod headers;
mod http;
mod member;
mod record;
mod records;
pub mod write;

pub use error::WarcError;
pub use headers::Headers;
pub use http::{HttpError, HttpResponse};
pub use member::read_record;
pub use record::{Record, RecordType, Truncation};
pub use records::Records;

/// What one record may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a record's block that are kept; the rest is dropped and the record marked.
    /// Common Crawl cuts payloads at 5 MiB (1 MiB until 2025).
    pub max_block_bytes: u64,
    /// Bytes of a record's own header.
    pub max_header_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_block_bytes: 6 << 20, max_header_bytes: 256 << 10 }
    }
}
