//! Who may send a request now: limits per hostname, per address, in total, per second, of memory.

pub(crate) mod keyed_semaphore;
pub(crate) mod pace;
pub(crate) mod politeness;
pub(crate) mod slowdown;
