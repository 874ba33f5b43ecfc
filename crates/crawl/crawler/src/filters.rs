//! A crawl's filters: decisions about pages, and the requests to classifiers.
//!
//! This module does not depend on slots or host state.

pub(crate) mod classifier_client;
pub(crate) mod judge;
