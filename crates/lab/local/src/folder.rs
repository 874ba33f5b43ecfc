//! A local installation's directory with its private Postgres. Nothing in it changes before its
//! lock is held.

use std::path::{Path, PathBuf};

use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{ConnectSettings, Coordinator};
use everytab_postgres::{PostgresSettings, PrivatePostgres};
use url::Url;

use crate::worker_processes::WorkerStart;

const DATABASE: &str = "everytab";
const POSTGRES: &str = "postgres";
const WORKER_ROLE: &str = "everytab_worker";

#[derive(Debug)]
pub(crate) struct LocalFolder {
    dir: PathBuf,
    named_dir: PathBuf,
    postgres: PrivatePostgres,
}

impl LocalFolder {
    pub(crate) fn open(named_dir: &Path) -> Result<Self, OperationError> {
        let about = |error: std::io::Error| {
            OperationError::new(format!("--dir {}: {error}", named_dir.display()))
        };
        std::fs::create_dir_all(named_dir).map_err(about)?;
        let dir = named_dir.canonicalize().map_err(about)?;
        let postgres = PrivatePostgres::start(PostgresSettings::new(dir.join(POSTGRES)))?;
        // Remove killed workers' temporary files.
        std::fs::create_dir_all(temporary_in(&dir)).map_err(about)?;
        for entry in std::fs::read_dir(temporary_in(&dir)).map_err(about)? {
            let path = entry.map_err(about)?.path();
            if path.is_file() {
                std::fs::remove_file(path).map_err(about)?;
            }
        }
        Ok(Self { dir, named_dir: named_dir.to_owned(), postgres })
    }

    pub(crate) fn close(self) -> Result<(), OperationError> {
        Ok(self.postgres.stop()?)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn named_dir(&self) -> &Path {
        &self.named_dir
    }

    pub(crate) fn url(&self, role: &str) -> String {
        self.postgres.url(DATABASE, role)
    }

    pub(crate) fn log_of_ended_server(&self) -> Option<&Path> {
        (!self.postgres.is_running()).then(|| self.postgres.log_file())
    }

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
        // The workers of an earlier run have stopped, so their leases can be revoked.
        coordinator.revoke_leases(None, "local was started again").await?;
        Ok(coordinator)
    }

    pub(crate) fn worker_start(
        &self,
        workers: u16,
        arguments: Vec<String>,
        sink: &dyn LineSink,
    ) -> Result<WorkerStart, OperationError> {
        let mut all = vec!["run".into(), "--temporary".into(), temporary_in(&self.dir).into()];
        // Workers must not watch for spot notices, because this process drains them.
        all.extend(["--instance-metadata", "off"].map(Into::into));
        all.extend(arguments.into_iter().map(Into::into));
        Ok(WorkerStart {
            program: std::env::current_exe()?,
            arguments: all,
            database_url: self.url(WORKER_ROLE),
            workers,
            // The operator watches progress bars, so workers only log errors.
            log: "error",
            log_writer: sink.log_writer(),
        })
    }
}

pub(crate) fn holds_database(dir: &Path) -> bool {
    dir.join(POSTGRES).exists()
}

pub(crate) fn temporary_in(dir: &Path) -> PathBuf {
    dir.join("temporary")
}

/// Checks a directory before the first job needs it. Other stores are not checked.
pub(crate) fn prepare_store(option: &str, place: &str) -> Result<(), OperationError> {
    let Some(folder) = Url::parse(place).ok().and_then(|url| url.to_file_path().ok()) else {
        return Ok(());
    };
    std::fs::create_dir_all(&folder)
        .and_then(|()| tempfile::tempfile_in(&folder).map(drop))
        .map_err(|error| {
            OperationError::new(format!("{option} {place}: {error}; choose a writable directory"))
        })
}
