//! Dead origins and endpoints, the time limit of a fetch, and checks whether a failure was caused
//! by this process or its network.

pub(crate) mod breaker;
pub(crate) mod clock;
pub(crate) mod connectivity;
pub(crate) mod dead_origins;
pub(crate) mod endpoints;
pub(crate) mod stall;
