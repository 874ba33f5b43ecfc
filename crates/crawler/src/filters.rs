//! A crawl's filters: frozen settings, loading of their lists, and decisions about pages.
//!
//! Does not depend on slots or host state.

pub(crate) mod ask;
mod copy;
pub(crate) mod frozen;
pub(crate) mod judge;
pub(crate) mod load;
mod mapped;
