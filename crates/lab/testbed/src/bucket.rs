//! The public crawl bucket, as a directory and over HTTP.

pub(crate) mod layout;
pub(crate) mod prepare;
pub(crate) mod server;
