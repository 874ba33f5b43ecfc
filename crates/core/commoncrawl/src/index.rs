//! The columnar index: finds the best capture of each host in a parquet file of the crawl, and
//! writes such files for a live crawl ([`write`](mod@write)).
//!
//! [`IndexReader`] does no I/O: it returns the byte ranges that it needs, the caller supplies their
//! bytes, and the reader returns captures. It reads only the needed columns, one window of a row
//! group at a time. It inflates a page only if one of the page's rows may pass the filter, and it
//! removes duplicates while it reads.
//!
//! The parquet crate reads the metadata. We read pages ourselves, because the crate allocates
//! memory by numbers that a page declares (docs/decisions/0143-index-reader.md). The crate only
//! decodes values whose encoding no crawl has used yet.
//!
//! Invariants: memory does not grow with the file's size; [`IndexCounts`] accounts for every row
//! that was read; the captures depend only on the file and the options. This module does not depend
//! on where the file is stored, on the number of files, or on how captures are used.

mod capture;
mod chunk;
mod column;
mod columns;
mod counts;
mod dedup;
mod delta;
mod error;
mod footer;
mod formats;
mod home_page;
mod hybrid;
mod inflate;
mod options;
mod page;
pub mod paths;
mod reader;
mod recoded;
mod row_groups;
mod rows;
mod thrift;
mod whole_file;
mod width;
mod windows;
pub mod write;

pub use capture::{Capture, Protocol};
pub use counts::{IndexCounts, LeftOutRow};
pub use error::IndexError;
pub use formats::Formats;
pub(crate) use home_page::is_relative_path;
pub use options::IndexOptions;
pub use reader::{IndexReader, Step};
pub use whole_file::{WholeFile, read_bytes};
