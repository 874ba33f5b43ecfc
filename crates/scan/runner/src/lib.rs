//! A worker's loop. [`run`] leases jobs from Postgres until the work is done or the worker is told
//! to stop. `examples/one_worker.rs` shows a worker from its start to the end of a scan.

mod exclusion_poll;
mod fleet_limits;
mod item_journal;
mod lease_outcome;
mod leases;
pub mod metrics;
mod one_job;
mod store_backoff;
mod withheld;
mod worker;

pub use self::worker::{DRAIN, STALL_LIMIT, WorkerEnd, WorkerSettings, run, worker_id};
