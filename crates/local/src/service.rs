//! The crawl service in a folder: its database and its crawl workers. The caller serves HTTP.
//!
//! Stopped or killed at any moment, crawls go on from there when it is started again in the same
//! folder. Does not depend on HTTP or on keys.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use everytab_coordinator::Coordinator;
use everytab_operations::{LineSink, OperationError};
use everytab_runner::DRAIN;
use everytab_testbed::{Behaviour, Running};
use tokio::sync::watch;

use crate::{
    folder::{self, LocalFolder},
    sample::{self, SampleNetwork, SampleOptions},
    sites::CRAWLS,
    worker_processes::{WorkerProcesses, WorkerStart},
};

/// The role that the HTTP service signs in as.
const API_ROLE: &str = "everytab_api";
/// How often it is checked whether a process has ended.
const WATCH_INTERVAL: Duration = Duration::from_millis(200);

/// A crawl service in a folder.
#[derive(Debug)]
pub struct LocalService {
    folder: LocalFolder,
}

/// A small internet that runs, for a service that crawls no other.
#[derive(Debug)]
pub struct ServiceSample {
    /// How a worker reaches it.
    pub network: SampleNetwork,
    /// The home page of a host that answers well. `None` if the content is recorded.
    pub page: Option<String>,
    _running: Running,
}

impl LocalService {
    /// Opens the folder `dir`, and starts its Postgres. Must be called on a thread that lives as
    /// long as the service: the server ends with it.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be written, another process has it, or there is no
    /// Postgres.
    pub fn open(dir: &Path) -> Result<Self, OperationError> {
        Ok(Self { folder: LocalFolder::open(dir)? })
    }

    /// Makes and migrates the database, and connects to it as its owner.
    ///
    /// # Errors
    /// Returns an error if Postgres refuses.
    pub async fn prepare(&self) -> Result<Coordinator, OperationError> {
        self.folder.prepare_database().await
    }

    /// Returns the store of crawls in the folder.
    pub fn own_store(&self) -> PathBuf {
        self.folder.dir().join(CRAWLS)
    }

    /// Returns the folder of temporary files.
    pub fn temporary(&self) -> PathBuf {
        folder::temporary_in(self.folder.dir())
    }

    /// Returns the URL of the database for the HTTP service.
    pub fn api_url(&self) -> String {
        self.folder.url(API_ROLE)
    }

    /// Checks that a store in a folder can be written.
    ///
    /// # Errors
    /// Returns an error if it cannot.
    pub fn prepare_store(&self, option: &str, store: &str) -> Result<(), OperationError> {
        folder::prepare_store(option, store)
    }

    /// Starts the small internet that `options` mean.
    ///
    /// # Errors
    /// Returns an error if there is no such recording or mix.
    pub async fn start_sample(
        &self,
        options: &SampleOptions,
    ) -> Result<ServiceSample, OperationError> {
        let running = sample::start(options, self.folder.dir()).await?;
        let host = running.hosts().find(|host| running.behaviour(host) == Behaviour::Fine);
        let page = host.map(|host| format!("https://{host}/"));
        Ok(ServiceSample { network: sample::network(&running)?, page, _running: running })
    }

    /// Starts the workers that crawl, with these more arguments of `run`.
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

    /// Watches the processes until `stop` turns true.
    ///
    /// # Errors
    /// Returns an error that names the process that has ended without being told to.
    pub async fn watch(
        &self,
        processes: &WorkerProcesses,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<(), OperationError> {
        while !*stop.borrow() {
            if let Some(log) = self.folder.log_of_ended_server() {
                // Without their database workers can record nothing more.
                processes.kill();
                return Err(OperationError::new(format!(
                    "Postgres has ended, and so does this service; its last messages are in {}",
                    log.display()
                )));
            }
            if let Some(status) = processes.first_ended()? {
                return Err(OperationError::new(format!(
                    "a crawl worker has ended ({status}), and so does this service; the last lines \
                     above say why. The same command goes on from here"
                )));
            }
            tokio::select! {
                () = tokio::time::sleep(WATCH_INTERVAL) => {}
                _ = stop.changed() => {}
            }
        }
        Ok(())
    }

    /// Stops the workers, which record what they have, then Postgres.
    ///
    /// # Errors
    /// Returns an error if Postgres does not stop.
    pub async fn close(self, processes: &WorkerProcesses) -> Result<(), OperationError> {
        processes.stop(DRAIN).await;
        self.folder.close()
    }
}
