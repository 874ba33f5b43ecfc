//! The client. It has a pool of connections for work and a separate connection for renewals, so
//! that work cannot delay renewals.
//!
//! Its calls are in other modules (`queue`, `crawl`, `load`, `scans`, `blocklist`, `backup`,
//! `migrate`), each in its own `impl Coordinator`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    bind::Bound,
    call::{CALL_TIME, CallLimits, RENEWAL_TIME, Transaction, run, run_within},
    error::Error,
    group_commit::GroupCommit,
    pool::Pool,
    row::{ColumnValue, FromRow, first, values},
    schema::schema_digest,
    server::PostgresServer,
    transient::retry_transient,
};

/// How long a load is retried after transient errors. This equals the duration of a slot's lease.
const PATIENCE: Duration = Duration::from_secs(30);

/// Connection settings.
#[derive(Debug, Clone)]
pub struct ConnectSettings {
    /// Maximum connections for work, in addition to the connection for renewals.
    pub max_connections: u32,
    /// How long a call waits for a connection. Up to 10 seconds of this time may be spent
    /// connecting.
    pub acquire_timeout: Duration,
    /// Time limit for a call after it has a connection.
    pub call_time: Duration,
    /// Time limit for a renewal.
    pub renewal_time: Duration,
    /// The name that Postgres shows for these connections.
    pub application_name: String,
}

impl Default for ConnectSettings {
    fn default() -> Self {
        Self {
            max_connections: 4,
            acquire_timeout: Duration::from_secs(30),
            call_time: CALL_TIME,
            renewal_time: RENEWAL_TIME,
            application_name: "everytab-worker".into(),
        }
    }
}

/// The coordinator's client. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Coordinator {
    pub(crate) work: Pool,
    pub(crate) renewals: Pool,
    pub(crate) group_commit: Arc<GroupCommit>,
}

impl Coordinator {
    /// Creates a client and checks that it can connect.
    ///
    /// # Errors
    /// Returns [`Error::Url`] for an invalid URL, or [`Error::Connect`] with a remedy.
    pub async fn connect(url: &str, settings: &ConnectSettings) -> Result<Self, Error> {
        let server = Arc::new(PostgresServer::new(url, &settings.application_name)?);
        let pool = |size, call_time| {
            Pool::new(Arc::clone(&server), size, settings.acquire_timeout, call_time)
        };
        let coordinator = Self {
            work: pool(settings.max_connections, settings.call_time)?,
            renewals: pool(1, settings.renewal_time)?,
            group_commit: Arc::default(),
        };
        coordinator.work.connect_once().await?;
        Ok(coordinator)
    }

    /// Checks that the database was migrated to this program's schema.
    ///
    /// # Errors
    /// Returns [`Error::NoSchema`] or [`Error::Schema`] if it was not.
    pub async fn check_schema(&self) -> Result<(), Error> {
        let own = schema_digest();
        let found: Option<String> =
            match self.value("select coordinator.schema_digest()", &[]).await {
                Ok(digest) => digest,
                // The schema, function or table is missing.
                Err(error) if matches!(error.sqlstate(), Some("3F000" | "42883" | "42P01")) => None,
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

    /// Returns the server's version as a number, such as 150018.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn server_version(&self) -> Result<i32, Error> {
        self.value("select current_setting('server_version_num')::integer", &[]).await
    }

    /// Returns the database's encoding, such as UTF8.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn encoding(&self) -> Result<String, Error> {
        self.value("select current_setting('server_encoding')", &[]).await
    }

    /// Returns the isolation level for transactions that do not specify one. The server, the
    /// database or the role sets it.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn default_isolation(&self) -> Result<String, Error> {
        self.value("select current_setting('default_transaction_isolation')", &[]).await
    }

    /// Returns whether the connected role may create roles and schemas, as `migrate` requires.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn may_migrate(&self) -> Result<bool, Error> {
        self.value(
            "select rolsuper or (rolcreaterole and has_database_privilege(current_database(), \
             'create')) from pg_roles where rolname = current_user",
            &[],
        )
        .await
    }

    /// Returns whether the connected role may call the HTTP service's functions.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or if the database was never migrated.
    pub async fn may_serve(&self) -> Result<bool, Error> {
        self.value("select has_schema_privilege('api', 'usage')", &[]).await
    }

    /// Begins a transaction for a worker's call.
    pub(crate) async fn begin(&self) -> Result<Transaction, Error> {
        Transaction::begin(&self.work, &CallLimits::of_a_worker(self.work.call_time)).await
    }

    /// Begins a transaction for an operator's call, which may read or drop a whole scan.
    pub(crate) async fn begin_long(&self) -> Result<Transaction, Error> {
        Transaction::begin(&self.work, &CallLimits::of_an_operator()).await
    }

    /// Runs a statement in a worker's call and returns its only value.
    pub(crate) async fn value<T: ColumnValue>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<T, Error> {
        first(&run(&self.work, sql, parameters).await?)
    }

    /// Runs a statement in a worker's call and returns all rows.
    pub(crate) async fn rows<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Vec<T>, Error> {
        values(&run(&self.work, sql, parameters).await?)
    }

    /// Runs a statement in a worker's call and returns its only row. `None` if there is no row.
    pub(crate) async fn row_if_any<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Option<T>, Error> {
        Ok(self.rows(sql, parameters).await?.into_iter().next())
    }

    /// Runs a statement in a worker's call and returns its only row.
    pub(crate) async fn row<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<T, Error> {
        self.row_if_any(sql, parameters).await?.ok_or_else(no_row)
    }

    /// Runs a statement without a result in a worker's call.
    pub(crate) async fn done(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<(), Error> {
        run(&self.work, sql, parameters).await.map(drop)
    }

    /// Runs a statement that only reads, and returns its rows. Retries it after transient errors,
    /// so that a restart of Postgres or a broken connection does not count as a failed attempt at a
    /// job.
    pub(crate) async fn load<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Vec<T>, Error> {
        let read = || run(&self.work, sql, parameters);
        values(&retry_transient(Instant::now() + PATIENCE, read).await?)
    }

    /// Works like [`Coordinator::load`] and returns the only row. `None` if there is no row.
    pub(crate) async fn load_if_any<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Option<T>, Error> {
        Ok(self.load(sql, parameters).await?.into_iter().next())
    }

    /// Works like [`Coordinator::load`] for a statement with one column.
    pub(crate) async fn load_column<T: ColumnValue>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Vec<T>, Error> {
        Ok(self.load(sql, parameters).await?.into_iter().map(|(value,)| value).collect())
    }

    /// Runs a statement in an operator's transaction and returns its only value.
    pub(crate) async fn operator_value<T: ColumnValue>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<T, Error> {
        first(&run_within(&self.work, &CallLimits::of_an_operator(), sql, parameters).await?)
    }

    /// Runs a statement in an operator's transaction and returns all rows.
    pub(crate) async fn operator_rows<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Vec<T>, Error> {
        values(&run_within(&self.work, &CallLimits::of_an_operator(), sql, parameters).await?)
    }

    /// Runs a statement in an operator's transaction and returns its only row. `None` if there is
    /// no row.
    pub(crate) async fn operator_row_if_any<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Option<T>, Error> {
        Ok(self.operator_rows(sql, parameters).await?.into_iter().next())
    }

    /// Runs a statement in an operator's transaction and returns its only row.
    pub(crate) async fn operator_row<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<T, Error> {
        self.operator_row_if_any(sql, parameters).await?.ok_or_else(no_row)
    }

    /// Runs a statement with one column in an operator's transaction and returns its values.
    pub(crate) async fn operator_column<T: ColumnValue>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Vec<T>, Error> {
        Ok(self.operator_rows(sql, parameters).await?.into_iter().map(|(value,)| value).collect())
    }

    /// Runs a statement without a result in an operator's transaction.
    pub(crate) async fn operator_done(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<(), Error> {
        run_within(&self.work, &CallLimits::of_an_operator(), sql, parameters).await.map(drop)
    }
}

fn no_row() -> Error {
    Error::Unexpected("no row".into())
}
