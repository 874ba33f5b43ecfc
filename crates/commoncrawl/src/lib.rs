//! Common Crawl's formats: rows of the columnar index to captures, WARC records in and out.
//!
//! Owns: which rows of the index are home pages and which capture of a host is the best
//! ([`index`]); what the bytes of a WARC record and of the HTTP message in it mean, and how an
//! archive is written ([`warc`]); the 64-bit hash that orders hostnames ([`hostname_hash`]).
//!
//! Invariants: bytes in, values out. Nothing here opens a file or a socket, reads a clock or the
//! environment. No input makes it panic or take unbounded memory. What is not understood is an
//! error value or is counted, never dropped in silence.
//!
//! Must not know: where bytes come from, Postgres, what a page's HTML says.

pub mod date;
mod hostname;
pub mod index;
pub mod warc;

pub use hostname::{HostnameError, MAX_HOSTNAME_BYTES, check_hostname, hostname_hash};
