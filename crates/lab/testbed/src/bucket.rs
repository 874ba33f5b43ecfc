//! The public crawl bucket, as a directory and over HTTP.
//!
//! `layout` writes the lists that name a crawl's files, `prepare` creates the directory from
//! recorded or generated content, and `server` serves it.

pub(crate) mod layout;
pub(crate) mod prepare;
pub(crate) mod server;
