//! Runs the crawl service in a directory, with its database and its crawl workers. The caller
//! serves HTTP. Crawls that are stopped or killed continue when the service starts again in the
//! same directory.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use everytab_console::{LineSink, OperationError};
use everytab_coordinator::Coordinator;
use everytab_runner::DRAIN;
use everytab_testbed::{Behaviour, Running};
use tokio::sync::watch;

use crate::{
    folder::{self, LocalFolder},
    sample::{self, SampleNetwork, SampleOptions},
    sites::CRAWLS,
    worker_processes::{WorkerProcesses, WorkerStart},
};

const API_ROLE: &str = "everytab_api";
/// Interval between checks for exited processes.
const WATCH_INTERVAL: Duration = Duration::from_millis(200);

/// A crawl service in a directory.
#[derive(Debug)]
pub struct LocalService {
    folder: LocalFolder,
}

/// A running small internet. The service crawls only its hosts.
#[derive(Debug)]
pub struct ServiceSample {
    /// The settings with which a worker reaches the small internet.
    pub network: SampleNetwork,
    /// The home page of a host without faults. `None` if the content is recorded.
    pub page: Option<String>,
    _running: Running,
}

impl LocalService {
    /// Opens the directory `dir` and starts its Postgres, which stops with this process.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory is not writable, another process uses it, or Postgres is
    /// not installed.
    pub fn open(dir: &Path) -> Result<Self, OperationError> {
        Ok(Self { folder: LocalFolder::open(dir)? })
    }

    /// Creates and migrates the database, connects as its owner, and revokes all leases.
    ///
    /// # Errors
    /// Returns an error if Postgres is unreachable or rejects a statement.
    pub async fn prepare(&self) -> Result<Coordinator, OperationError> {
        self.folder.prepare_database().await
    }

    /// Returns the directory's own store for crawls.
    pub fn own_store(&self) -> PathBuf {
        self.folder.dir().join(CRAWLS)
    }

    /// Returns the directory for temporary files.
    pub fn temporary(&self) -> PathBuf {
        folder::temporary_in(self.folder.dir())
    }

    /// Returns the database URL for the HTTP service.
    pub fn api_url(&self) -> String {
        self.folder.url(API_ROLE)
    }

    /// Creates a directory store and checks that it is writable. Other stores are not checked.
    ///
    /// # Errors
    /// Returns an error if the store is not writable.
    pub fn prepare_store(&self, option: &str, store: &str) -> Result<(), OperationError> {
        folder::prepare_store(option, store)
    }

    /// Starts the small internet for `options`.
    ///
    /// # Errors
    /// Returns an error if the recording or the mix does not exist, or a server cannot be started.
    pub async fn start_sample(
        &self,
        options: &SampleOptions,
    ) -> Result<ServiceSample, OperationError> {
        let running = sample::start(options, self.folder.dir()).await?;
        let host = running.hosts().find(|host| running.behaviour(host) == Behaviour::Fine);
        let page = host.map(|host| format!("https://{host}/"));
        Ok(ServiceSample { network: sample::network(&running)?, page, _running: running })
    }

    /// Starts the crawl workers, with additional arguments for `run`.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started.
    pub fn start_workers(
        &self,
        processes: &WorkerProcesses,
        workers: u16,
        arguments: Vec<String>,
        sink: &dyn LineSink,
    ) -> Result<(), OperationError> {
        let role = ["--role", "crawl"].map(str::to_owned);
        let arguments = [&role[..], &arguments].concat();
        let start = self.folder.worker_start(workers, arguments, sink)?;
        processes.start(WorkerStart { log: "warn", ..start })
    }

    /// Watches the processes until `stop` becomes true.
    ///
    /// # Errors
    /// Returns an error that names a process that exited by itself.
    pub async fn watch(
        &self,
        processes: &WorkerProcesses,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<(), OperationError> {
        while !*stop.borrow() {
            if let Some(log) = self.folder.log_of_ended_server() {
                // Without the database, workers cannot record their results, so do not wait for
                // them.
                processes.kill();
                return Err(OperationError::new(format!(
                    "Postgres exited, so this service stops; see its log {}",
                    log.display()
                )));
            }
            if let Some(status) = processes.first_ended()? {
                return Err(OperationError::new(format!(
                    "a crawl worker exited ({status}), so this service stops; see the log above. \
                     Run the same command again to continue"
                )));
            }
            tokio::select! {
                () = tokio::time::sleep(WATCH_INTERVAL) => {}
                _ = stop.changed() => {}
            }
        }
        Ok(())
    }

    /// Stops the workers, which record their results first, and then Postgres.
    ///
    /// # Errors
    ///
    /// Returns an error if Postgres does not stop.
    pub async fn close(self, processes: &WorkerProcesses) -> Result<(), OperationError> {
        processes.stop(DRAIN).await;
        self.folder.close()
    }
}
