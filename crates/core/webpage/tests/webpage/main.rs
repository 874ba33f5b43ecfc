//! Integration tests in one program, because linking takes long.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reads files and runs programs, and fails by panicking"
)]

mod any_bytes;
mod as_archived;
mod corpus;
mod framing;
mod links;
mod links_oracle;
mod pages;
mod suites;
