//! Connecting: one pool for work and one connection for renewals, so that work can't starve them.

use std::{str::FromStr, sync::Arc, time::Duration};

use sqlx::{
    PgPool, Postgres, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{Error, completer::Completer, schema_digest};

/// How to connect.
#[derive(Debug, Clone)]
pub struct ConnectSettings {
    /// Connections for work, besides one for renewals.
    pub max_connections: u32,
    /// How long a call waits for a connection.
    pub acquire_timeout: Duration,
    /// The name that Postgres shows for these connections.
    pub application_name: String,
}

impl Default for ConnectSettings {
    fn default() -> Self {
        Self {
            max_connections: 4,
            acquire_timeout: Duration::from_secs(10),
            application_name: "everytab-worker".into(),
        }
    }
}

/// The coordinator, as a client sees it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Coordinator {
    pub(crate) work: PgPool,
    pub(crate) renewals: PgPool,
    pub(crate) completer: Arc<Completer>,
}

impl Coordinator {
    /// Connects and checks that a connection can be had.
    ///
    /// # Errors
    /// [`Error::Url`] for a URL that is none, [`Error::Connect`] with what to do otherwise.
    pub async fn connect(url: &str, settings: &ConnectSettings) -> Result<Self, Error> {
        let options = PgConnectOptions::from_str(url)
            .map_err(|error| Error::Url { url: without_password(url), reason: error.to_string() })?
            .application_name(&settings.application_name)
            .statement_cache_capacity(0);
        let pool = |size| {
            PgPoolOptions::new()
                .max_connections(size)
                .acquire_timeout(settings.acquire_timeout)
                .idle_timeout(Duration::from_secs(60))
                .test_before_acquire(false)
                .connect_lazy_with(options.clone())
        };
        let coordinator = Self {
            work: pool(settings.max_connections),
            renewals: pool(1),
            completer: Arc::default(),
        };
        // The pool reports a refused connection only as a timeout: ask once without it.
        match sqlx::ConnectOptions::connect(&options).await {
            Ok(connection) => drop(sqlx::Connection::close(connection).await),
            Err(error) => return Err(connect_error(&options, error)),
        }
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

    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Postgres>, Error> {
        Ok(self.work.begin().await?)
    }

    async fn scalar<T>(&self, sql: &'static str) -> Result<T, Error>
    where
        T: for<'r> sqlx::Decode<'r, Postgres> + sqlx::Type<Postgres> + Send + Unpin,
    {
        let mut transaction = self.begin().await?;
        let value = sqlx::query_scalar(sql).persistent(false).fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(value)
    }
}

fn connect_error(options: &PgConnectOptions, error: sqlx::Error) -> Error {
    let place = match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    let place = format!("{place}/{}", options.get_database().unwrap_or_default());
    let code = error.as_database_error().and_then(|d| d.code()).map(|c| c.to_string());
    let user = options.get_username();
    let (reason, transient) = match code.as_deref() {
        Some("28P01") => {
            (format!("the password of user {user} was refused; correct it in DATABASE_URL"), false)
        }
        Some("28000") => (format!("user {user} may not connect: {error}"), false),
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
