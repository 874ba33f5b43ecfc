//! One Postgres server: how to connect to it, and what a failure to connect means.
//!
//! Invariant: nothing here waits longer than its caller allows. The password is looked up for each
//! connection, since a token that serves as password is replaced every few minutes.
//! Must not know: how many connections there are, or what is called over them.

use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::{task::JoinHandle, time::timeout};
use tokio_postgres::{Client, Config, config::Host};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{
    database_url::DatabaseUrl,
    error::{Error, describe},
    password_file::password_from_files,
    tls,
};

/// Port of Postgres where the URL and the environment name none.
const DEFAULT_PORT: u16 = 5432;
/// How long closing a connection may take; over a dead network the farewell never leaves.
const CLOSE_TIME: Duration = Duration::from_secs(3);

/// A server, by its URL.
pub(crate) struct PostgresServer {
    config: Config,
    tls: MakeRustlsConnect,
    /// Whether this server has accepted a connection before.
    has_accepted: AtomicBool,
}

impl fmt::Debug for PostgresServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresServer")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// A connection and the task that reads and writes its socket. Dropping it closes the socket
/// immediately, without a farewell that a dead network would delay.
#[derive(Debug)]
pub(crate) struct ServerConnection {
    pub(crate) client: Client,
    driver: Driver,
}

#[derive(Debug)]
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ServerConnection {
    /// Takes leave of the server, so that it ends the session without a wait.
    pub(crate) async fn close(self) {
        let Self { client, mut driver } = self;
        // The driver ends when it has sent the farewell of a client that is gone.
        drop(client);
        let _ = timeout(CLOSE_TIME, &mut driver.0).await;
    }
}

impl PostgresServer {
    /// Reads the URL, the environment variables of libpq and the certificates.
    ///
    /// # Errors
    /// [`Error::Url`] when the URL or a certificate file cannot be read.
    pub(crate) fn new(url: &str, application_name: &str) -> Result<Self, Error> {
        let DatabaseUrl { mut config, tls } = DatabaseUrl::parse(url)?;
        config.application_name(application_name);
        let connector = tls::client_config(&tls).map_err(|reason| Error::url(url, reason))?;
        Ok(Self {
            config,
            tls: MakeRustlsConnect::new(connector),
            has_accepted: AtomicBool::new(false),
        })
    }

    /// Connects once.
    ///
    /// # Errors
    /// [`Error::Connect`] with what to do.
    pub(crate) async fn connect(&self) -> Result<ServerConnection, Error> {
        let mut config = self.config.clone();
        if config.get_password().is_none()
            && let Some(password) = self.password()
        {
            config.password(password);
        }
        match config.connect(self.tls.clone()).await {
            Ok((client, connection)) => {
                self.has_accepted.store(true, Ordering::Relaxed);
                let driver = tokio::spawn(async move {
                    if let Err(error) = connection.await {
                        tracing::debug!(%error, "a connection to Postgres ended");
                    }
                });
                Ok(ServerConnection { client, driver: Driver(driver) })
            }
            Err(error) => Err(self.refusal(&error)),
        }
    }

    /// The error of a connection that was not made within `seconds`.
    pub(crate) fn no_answer(&self, seconds: f32) -> Error {
        let reason =
            format!("no answer in {seconds} s; is it running, and is --database-url right?");
        Error::Connect { place: self.place(), reason, transient: true }
    }

    /// The error of a call for which none of this client's connections became free.
    pub(crate) fn all_in_use(&self, connections: usize, seconds: f32) -> Error {
        let reason = format!(
            "none of the {connections} connections of this process became free in {seconds} s; \
             Postgres answers slowly, or their calls wait for locks"
        );
        Error::Connect { place: self.place(), reason, transient: true }
    }

    fn password(&self) -> Option<String> {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.as_str(),
            Some(Host::Unix(_)) | None => "localhost",
        };
        password_from_files(
            host,
            self.port(),
            self.config.get_dbname().unwrap_or_default(),
            self.user(),
        )
    }

    fn port(&self) -> u16 {
        self.config.get_ports().first().copied().unwrap_or(DEFAULT_PORT)
    }

    fn user(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }

    /// Host, port and database, or the folder of the socket and the database.
    fn place(&self) -> String {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => format!("{host}:{}", self.port()),
            Some(Host::Unix(folder)) => folder.display().to_string(),
            None => String::new(),
        };
        format!("{host}/{}", self.config.get_dbname().unwrap_or_default())
    }

    /// What a failure to connect means. A server that has accepted us before and refuses us now
    /// will accept us again: the password is being changed, or a token has expired before the next
    /// one was written.
    fn refusal(&self, error: &tokio_postgres::Error) -> Error {
        let was_accepted = self.has_accepted.load(Ordering::Relaxed);
        let user = self.user();
        let text = describe(error);
        let (reason, transient) = match error.code().map(|code| code.code()) {
            Some("28P01") => (
                format!("the password of user {user} was refused; correct it in DATABASE_URL"),
                was_accepted,
            ),
            Some("28000") => (format!("user {user} may not connect: {text}"), was_accepted),
            None if text.contains("TLS") => (
                format!(
                    "{text}; servers of other machines are verified: name the file of their \
                     authority with ?sslrootcert=FILE in DATABASE_URL, or say ?sslmode=require \
                     (encrypted, not verified) or ?sslmode=disable"
                ),
                was_accepted,
            ),
            Some("3D000") => ("that database does not exist; create it first".to_owned(), false),
            _ => (format!("{text}; is it running, and is --database-url right?"), true),
        };
        Error::Connect { place: self.place(), reason, transient }
    }
}
