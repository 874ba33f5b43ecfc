//! The filters of a crawl: frozen with it, their lists loaded, pages judged by them.
//!
//! Must not know: slots, what is known of hosts.

pub(crate) mod ask;
mod copy;
pub(crate) mod frozen;
pub(crate) mod judge;
pub(crate) mod load;
mod mapped;
