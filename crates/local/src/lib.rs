//! A whole scan on one machine: a private Postgres, worker processes and, for samples, the small
//! internet; and what else starts a private Postgres: verifying a backup, and `doctor`.
//!
//! Killed or stopped at any moment, a scan goes on from there when it is started again in the same
//! folder.
//!
//! Must not know: how a job does its work, the command line of this process.
//!
//! ```no_run
//! # use everytab_operations::{LineSink, OperationError};
//! # async fn example(sink: &dyn LineSink) -> Result<(), OperationError> {
//! use std::path::Path;
//!
//! // Loads the rows into a Postgres of its own, reads every object, and compares.
//! everytab_local::verify_backup("s3://backups/2026-05", Path::new("/tmp"), sink).await
//! # }
//! ```

mod parent_death;
mod private_server;
mod sample;
mod scan;
mod verify_backup;
mod watch;
mod worker_processes;

pub use self::{
    private_server::check_private_server,
    sample::{SampleNetwork, SampleOptions},
    scan::{LocalOptions, LocalScan, LocalScanEnd},
    verify_backup::verify_backup,
    worker_processes::WorkerProcesses,
};
