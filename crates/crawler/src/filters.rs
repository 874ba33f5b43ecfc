//! A crawl's filters: frozen settings, loaded lists, and decisions about pages.
//!
//! Does not depend on slots or host state.

pub(crate) mod classifier_client;
mod copy;
pub(crate) mod frozen;
pub(crate) mod judge;
pub(crate) mod load;
mod mapped;
