//! The client, with a pool of connections for work and one connection for renewals, so that work
//! cannot delay renewals.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    connection::{
        bind::Bound,
        call::{CALL_TIME, CallLimits, RENEWAL_TIME, Transaction, run, run_within},
        pool::Pool,
        row::{ColumnValue, FromRow, first, values},
        server::PostgresServer,
        transient::retry_transient,
    },
    error::Error,
    queue::group_commit::GroupCommit,
};

/// How long a load is retried after transient errors: the duration of a slot's lease.
const PATIENCE: Duration = Duration::from_secs(30);

/// Connection settings.
#[derive(Debug, Clone)]
pub struct ConnectSettings {
    /// Maximum connections for work, in addition to the connection for renewals.
    pub max_connections: u32,
    /// How long a call waits for a connection, up to 10 seconds of it for connecting.
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

/// The coordinator's client, which is cheap to clone.
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

    /// Closes the connections.
    pub async fn close(&self) {
        self.work.close().await;
        self.renewals.close().await;
    }

    pub(crate) async fn begin(&self) -> Result<Transaction, Error> {
        Transaction::begin(&self.work, &CallLimits::of_a_worker(self.work.call_time)).await
    }

    pub(crate) async fn begin_long(&self) -> Result<Transaction, Error> {
        Transaction::begin(&self.work, &CallLimits::of_an_operator()).await
    }

    pub(crate) async fn value<T: ColumnValue>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<T, Error> {
        first(&run(&self.work, sql, parameters).await?)
    }

    pub(crate) async fn rows<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Vec<T>, Error> {
        values(&run(&self.work, sql, parameters).await?)
    }

    pub(crate) async fn row_if_any<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Option<T>, Error> {
        Ok(self.rows(sql, parameters).await?.into_iter().next())
    }

    pub(crate) async fn row<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<T, Error> {
        self.row_if_any(sql, parameters).await?.ok_or_else(no_row)
    }

    pub(crate) async fn done(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<(), Error> {
        run(&self.work, sql, parameters).await.map(drop)
    }

    /// Retries a statement that only reads, so that a restart of Postgres does not count as a
    /// failed attempt at a job.
    pub(crate) async fn load<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Vec<T>, Error> {
        let read = || run(&self.work, sql, parameters);
        values(&retry_transient(Instant::now() + PATIENCE, read).await?)
    }

    pub(crate) async fn load_if_any<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Option<T>, Error> {
        Ok(self.load(sql, parameters).await?.into_iter().next())
    }

    pub(crate) async fn load_column<T: ColumnValue>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Vec<T>, Error> {
        Ok(self.load(sql, parameters).await?.into_iter().map(|(value,)| value).collect())
    }

    pub(crate) async fn operator_value<T: ColumnValue>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<T, Error> {
        first(&run_within(&self.work, &CallLimits::of_an_operator(), sql, parameters).await?)
    }

    pub(crate) async fn operator_rows<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Vec<T>, Error> {
        values(&run_within(&self.work, &CallLimits::of_an_operator(), sql, parameters).await?)
    }

    pub(crate) async fn operator_row_if_any<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Option<T>, Error> {
        Ok(self.operator_rows(sql, parameters).await?.into_iter().next())
    }

    pub(crate) async fn operator_row<T: FromRow>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<T, Error> {
        self.operator_row_if_any(sql, parameters).await?.ok_or_else(no_row)
    }

    pub(crate) async fn operator_column<T: ColumnValue>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<Vec<T>, Error> {
        Ok(self.operator_rows(sql, parameters).await?.into_iter().map(|(value,)| value).collect())
    }

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
