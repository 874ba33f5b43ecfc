//! Reads and writes Common Crawl's formats: the columnar index and WARC archives. This crate does
//! no I/O, and no input causes a panic or unbounded memory use.

pub mod cdxj;
pub mod coding;
pub mod collinfo;
pub mod crawl_layout;
pub mod crawl_objects;
pub mod date;
pub mod ended_crawl;
mod gzip;
pub mod host_ranks;
mod hostname;
mod http_url;
pub mod index;
pub mod path_list;
mod surt;
pub mod warc;

pub use hostname::{
    Hostname, HostnameError, MAX_HOSTNAME_BYTES, canonical_hostname, check_hostname, hostname_hash,
};
pub use http_url::{CaptureUrlError, MAX_URL_BYTES};
pub use surt::surt;

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
