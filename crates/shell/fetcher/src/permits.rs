//! Limits on requests: per hostname, per address, in total, per second, and on memory.

pub(crate) mod address_spacing;
pub(crate) mod keyed_semaphore;
pub(crate) mod politeness;
pub(crate) mod rate_limiter;
pub(crate) mod request_permits;
pub(crate) mod slowdown;
