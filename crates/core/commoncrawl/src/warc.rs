//! Reads and writes WARC archives (ISO 28500, WARC 1.0 and 1.1).

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
