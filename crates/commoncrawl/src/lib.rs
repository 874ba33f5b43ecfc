//! Reads and writes the formats of Common Crawl: the columnar index and WARC archives.
//!
//! Owns: which rows of the index are home pages and which capture of a host is the best, and how
//! the index of a live crawl is written ([`index`], [`cdxj`]), by which key it is sorted
//! ([`surt()`]); what the bytes of a WARC record and of the HTTP message in it mean, and how an
//! archive is written ([`warc`]); how a content coding is undone ([`coding`]); what the files of a
//! live crawl are called ([`crawl_layout`], [`crawl_objects`]), and what its lists and documents
//! say ([`path_list`], [`ended_crawl`], [`collinfo`]); the 64-bit hash that orders hostnames
//! ([`hostname_hash`]); the ranks of hosts ([`host_ranks`]).
//!
//! Invariants: bytes in, values out. Nothing here opens a file or a socket, reads a clock or the
//! environment. No input makes it panic or use unbounded memory. Input that it does not understand
//! is an error value or is counted; nothing is dropped silently.
//!
//! Must not know: where bytes come from, Postgres, what the HTML of a page says.

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
