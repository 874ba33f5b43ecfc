//! One URL: its redirects, its robots.txt, and each request on its way.

pub(crate) mod body;
pub(crate) mod certificate;
pub(crate) mod connection;
pub(crate) mod content;
pub(crate) mod cookies;
pub(crate) mod dial;
pub(crate) mod fetcher;
pub(crate) mod hop;
pub(crate) mod message;
pub(crate) mod robots;
pub(crate) mod spool;
pub(crate) mod target;
