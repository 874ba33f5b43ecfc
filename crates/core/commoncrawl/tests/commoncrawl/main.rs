//! Integration tests in one program, because linking takes long.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reads files and runs programs, and fails by panicking"
)]

mod captures;
mod cdxj;
mod coding;
mod index_corpus;
mod index_damaged;
mod index_generated;
mod index_pages;
mod index_written;
mod support;
mod surt;
mod variants;
mod warc_corpus;
mod warc_exchanges;
mod warc_generated;
mod warc_zstd;
mod warcio;
