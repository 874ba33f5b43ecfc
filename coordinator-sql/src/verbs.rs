//! What a worker calls. Every call that changes a job shows the fence of its lease, and Postgres
//! refuses it once the lease is lost.

pub(crate) mod complete;
pub(crate) mod end;
pub(crate) mod isolation;
pub(crate) mod lease;
pub(crate) mod progress;
