//! The queue of runs: jobs, their leases and fences, and the calls that lease, renew and end them.
//!
//! Postgres rejects a call that changes a job once its lease is lost.

pub(crate) mod completion;
pub(crate) mod cursor;
pub(crate) mod digests;
pub(crate) mod end;
pub(crate) mod fences;
pub(crate) mod group_commit;
mod isolation;
pub(crate) mod job;
pub(crate) mod lease;
pub(crate) mod progress;
pub(crate) mod runs;
