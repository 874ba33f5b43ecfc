//! One Postgres for all tests of a run, a database of its own for each test.
//!
//! The server is the one that `with-postgres` named in the environment, else one of this process,
//! which ends with it. Server folders lie in the temporary folder as `everytab-passing-*`; whoever
//! makes one first removes those whose lock is free (their owner was killed or simply ended).
//! Failures panic: a test without its database has failed.

#![allow(clippy::panic)]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::PostgresError;
use crate::lock::FolderLock;
use crate::place::Place;
use crate::{ADMIN_USER, PostgresSettings, PrivatePostgres, binaries, orphans, psql};

/// Where `with-postgres` tells its command the superuser's URL.
pub const TEST_URL_VARIABLE: &str = "EVERYTAB_TEST_DATABASE_URL";

const FOLDER_PREFIX: &str = "everytab-passing-";
/// From making a folder to locking it takes a moment; this is a thousand of them.
const YOUNG: Duration = Duration::from_secs(60);

/// The server that a test run shares.
#[derive(Debug)]
pub struct TestServer {
    socket_folder: PathBuf,
    psql: PathBuf,
    /// None where `with-postgres` owns it.
    _own: Option<PrivatePostgres>,
}

/// The server of this test run, started if nobody has.
///
/// # Panics
///
/// With the reason in one line, where there can be none.
pub fn shared_for_tests() -> &'static TestServer {
    static SERVER: OnceLock<TestServer> = OnceLock::new();
    SERVER.get_or_init(|| match TestServer::connect_or_start() {
        Ok(server) => server,
        Err(error) => panic!("no Postgres for tests: {error}"),
    })
}

impl TestServer {
    fn connect_or_start() -> Result<Self, PostgresError> {
        let psql = binaries::find(None)?.program("psql");
        if let Ok(url) = std::env::var(TEST_URL_VARIABLE) {
            let socket_folder = psql::parameter_of(&url, "host")
                .map(PathBuf::from)
                .ok_or(PostgresError::TestUrl { variable: TEST_URL_VARIABLE, value: url })?;
            return Ok(Self { socket_folder, psql, _own: None });
        }
        let own = start_passing(&std::env::temp_dir())?;
        Ok(Self { socket_folder: own.place.socket_folder.clone(), psql, _own: Some(own) })
    }

    /// As [`PrivatePostgres::url`].
    pub fn url(&self, database: &str, user: &str) -> String {
        psql::url(&self.socket_folder, database, user)
    }

    /// The server's socket, for a proxy before it.
    pub fn socket(&self) -> PathBuf {
        psql::socket_in(&self.socket_folder)
    }

    /// As [`PrivatePostgres::admin_url`].
    pub fn admin_url(&self) -> String {
        self.url("postgres", ADMIN_USER)
    }

    /// As [`PrivatePostgres::psql`].
    ///
    /// # Errors
    ///
    /// psql's complaint.
    pub fn psql(&self, database: &str, sql: &str) -> Result<String, PostgresError> {
        psql::run(&self.psql, &self.url(database, ADMIN_USER), sql)
    }

    /// Makes a database that nobody else uses, empty or a copy of `template` (about 40 ms), and
    /// gives its name. It goes with the server.
    ///
    /// # Panics
    ///
    /// Where it cannot be made.
    pub fn fresh_database(&self, template: Option<&str>) -> String {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{made}_{:x}", std::process::id(), nanoseconds());
        let template = template.unwrap_or("template0");
        let sql = format!("create database \"{name}\" template \"{template}\"");
        match self.psql("postgres", &sql) {
            Ok(_) => name,
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    /// Makes the database `name` once per server, however many test processes ask at once:
    /// `prepare` fills it, given its superuser's URL, and must close its connections. Afterwards
    /// it takes no connections and is there to be copied by
    /// [`fresh_database`](Self::fresh_database).
    ///
    /// # Panics
    ///
    /// Where it cannot be made, or `prepare` panics (the next to ask then makes it anew).
    pub fn template(&self, name: &str, prepare: impl FnOnce(&str)) {
        let made = self.template_once(name, prepare);
        if let Err(error) = made {
            panic!("template {name}: {error}");
        }
    }

    fn template_once(&self, name: &str, prepare: impl FnOnce(&str)) -> Result<(), PostgresError> {
        let path = self.socket_folder.join(format!("template-{name}.lock"));
        let lock = File::create(&path).map_err(PostgresError::io("make", &path))?;
        lock.lock().map_err(PostgresError::io("lock", &path))?;
        let done = format!("select 1 from pg_database where datname = '{name}' and datistemplate");
        if self.psql("postgres", &done)? == "1" {
            return Ok(());
        }
        let make = format!(
            "drop database if exists \"{name}\" with (force);
             create database \"{name}\" template template0;"
        );
        self.psql("postgres", &make)?;
        prepare(&self.url(name, ADMIN_USER));
        let close = format!("alter database \"{name}\" is_template true allow_connections false");
        self.psql("postgres", &close).map(drop)
    }
}

fn nanoseconds() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos())
}

/// A server without durability in a new folder that the server's user can enter.
pub(crate) fn start_passing(parent: &Path) -> Result<PrivatePostgres, PostgresError> {
    remove_abandoned(parent);
    let dir = parent.join(format!("{FOLDER_PREFIX}{}-{:x}", std::process::id(), nanoseconds()));
    fs::create_dir(&dir).map_err(PostgresError::io("make", &dir))?;
    fs::set_permissions(&dir, Permissions::from_mode(0o755))
        .map_err(PostgresError::io("make", &dir))?;
    let durable = false;
    PrivatePostgres::start(PostgresSettings { durable, ..PostgresSettings::new(dir) })
}

/// Best effort: what cannot be removed (another user's) stays.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(FOLDER_PREFIX));
        // A young folder may be between its making and its locking.
        let age = entry.metadata().and_then(|found| found.modified());
        let age = age.ok().and_then(|made| made.elapsed().ok()).unwrap_or_default();
        if !ours || age < YOUNG {
            continue;
        }
        let Ok(dir) = entry.path().canonicalize() else { continue };
        let Ok(_lock) = FolderLock::take(&dir) else { continue };
        let Ok(place) = Place::choose(&dir) else { continue };
        if orphans::stop_all_in(&place.data).is_ok() {
            place.remove_socket_folder();
            for folder in place.folders() {
                let _ = fs::remove_dir_all(folder);
            }
        }
    }
}
