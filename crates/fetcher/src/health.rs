//! What is known to be dead, and whether a failure is the fault of this machine.

pub(crate) mod breaker;
pub(crate) mod clock;
pub(crate) mod connectivity;
pub(crate) mod dead_origins;
pub(crate) mod endpoints;
pub(crate) mod stall;
