//! The public crawl bucket, as a folder and over HTTP.
//!
//! `layout` writes the lists that name a crawl's files, `prepare` makes the folder from recorded or
//! generated content, `server` serves it.

pub(crate) mod layout;
pub(crate) mod prepare;
pub(crate) mod server;
