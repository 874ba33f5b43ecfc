//! Starts and stops a private Postgres server in a locked directory.

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
    _lock: FolderLock,
}

impl PrivatePostgres {
    /// Starts the server, and creates its cluster if there is none. Blocks until it accepts
    /// connections: about 0.7 s the first time, 0.15 s later, and longer for recovery after a
    /// crash.
    ///
    /// # Errors
    ///
    /// Returns an error if Postgres is not installed or rejects a setting, or the directory cannot
    /// be used (see [`PostgresError`]).
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

    /// Returns the URL to connect to. It includes all parts, so variables such as `PGPORT` have no
    /// effect.
    pub fn url(&self, database: &str, user: &str) -> String {
        psql::url(&self.folders.socket_folder, database, user)
    }

    /// Returns the path to this server's socket.
    pub fn socket(&self) -> PathBuf {
        psql::socket_in(&self.folders.socket_folder)
    }

    /// Returns the [`url`](Self::url) of the database `postgres` for the superuser.
    pub fn admin_url(&self) -> String {
        self.url("postgres", ADMIN_USER)
    }

    /// Returns the process ID of this server's postmaster.
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Returns true until this server's process exits.
    pub fn is_running(&self) -> bool {
        self.server.is_running()
    }

    /// Returns the file with the server's messages since its start.
    pub fn log_file(&self) -> &Path {
        &self.folders.log
    }

    /// Runs `sql` as superuser with the system's psql. Returns the rows, one per line, with `|`
    /// between the fields.
    ///
    /// # Errors
    ///
    /// Returns an error if psql is missing or fails.
    pub fn psql(&self, database: &str, sql: &str) -> Result<String, PostgresError> {
        psql::run(&self.psql, &self.url(database, ADMIN_USER), sql)
    }

    /// Stops the server by a fast shutdown. If this takes more than a minute, tries an immediate
    /// shutdown and then a kill.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not exit even after the kill.
    pub fn stop(self) -> Result<(), PostgresError> {
        self.server.stop()?;
        self.folders.remove_socket_folder();
        Ok(())
    }

    /// Stops the server and deletes its directories.
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
