//! Reads Common Crawl's columnar index files, and writes such files for a live crawl
//! ([`write`](mod@write)).
//!
//! We read parquet pages ourselves, because the parquet crate allocates memory by sizes that a page
//! declares (docs/decisions/0143-index-reader.md).

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
