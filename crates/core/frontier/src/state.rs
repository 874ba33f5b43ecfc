//! One host's state in a crawl: its known URLs, the pending ones in order, and the finished ones.
//!
//! Chunks store a URL in flight as pending, so it is fetched again if its holder dies.

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
