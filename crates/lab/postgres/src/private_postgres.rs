//! Starts a private Postgres server in a locked directory, returns its URL, and stops it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    binaries, cluster,
    error::PostgresError,
    lock::FolderLock,
    names::ADMIN_USER,
    orphans, psql,
    server::Server,
    server_folders::{self, ServerFolders},
    settings::PostgresSettings,
};

/// A running private server. Dropping it stops it.
#[derive(Debug)]
pub struct PrivatePostgres {
    server: Server,
    pub(crate) folders: ServerFolders,
    psql: PathBuf,
    // Released after `drop` has stopped the server, because fields are dropped after `drop`.
    _lock: FolderLock,
}

impl PrivatePostgres {
    /// Creates the cluster if there is none, starts its server and waits until it accepts
    /// connections. Blocks for about 0.7 s the first time, 0.15 s later, and longer for recovery
    /// after a crash.
    ///
    /// # Errors
    ///
    /// Returns an error if Postgres is not installed or too old, another process uses the
    /// directory, the cluster needs a major version that is not installed, the cluster belongs to
    /// another user, the disk is full, or Postgres rejects a setting (see [`PostgresError`]).
    pub fn start(settings: PostgresSettings) -> Result<Self, PostgresError> {
        let dir = server_folders::make_folder(&settings.dir)?;
        let lock = FolderLock::take(&dir)?;
        let folders = ServerFolders::choose(&dir)?;
        orphans::stop_all_in(&folders.data)?;
        let binaries = binaries::find(cluster::version_of(&folders.data)?)?;
        folders.prepare_socket_folder()?;
        cluster::make_if_missing(&folders, &binaries, settings.durable)?;
        let server = Server::start(&folders, &binaries, &settings)?;
        Ok(Self { server, folders, psql: binaries.program("psql"), _lock: lock })
    }

    /// Returns the URL to connect to, in a form that tokio-postgres and psql accept:
    /// `postgres:///database?host=/directory&port=..&user=..&sslmode=disable` (percent-encoded).
    /// All parts are included, so variables such as `PGPORT` have no effect.
    pub fn url(&self, database: &str, user: &str) -> String {
        psql::url(&self.folders.socket_folder, database, user)
    }

    /// Returns the path to the server's socket, for a proxy in front of it.
    pub fn socket(&self) -> PathBuf {
        psql::socket_in(&self.folders.socket_folder)
    }

    /// Returns the [`url`](Self::url) of the database `postgres` for the superuser.
    pub fn admin_url(&self) -> String {
        self.url("postgres", ADMIN_USER)
    }

    /// Returns the process ID of the server (its postmaster).
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Returns true until the server's process exits, for example after a crash or a kill.
    pub fn is_running(&self) -> bool {
        self.server.is_running()
    }

    /// Returns the file with the server's messages since its start.
    pub fn log_file(&self) -> &Path {
        &self.folders.log
    }

    /// Runs `sql` with the system's psql as superuser and stops at the first error. Returns the
    /// rows, one per line, with `|` between the fields.
    ///
    /// # Errors
    ///
    /// Returns an error if psql is missing. If psql fails, the error contains its last error
    /// message.
    pub fn psql(&self, database: &str, sql: &str) -> Result<String, PostgresError> {
        psql::run(&self.psql, &self.url(database, ADMIN_USER), sql)
    }

    /// Stops the server by a fast shutdown, which closes open sessions and writes committed data.
    /// If this takes more than a minute, tries an immediate shutdown and then a kill. Returns when
    /// the server has exited.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not exit even after the kill.
    pub fn stop(self) -> Result<(), PostgresError> {
        self.server.stop()?;
        self.folders.remove_socket_folder();
        Ok(())
    }

    /// Stops the server and deletes its directory. If the cluster is in another directory, deletes
    /// that directory as well.
    ///
    /// # Errors
    ///
    /// Returns an error as [`stop`](Self::stop) does, or if a directory cannot be deleted.
    pub fn erase(self) -> Result<(), PostgresError> {
        self.server.stop()?;
        self.folders.remove_socket_folder();
        for folder in self.folders.own_folders() {
            fs::remove_dir_all(folder).map_err(PostgresError::io("delete", folder))?;
        }
        Ok(())
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        if let Err(error) = self.server.stop() {
            tracing::warn!("{error}");
        }
        self.folders.remove_socket_folder();
    }
}
