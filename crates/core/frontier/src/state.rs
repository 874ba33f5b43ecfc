//! The state of one host in a crawl: its known URLs, the pending URLs in order, and the finished
//! URLs.
//!
//! A state is in the memory of the slot's holder, and in the database as chunks. It changes when
//! links are merged, when page content is added, and when URLs are taken, put back or finished.
//! Taking a URL is not packed, so a URL that was in flight when its holder died is fetched again.
//! This module does not depend on other hosts, delays or robots.txt.

mod bare;
mod host_state;
mod merge;
mod novelty;
mod order;
mod origin_queues;
mod pack;
mod pending;
mod referrers;
mod unpack;

pub use host_state::{HostState, MAX_KNOWN_PER_HOST, MAX_PENDING_BYTES, Sums};
pub use merge::{MergeOutcome, Merged};
pub use pack::{Packed, StateChanges};
pub use pending::{FinalState, FinishEffect, MAX_RETRIES, PendingUrl, never_paused};
pub use unpack::Unpacked;

#[cfg(test)]
mod tests;
