//! One Postgres for all tests in a run, and a database for each test. The server is the one that
//! `with-postgres` named in the environment, or this process starts one.

#![allow(clippy::panic)]

use std::{
    fs::File,
    path::PathBuf,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use crate::{
    binaries,
    error::PostgresError,
    names::{ADMIN_USER, TEST_URL_VARIABLE},
    private_postgres::PrivatePostgres,
    psql,
    temporary::nanoseconds,
};

/// The server that a test run shares.
#[derive(Debug)]
pub struct TestServer {
    socket_folder: PathBuf,
    psql: PathBuf,
    _own: Option<PrivatePostgres>,
}

/// Returns this test run's server. The first call starts it, unless `with-postgres` has.
///
/// # Panics
///
/// Panics if the server cannot be started.
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
        let own = PrivatePostgres::start_for_tests()?;
        Ok(Self { socket_folder: own.folders.socket_folder.clone(), psql, _own: Some(own) })
    }

    /// Returns the URL to connect to, like [`PrivatePostgres::url`].
    pub fn url(&self, database: &str, user: &str) -> String {
        psql::url(&self.socket_folder, database, user)
    }

    /// Returns the path to the server's socket.
    pub fn socket(&self) -> PathBuf {
        psql::socket_in(&self.socket_folder)
    }

    /// Returns the superuser's URL, like [`PrivatePostgres::admin_url`].
    pub fn admin_url(&self) -> String {
        self.url("postgres", ADMIN_USER)
    }

    /// Runs SQL as [`PrivatePostgres::psql`] does.
    ///
    /// # Errors
    ///
    /// Returns an error as [`PrivatePostgres::psql`] does.
    pub fn psql(&self, database: &str, sql: &str) -> Result<String, PostgresError> {
        psql::run(&self.psql, &self.url(database, ADMIN_USER), sql)
    }

    /// Creates a new database, empty or a copy of `template`, and returns its name.
    ///
    /// # Panics
    ///
    /// Panics if the database cannot be created.
    pub fn fresh_database(&self, template: Option<&str>) -> String {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{made}_{:x}", std::process::id(), nanoseconds());
        let template = template.unwrap_or("template0");
        // Without fsync, copying files takes half as long as writing them to the log.
        let sql = format!("create database \"{name}\" template \"{template}\" strategy file_copy");
        match self.psql("postgres", &sql) {
            Ok(_) => name,
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    /// Creates the template database `name` once per server. `prepare` gets the superuser's URL,
    /// fills the database and must close its connections, because
    /// [`fresh_database`](Self::fresh_database) copies it.
    ///
    /// # Panics
    ///
    /// Panics if the database cannot be created, or `prepare` panics.
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
