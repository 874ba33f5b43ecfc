//! One host of a crawl: how long it is left alone between requests, and whose turn it is.

pub(crate) mod delay;
pub(crate) mod gates;
pub(crate) mod turns;
