//! Connects to one Postgres server, and explains failures to connect.
//!
//! The password file is read again for each connection, because the password may be a token that is
//! replaced every few minutes.

use std::{
    error::Error as _,
    fmt, io,
    sync::atomic::{AtomicBool, Ordering},
};

use chrono::{SecondsFormat, Utc};
use rustls::{CertificateError, Error as TlsError};
use tokio_postgres::{
    Client, Config,
    config::Host,
    types::{ToSql, Type},
};
use tokio_postgres_rustls::MakeRustlsConnect;
use uuid::Uuid;

use crate::{
    connection::{
        database_url::DatabaseUrl,
        password_file::{password_from_files, usual_path},
        server_connection::ServerConnection,
        tls,
    },
    error::{Error, describe},
};

const DEFAULT_PORT: u16 = 5432;
/// A session with this setting's value belongs to one connection.
const SESSION: &str = "everytab.session";

pub(crate) struct PostgresServer {
    config: Config,
    tls: MakeRustlsConnect,
    password_source: Option<&'static str>,
    /// Whether this server has accepted a connection before.
    has_accepted: AtomicBool,
    /// Whether a pooler has rejected [`SESSION`], so that it is not sent again.
    is_pooler: AtomicBool,
}

impl fmt::Debug for PostgresServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresServer")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl PostgresServer {
    /// Returns [`Error::Url`] if the URL or a certificate file cannot be read.
    pub(crate) fn new(url: &str, application_name: &str) -> Result<Self, Error> {
        let DatabaseUrl { mut config, tls, password_source } = DatabaseUrl::parse(url)?;
        config.application_name(application_name);
        let connector = tls::client_config(&tls).map_err(|reason| Error::url(url, reason))?;
        Ok(Self {
            config,
            tls: MakeRustlsConnect::new(connector),
            password_source,
            has_accepted: AtomicBool::new(false),
            is_pooler: AtomicBool::new(false),
        })
    }

    /// Returns [`Error::Connect`] with a remedy.
    pub(super) async fn connect(&self) -> Result<ServerConnection, Error> {
        let mut config = self.config.clone();
        let mut source = self.password_source.map(str::to_owned);
        if config.get_password().is_none()
            && let Some((password, path)) = password_from_files(&self.fields_for_password())
        {
            config.password(password);
            source = Some(path.display().to_string());
        }
        let token = Uuid::new_v4().simple().to_string();
        let mut with_token = config.clone();
        let options = config.get_options().map(|options| format!("{options} ")).unwrap_or_default();
        with_token.options(format!("{options}-c {SESSION}={token}"));
        let connected = if self.is_pooler.load(Ordering::Relaxed) {
            config.connect(self.tls.clone()).await
        } else {
            match with_token.connect(self.tls.clone()).await {
                Err(error) if may_reject_setting(&error) => {
                    let without = config.connect(self.tls.clone()).await;
                    self.is_pooler.store(without.is_ok(), Ordering::Relaxed);
                    without
                }
                other => other,
            }
        };
        let (client, connection) =
            connected.map_err(|error| self.refusal(&error, source.as_deref()))?;
        self.has_accepted.store(true, Ordering::Relaxed);
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to Postgres ended");
            }
        });
        let mut connection = ServerConnection::new(client, driver);
        let is_own = has_setting(&connection.client, &token).await;
        if is_own.map_err(|error| self.refusal(&error, source.as_deref()))? {
            connection.name_statements();
        }
        Ok(connection)
    }

    pub(super) fn no_answer(&self, seconds: f32) -> Error {
        let reason = format!(
            "no response in {seconds} s; check that it is running and that --database-url is \
             correct"
        );
        Error::Connect { place: self.place(), reason, transient: true }
    }

    pub(super) fn all_in_use(&self, connections: usize, seconds: f32) -> Error {
        let reason = format!(
            "all {connections} connections of this process were busy for {seconds} s; \
             Postgres responds slowly, or the calls are waiting for locks"
        );
        Error::Connect { place: self.place(), reason, transient: true }
    }

    fn fields_for_password(&self) -> [String; 4] {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.as_str(),
            Some(Host::Unix(_)) | None => "localhost",
        };
        let database = self.config.get_dbname().unwrap_or_default();
        [host, &self.port().to_string(), database, self.user()].map(str::to_owned)
    }

    fn port(&self) -> u16 {
        self.config.get_ports().first().copied().unwrap_or(DEFAULT_PORT)
    }

    fn user(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }

    fn place(&self) -> String {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => format!("{host}:{}", self.port()),
            Some(Host::Unix(folder)) => folder.display().to_string(),
            None => String::new(),
        };
        format!("{host}/{}", self.config.get_dbname().unwrap_or_default())
    }

    /// If the server has accepted us before, a rejection is transient: the password is being
    /// changed, or a token has expired before it was replaced.
    fn refusal(&self, error: &tokio_postgres::Error, password_source: Option<&str>) -> Error {
        let was_accepted = self.has_accepted.load(Ordering::Relaxed);
        let user = self.user();
        let text = describe(error);
        let (reason, transient) = match error.code().map(|code| code.code()) {
            Some("28P01") => {
                let source = password_source.unwrap_or("DATABASE_URL");
                (
                    format!(
                        "Postgres rejected the password of user {user}, which is from {source}: \
                         correct it there, or set it as the role's password (`\\password {user}` \
                         in psql, as its owner)"
                    ),
                    was_accepted,
                )
            }
            Some("28000") => (format!("user {user} may not connect: {text}"), was_accepted),
            None if text.contains("password missing") => (self.no_password(), true),
            None if certificate_fault(error).is_some_and(is_out_of_time) => {
                let now = Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true);
                (
                    format!(
                        "{text}; check this machine's clock, which shows {now}, then the dates of \
                         the server's certificate"
                    ),
                    was_accepted,
                )
            }
            None if certificate_fault(error).is_some_and(is_other_name) => {
                (format!("{text}; connect to a hostname that is in the certificate"), was_accepted)
            }
            None if text.contains("TLS") => (
                format!(
                    "{text}; remote servers are verified: add ?sslrootcert=FILE with the server's \
                     CA certificate to DATABASE_URL, or use ?sslmode=require (encrypted, not \
                     verified) or ?sslmode=disable"
                ),
                was_accepted,
            ),
            Some("3D000") => ("that database does not exist; create it first".to_owned(), false),
            _ => (
                format!("{text}; check that it is running and that --database-url is correct"),
                true,
            ),
        };
        Error::Connect { place: self.place(), reason, transient }
    }

    fn no_password(&self) -> String {
        let user = self.user();
        let fields = self.fields_for_password().join(":");
        let file = usual_path()
            .map_or("a password file".to_owned(), |path| format!("{} (mode 0600)", path.display()));
        format!(
            "the server requires a password for user {user}, but none is set: set PGPASSWORD, or \
             add the line {fields}:PASSWORD to {file}; a role that `migrate` created has no \
             password until its owner sets one (`\\password {user}` in psql)"
        )
    }
}

/// Poolers use different codes for a rejected setting, so this includes every error except those
/// about the user, the database or capacity.
fn may_reject_setting(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| {
        !matches!(code.code().get(..2).unwrap_or_default(), "28" | "3D" | "53" | "57")
    })
}

async fn has_setting(client: &Client, token: &str) -> Result<bool, tokio_postgres::Error> {
    let sql = "select coalesce(current_setting($1, true), '') = $2";
    let values: [(&(dyn ToSql + Sync), Type); 2] = [(&SESSION, Type::TEXT), (&token, Type::TEXT)];
    let rows = client.query_typed(sql, &values).await?;
    rows.first().map_or(Ok(false), |row| row.try_get(0))
}

fn is_out_of_time(fault: &CertificateError) -> bool {
    matches!(
        fault,
        CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. }
    )
}

fn is_other_name(fault: &CertificateError) -> bool {
    matches!(
        fault,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
    )
}

fn certificate_fault(error: &tokio_postgres::Error) -> Option<&CertificateError> {
    let mut source = error.source();
    while let Some(found) = source {
        if let Some(TlsError::InvalidCertificate(fault)) = found.downcast_ref::<TlsError>() {
            return Some(fault);
        }
        // An `io::Error` skips the error that it contains and returns that error's source, so check
        // the contained error first.
        let inner = found.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        source = match inner {
            Some(inner) => Some(inner),
            None => found.source(),
        };
    }
    None
}
