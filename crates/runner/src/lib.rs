//! The loop of a worker: lease, heartbeat, perform, complete.
//!
//! [`run`] takes jobs from Postgres until the work is done or the worker is asked to stop. A job is
//! performed in a task of its own; its lease is renewed while the job makes progress.
//!
//! Must not know: what a job does.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use everytab_coordinator::{Coordinator, Digests, Error, JobKind};
//! # use everytab_jobs::Context;
//! # use everytab_runner::{DRAIN, WorkerEnd, WorkerSettings, STALL_LIMIT, run, worker_id};
//! # async fn example(coordinator: Coordinator, context: Context) -> Result<(), Error> {
//! let settings = WorkerSettings {
//!     worker_id: worker_id(),
//!     kinds: vec![JobKind::Index, JobKind::Warc],
//!     digests: Digests { encoder: "the digest of this program's icon encoder".to_owned() },
//!     exit_when_done: true,
//!     drain: DRAIN,
//!     stall_limit: STALL_LIMIT,
//!     bundle_jobs: 1,
//! };
//! let (_stop, stopped) = tokio::sync::watch::channel(false);
//! let end = run(coordinator, context, settings, stopped).await?;
//! assert_eq!(end, WorkerEnd::Finished);
//! # Ok(())
//! # }
//! ```

mod fleet_limits;
mod item_journal;
mod lease_outcome;
mod leases;
pub mod metrics;
mod one_job;
mod withheld;
mod worker;
mod worker_id;

pub use self::{
    worker::{DRAIN, STALL_LIMIT, WorkerEnd, WorkerSettings, run},
    worker_id::worker_id,
};
