//! Runs a whole scan on one host: a private Postgres, worker processes and, for samples, the small
//! internet. Before the scan, it can crawl a list of sites and then scan this crawl. This crate
//! also runs a crawl service on one host, and starts a private Postgres for `doctor` and for
//! verifying a backup.
//!
//! A scan that is killed or stopped at any moment continues when it is started again in the same
//! directory.
//!
//! This crate does not depend on how a job does its work, or on this process's command line.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> std::io::Result<()> {
//! // Start a private Postgres in its own directory, query it and stop it, as `doctor` does.
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
