//! One request of a crawl and all that its records need.
//!
//! Must not know: crawls, hosts beside the one that is asked.

pub(crate) mod exchange;
pub(crate) mod options;
pub(crate) mod page_fetched;
pub(crate) mod page_request;
pub(crate) mod validators;
