//! Fetches one URL, including its redirects and each origin's robots.txt. Also sends deliveries to
//! webhooks, and stores icon bodies in a spool.

pub(crate) mod body;
pub(crate) mod chain;
pub(crate) mod chain_requests;
pub(crate) mod connection;
pub(crate) mod content;
pub(crate) mod cookies;
pub(crate) mod delivery;
pub(crate) mod dial;
pub(crate) mod dial_errors;
pub(crate) mod fetcher;
pub(crate) mod head;
pub(crate) mod hop;
pub(crate) mod lenient_heads;
pub(crate) mod message;
pub(crate) mod page_chain;
pub(crate) mod pool;
pub(crate) mod response;
pub(crate) mod robots;
pub(crate) mod route;
pub(crate) mod scope;
pub(crate) mod shared;
pub(crate) mod spool;
pub(crate) mod target;
pub(crate) mod trust;
