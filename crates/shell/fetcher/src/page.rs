//! One request of a crawl, and the data for its records.

pub(crate) mod exchange;
pub(crate) mod options;
pub(crate) mod page_fetch_result;
pub(crate) mod page_request;
pub(crate) mod validators;
