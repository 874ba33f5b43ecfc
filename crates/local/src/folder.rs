//! The folder of what runs on one machine: its private Postgres, and how its workers are started.
//!
//! Invariant: nothing in a folder is touched before its lock is held, because another process may
//! work there. Does not depend on what the workers do.

use std::path::{Path, PathBuf};

use everytab_coordinator::{ConnectSettings, Coordinator};
use everytab_operations::{LineSink, OperationError};
use everytab_postgres::{PostgresSettings, PrivatePostgres};
use url::Url;

use crate::worker_processes::WorkerStart;

/// The database in the private Postgres.
const DATABASE: &str = "everytab";
/// The folder of the private Postgres in the folder.
const POSTGRES: &str = "postgres";
/// The role that the workers sign in as.
const WORKER_ROLE: &str = "everytab_worker";

/// A folder with its private Postgres.
#[derive(Debug)]
pub(crate) struct LocalFolder {
    dir: PathBuf,
    /// The folder as the options name it.
    named_dir: PathBuf,
    postgres: PrivatePostgres,
}

impl LocalFolder {
    /// Opens the folder `dir`, and starts its Postgres. Must be called on a thread that lives as
    /// long as the work: the server ends with it.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be written, another process has it, or there is no
    /// Postgres.
    pub(crate) fn open(named_dir: &Path) -> Result<Self, OperationError> {
        let about = |error: std::io::Error| {
            OperationError::new(format!("--dir {}: {error}", named_dir.display()))
        };
        std::fs::create_dir_all(named_dir).map_err(about)?;
        let dir = named_dir.canonicalize().map_err(about)?;
        let postgres = PrivatePostgres::start(PostgresSettings::new(dir.join(POSTGRES)))?;
        // Of a worker that was killed.
        std::fs::create_dir_all(temporary_in(&dir)).map_err(about)?;
        for entry in std::fs::read_dir(temporary_in(&dir)).map_err(about)? {
            let path = entry.map_err(about)?.path();
            if path.is_file() {
                std::fs::remove_file(path).map_err(about)?;
            }
        }
        Ok(Self { dir, named_dir: named_dir.to_owned(), postgres })
    }

    /// Stops Postgres.
    ///
    /// # Errors
    /// Returns an error if it does not stop.
    pub(crate) fn close(self) -> Result<(), OperationError> {
        Ok(self.postgres.stop()?)
    }

    /// Returns the folder's canonical path.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the folder as the options name it.
    pub(crate) fn named_dir(&self) -> &Path {
        &self.named_dir
    }

    /// Returns the URL of the database for a role.
    pub(crate) fn url(&self, role: &str) -> String {
        self.postgres.url(DATABASE, role)
    }

    /// Returns the file with the server's last messages, if the server has ended.
    pub(crate) fn log_of_ended_server(&self) -> Option<&Path> {
        (!self.postgres.is_running()).then(|| self.postgres.log_file())
    }

    /// Makes and migrates the database, and connects to it as its owner.
    ///
    /// # Errors
    /// Returns an error if Postgres refuses.
    pub(crate) async fn prepare_database(&self) -> Result<Coordinator, OperationError> {
        let exists = self
            .postgres
            .psql("postgres", "select 1 from pg_database where datname = 'everytab'")?;
        if exists.trim().is_empty() {
            self.postgres.psql("postgres", "create database everytab")?;
        }
        let url = self.url(everytab_postgres::ADMIN_USER);
        let coordinator = Coordinator::connect(&url, &ConnectSettings::default()).await?;
        coordinator.migrate().await?;
        // The workers that held leases ended before this Postgres was started.
        coordinator.revoke_leases(None, "local was started again").await?;
        Ok(coordinator)
    }

    /// Returns how workers with these arguments of `run` are started.
    ///
    /// # Errors
    /// Returns an error if the path of this program is not known.
    pub(crate) fn worker_start(
        &self,
        workers: u16,
        arguments: Vec<String>,
        sink: &dyn LineSink,
    ) -> Result<WorkerStart, OperationError> {
        let mut all = vec!["run".into(), "--temporary".into(), temporary_in(&self.dir).into()];
        // This process is told to stop, and tells its workers.
        all.extend(["--instance-metadata", "off"].map(Into::into));
        all.extend(arguments.into_iter().map(Into::into));
        Ok(WorkerStart {
            program: std::env::current_exe()?,
            arguments: all,
            database_url: self.url(WORKER_ROLE),
            workers,
            // A person watches the bars of a scan: a worker adds only its errors to them.
            log: "error",
            log_writer: sink.log_writer(),
        })
    }
}

/// Returns whether a folder holds a database, and so perhaps work to go on with.
pub(crate) fn holds_database(dir: &Path) -> bool {
    dir.join(POSTGRES).exists()
}

/// Returns the folder of temporary files of the workers.
pub(crate) fn temporary_in(dir: &Path) -> PathBuf {
    dir.join("temporary")
}

/// Checks that a store's folder can be written, before the first job needs it.
pub(crate) fn prepare_store(option: &str, place: &str) -> Result<(), OperationError> {
    let Some(folder) = Url::parse(place).ok().and_then(|url| url.to_file_path().ok()) else {
        return Ok(());
    };
    std::fs::create_dir_all(&folder)
        .and_then(|()| tempfile::tempfile_in(&folder).map(drop))
        .map_err(|error| {
            OperationError::new(format!(
                "{option} {place}: {error}; choose a folder that can be written"
            ))
        })
}
