//! Reads and writes Common Crawl's formats: the columnar index and WARC archives.
//!
//! This crate contains:
//!
//! * for the index, the selection of home pages and of the best capture per host, the writer for a
//!   live crawl ([`index`], [`cdxj`]) and its sort key ([`surt()`]);
//! * the parser for WARC records and their HTTP messages, and the archive writer ([`warc`]);
//! * the decoder for content codings ([`coding`]);
//! * the names of a live crawl's files ([`crawl_layout`], [`crawl_objects`]), and the contents of
//!   its lists and documents ([`path_list`], [`ended_crawl`], [`collinfo`]);
//! * the 64-bit hash that orders hostnames ([`hostname_hash`]), and the host ranks
//!   ([`host_ranks`]).
//!
//! Invariants: bytes in, values out. Nothing here opens a file or a socket, or reads a clock or the
//! environment. No input causes a panic or unbounded memory. Input that cannot be parsed is an
//! error value or is counted; nothing is dropped silently.
//!
//! This crate does not depend on where bytes come from, on Postgres, or on the pages' HTML.

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
