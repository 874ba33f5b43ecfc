//! The public crawl bucket, as a folder and over HTTP.
//!
//! `layout` writes the lists that a crawl is found by, `prepare` makes the folder from recorded
//! or generated content, `server` answers for it.

pub(crate) mod layout;
pub(crate) mod prepare;
pub(crate) mod server;
