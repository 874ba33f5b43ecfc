//! Runs a whole scan or a crawl service on one host: a private Postgres, worker processes and, for
//! samples, the small internet. A scan that is killed at any moment continues when it is started
//! again in the same directory.
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
