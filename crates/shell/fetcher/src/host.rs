//! One host of a crawl: the delay between its requests, and their order.

pub(crate) mod client;
pub(crate) mod delay;
pub(crate) mod gates;
