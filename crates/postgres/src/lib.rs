//! A private Postgres, made from the system's own binaries and reached over a unix socket alone.
//!
//! Owns: finding the binaries, making a cluster, starting and stopping its server, what is left
//! behind when a process that owned one is killed, and calling the system's `pg_dump` and
//! `pg_restore`. Knows no SQL beyond what tests need to make databases, and nothing of what the
//! databases hold. Linux only (it reads `/proc`).
//!
//! Invariants:
//!
//! * One folder has one owner: an advisory lock (`flock`) on `<dir>/lock`, held for the server's
//!   whole life and let go by the kernel when the owner dies in whatever way.
//! * The server ends with its owner. A thread that lives as long as the server starts it (the
//!   kernel's parent-death signal belongs to the *thread* that forked) and asks for a fast shutdown
//!   (SIGINT) at the owner's death. What still runs when the folder is taken again is stopped
//!   first, found by its working folder, never by a bare process number.
//! * A cluster is there whole or not at all: `initdb` works in a folder beside it, and a rename
//!   ends that.
//! * Nobody else on the machine reaches it: no TCP, and the socket lies in a folder with mode 0700,
//!   never one that another user made. That folder is what allows `trust`.
//! * A terminal's Ctrl-C does not reach the server (its own session), so workers drain first.
//!
//! Postgres refuses to run as root. Started by root, it runs as `postgres`, else `nobody`, or as
//! whoever owns the cluster already; where that user cannot enter the folder (`/root` is 0700),
//! the cluster lies under `/var/lib/everytab/` and `<dir>/LOCATION` says so.
//!
//! # Tests
//!
//! [`shared_for_tests`] gives one server without durability. Under
//! `with-postgres -- cargo nextest run` (this package's program; `make test` does it) all test
//! processes share one server, named by `EVERYTAB_TEST_DATABASE_URL`. Without that variable each
//! test process starts its own, slower (about 0.7 s) and just as right. Folders that killed runs
//! left in the temporary folder are removed by the next.

mod binaries;
mod cluster;
mod dump;
mod error;
mod lock;
mod orphans;
mod place;
mod process;
mod psql;
mod server;
mod testing;

use std::fs;
use std::path::{Path, PathBuf};

pub use dump::{dump_schema, restore_dump};
pub use error::PostgresError;
pub use testing::{TEST_URL_VARIABLE, TestServer, shared_for_tests};

/// The superuser of every cluster made here.
pub const ADMIN_USER: &str = "postgres";

/// How a private Postgres is to run. Everything but `dir` may differ from start to start.
#[derive(Debug, Clone)]
pub struct PostgresSettings {
    /// The folder that this server alone uses: cluster, log, lock. Made when missing.
    pub dir: PathBuf,
    /// False turns fsync, full_page_writes and synchronous_commit off: a killed server may then
    /// lose its last transactions, and a crash of the machine the cluster. For tests.
    pub durable: bool,
    /// Postgres's max_connections.
    pub max_connections: u32,
    /// More server settings (name, value), which win over those set here.
    pub extra: Vec<(String, String)>,
}

impl PostgresSettings {
    /// A durable server with 100 connections in `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), durable: true, max_connections: 100, extra: Vec::new() }
    }
}

/// A running private server. Dropping it stops it.
#[derive(Debug)]
pub struct PrivatePostgres {
    // Fields drop in this order: the server stops before the lock is let go.
    server: server::Server,
    place: place::Place,
    psql: PathBuf,
    _lock: lock::FolderLock,
}

impl PrivatePostgres {
    /// Makes the cluster if there is none, starts its server and waits until it takes connections.
    /// Blocks: about 0.7 s the first time, 0.15 s later, longer after a crash (recovery).
    ///
    /// # Errors
    ///
    /// No usable binaries, the folder in use by another process, made by another major version or
    /// another user, a full disk, a setting that Postgres refuses: one line each, see
    /// [`PostgresError`].
    pub fn start(settings: PostgresSettings) -> Result<Self, PostgresError> {
        let dir = place::make_folder(&settings.dir)?;
        let lock = lock::FolderLock::take(&dir)?;
        let place = place::Place::choose(&dir)?;
        orphans::stop_all_in(&place.data)?;
        let binaries = binaries::find(cluster::version_of(&place.data)?)?;
        place.prepare_socket_folder()?;
        cluster::make_if_missing(&place, &binaries, settings.durable)?;
        let server = server::Server::start(&place, &binaries, &settings)?;
        Ok(Self { server, place, psql: binaries.program("psql"), _lock: lock })
    }

    /// [`start_passing`](Self::start_passing) in the temporary folder.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_for_tests() -> Result<Self, PostgresError> {
        Self::start_passing(&std::env::temp_dir())
    }

    /// Starts a server without durability in a new folder below `parent`, and removes those that
    /// killed processes left there. [`erase`](Self::erase) it at the end.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_passing(parent: &Path) -> Result<Self, PostgresError> {
        testing::start_passing(parent)
    }

    /// Where to connect: `postgres:///database?host=/folder&port=..&user=..&sslmode=disable`, as
    /// sqlx and psql read it. Names every part, so that `PGPORT` and its like change nothing.
    pub fn url(&self, database: &str, user: &str) -> String {
        psql::url(&self.place.socket_folder, database, user)
    }

    /// The server's socket, for a proxy before it.
    pub fn socket(&self) -> PathBuf {
        psql::socket_in(&self.place.socket_folder)
    }

    /// [`url`](Self::url) of the database `postgres` for the superuser.
    pub fn admin_url(&self) -> String {
        self.url("postgres", ADMIN_USER)
    }

    /// The server's process (its postmaster).
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// False once the server has ended, by itself or by [`stop`](Self::stop).
    pub fn is_running(&self) -> bool {
        self.server.is_running()
    }

    /// What the server says goes here.
    pub fn log_file(&self) -> &Path {
        &self.place.log
    }

    /// Runs `sql` with the system's psql as superuser, stopping at the first error. Rows come back
    /// one a line, fields between `|`.
    ///
    /// # Errors
    ///
    /// psql is missing, or its first complaint.
    pub fn psql(&self, database: &str, sql: &str) -> Result<String, PostgresError> {
        psql::run(&self.psql, &self.url(database, ADMIN_USER), sql)
    }

    /// Fast shutdown: open sessions are cut, what was committed is written. Returns when the
    /// server has ended.
    ///
    /// # Errors
    ///
    /// The server did not end in a minute, nor when told to end at once.
    pub fn stop(self) -> Result<(), PostgresError> {
        self.server.stop()?;
        self.place.remove_socket_folder();
        Ok(())
    }

    /// Stops the server and deletes its folder, and its cluster wherever it lies.
    ///
    /// # Errors
    ///
    /// As [`stop`](Self::stop), or a folder could not be deleted.
    pub fn erase(self) -> Result<(), PostgresError> {
        self.server.stop()?;
        self.place.remove_socket_folder();
        for folder in self.place.folders() {
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
        self.place.remove_socket_folder();
    }
}
