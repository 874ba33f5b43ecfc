//! WARC archives (ISO 28500, WARC 1.0 and 1.1): reads records ([`read_record`], [`Records`]) and
//! the HTTP message in a record ([`Record::http_response`]), and writes archives ([`write`]).
//!
//! Invariants: no input causes a panic; [`Limits`] bounds one record's memory; a record that cannot
//! be read is an error item and is never skipped silently. This module does not depend on where an
//! archive is stored, or on HTML.

mod coding;
mod error;
mod headers;
mod http;
mod limits;
mod member;
mod record;
mod recorded;
mod records;
pub mod write;

pub use error::WarcError;
pub use headers::Headers;
pub use http::{HttpError, HttpResponse};
pub use limits::Limits;
pub use member::read_record;
pub use record::{Record, RecordType, Truncation};
pub use recorded::{RecordMismatch, read_recorded};
pub use records::Records;
