//! A whole scan on one machine: a private Postgres, worker processes and, for samples, the small
//! internet; before it, perhaps, a live crawl of a list of sites, which is scanned then. A crawl
//! service on one machine, of the same parts. And what else starts a private Postgres: verifying a
//! backup, and `doctor`.
//!
//! Killed or stopped at any moment, a scan goes on from there when it is started again in the same
//! folder.
//!
//! Must not know: how a job does its work, the command line of this process.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> std::io::Result<()> {
//! // As `doctor` does: a private Postgres is started in a folder of its own, asked and stopped.
//! let folder = tempfile::tempdir()?;
//! let check = everytab_local::check_private_server(folder.path()).await;
//! assert!(check.ok && check.found.ends_with("starts and stops"), "{}", check.text());
//! # Ok(())
//! # }
//! ```

mod folder;
mod parent_death;
mod private_server;
mod sample;
mod scan;
mod service;
mod sites;
mod verify_backup;
mod watch;
mod worker_processes;

pub use self::{
    private_server::check_private_server,
    sample::{SampleNetwork, SampleOptions},
    scan::{LocalOptions, LocalScan, LocalScanEnd},
    service::{LocalService, ServiceSample},
    sites::SitesOptions,
    verify_backup::verify_backup,
    worker_processes::WorkerProcesses,
};
