//! The calls of a worker. Every call that changes a job shows the fence of its lease, and Postgres
//! rejects it once the lease is lost.

pub(crate) mod complete;
pub(crate) mod end;
pub(crate) mod isolation;
pub(crate) mod lease;
pub(crate) mod progress;
