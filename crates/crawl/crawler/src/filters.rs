//! A crawl's filters: decisions about pages, and the requests to classifiers.

pub(crate) mod classifier_client;
pub(crate) mod judge;
