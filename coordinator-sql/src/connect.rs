//! Connecting: one pool for work and one connection for renewals, so that work can't starve them.

use std::{
    str::FromStr,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use sqlx::{Row as _, postgres::PgConnectOptions};

use crate::{
    Error,
    call::{CALL_TIME, RENEWAL_TIME, Transaction},
    completer::Completer,
    pool::Pool,
    schema_digest,
};

/// How to connect.
#[derive(Debug, Clone)]
pub struct ConnectSettings {
    /// Connections for work, besides one for renewals.
    pub max_connections: u32,
    /// How long a call waits for a connection.
    pub acquire_timeout: Duration,
    /// How long a call may take, once it has a connection.
    pub call_time: Duration,
    /// How long a renewal may take.
    pub renewal_time: Duration,
    /// The name that Postgres shows for these connections.
    pub application_name: String,
}

impl Default for ConnectSettings {
    fn default() -> Self {
        Self {
            max_connections: 4,
            acquire_timeout: Duration::from_secs(10),
            call_time: CALL_TIME,
            renewal_time: RENEWAL_TIME,
            application_name: "everytab-worker".into(),
        }
    }
}

/// The server, by its URL. The password file (`PGPASSFILE`, `~/.pgpass`) is read for each
/// connection: where a token is the password, it is another one every few minutes.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    url: String,
    application_name: String,
    /// Whether it has let us in before.
    pub(crate) was_let_in: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn options(&self) -> Result<PgConnectOptions, Error> {
        let options = PgConnectOptions::from_str(&self.url).map_err(|error| Error::Url {
            url: without_password(&self.url),
            reason: error.to_string(),
        })?;
        Ok(options
            .application_name(&self.application_name)
            // Poolers refuse what they do not know of; numbers travel in binary anyway.
            .extra_float_digits(None)
            .statement_cache_capacity(0))
    }
}

/// The coordinator, as a client sees it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Coordinator {
    pub(crate) work: Pool,
    pub(crate) renewals: Pool,
    pub(crate) completer: Arc<Completer>,
}

impl Coordinator {
    /// Connects and checks that a connection can be had.
    ///
    /// # Errors
    /// [`Error::Url`] for a URL that is none, [`Error::Connect`] with what to do otherwise.
    pub async fn connect(url: &str, settings: &ConnectSettings) -> Result<Self, Error> {
        let server = Server {
            url: url.to_owned(),
            application_name: settings.application_name.clone(),
            was_let_in: Arc::default(),
        };
        let pool = |size, limit| Pool::new(server.clone(), size, settings.acquire_timeout, limit);
        let coordinator = Self {
            work: pool(settings.max_connections, settings.call_time),
            renewals: pool(1, settings.renewal_time),
            completer: Arc::default(),
        };
        coordinator.work.try_first().await?;
        Ok(coordinator)
    }

    /// Checks that the database was migrated to this program's schema.
    ///
    /// # Errors
    /// [`Error::NoSchema`] or [`Error::Schema`] when it was not.
    pub async fn check_schema(&self) -> Result<(), Error> {
        let own = schema_digest();
        let found = match self.scalar::<Option<String>>("select coordinator.schema_digest()").await
        {
            Ok(digest) => digest,
            Err(Error::Query(sqlx::Error::Database(error)))
                if matches!(error.code().as_deref(), Some("3F000" | "42883" | "42P01")) =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        match found {
            Some(found) if found == own => Ok(()),
            Some(found) => Err(Error::Schema { found, own }),
            None => Err(Error::NoSchema),
        }
    }

    /// Closes the connections.
    pub async fn close(&self) {
        self.work.close().await;
        self.renewals.close().await;
    }

    /// The server's version as a number, such as 150018, and whether this role owns the schema.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn server_version(&self) -> Result<i32, Error> {
        self.scalar("select current_setting('server_version_num')::integer").await
    }

    /// Whether the connected role may create roles and schemas, as `migrate` must.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn may_migrate(&self) -> Result<bool, Error> {
        self.scalar(
            "select rolsuper or (rolcreaterole and has_database_privilege(current_database(), \
             'create')) from pg_roles where rolname = current_user",
        )
        .await
    }

    /// A transaction of a worker's call.
    pub(crate) async fn begin(&self) -> Result<Transaction, Error> {
        Transaction::begin(&self.work).await
    }

    /// A transaction of an operator's call, which may read or drop a whole scan.
    pub(crate) async fn begin_long(&self) -> Result<Transaction, Error> {
        Transaction::begin_long(&self.work).await
    }

    /// The one value of a single statement without parameters.
    pub(crate) async fn scalar<T>(&self, sql: &str) -> Result<T, Error>
    where
        T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
    {
        let rows = self.call(&self.work, sql.to_owned()).await?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        Ok(row.try_get(0)?)
    }
}

/// What a failure to connect means. A refusal by a server that let us in before will pass: the
/// password is being changed, or a token has ended before the next was there.
pub(crate) fn connect_error(
    options: &PgConnectOptions,
    error: sqlx::Error,
    was_let_in: bool,
) -> Error {
    let place = match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    let place = format!("{place}/{}", options.get_database().unwrap_or_default());
    let code = error.as_database_error().and_then(|d| d.code()).map(|c| c.to_string());
    let user = options.get_username();
    let (reason, transient) = match code.as_deref() {
        Some("28P01") => (
            format!("the password of user {user} was refused; correct it in DATABASE_URL"),
            was_let_in,
        ),
        Some("28000") => (format!("user {user} may not connect: {error}"), was_let_in),
        Some("3D000") => ("that database does not exist; create it first".to_owned(), false),
        _ => (format!("{error}; is it running, and is --database-url right?"), true),
    };
    Error::Connect { place, reason, transient }
}

/// A database URL that may be shown: the password is replaced by three dots.
pub(crate) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "(not a URL)".into() };
    match rest.rsplit_once('@') {
        Some((user, host)) => {
            let name = user.split_once(':').map_or(user, |(name, _)| name);
            format!("{scheme}://{name}:...@{host}")
        }
        None => format!("{scheme}://{rest}"),
    }
}
