//! What a crawl knows of one host: which URLs are known, which are pending and in which order, and
//! which are answered.
//!
//! A state lives in its holder's memory, and in the database as chunks. It changes by merging
//! links, by answers, and by URLs that are asked; the last is not packed, so what was asked and not
//! answered when a holder died is asked again. Must not know: other hosts, delays, robots.txt.

mod bare;
mod host_state;
mod merge;
mod novelty;
mod order;
mod origin_queues;
mod pack;
mod referrers;
mod turns;
mod unpack;

pub use host_state::{HostState, MAX_KNOWN_PER_HOST, MAX_PENDING_BYTES, Sums};
pub use merge::{LinkVerdict, Merged};
pub use pack::{Packed, StateChanges};
pub use turns::{Answered, Ending, MAX_RETRIES, Turn, never_paused};
pub use unpack::Unpacked;

#[cfg(test)]
mod tests;
