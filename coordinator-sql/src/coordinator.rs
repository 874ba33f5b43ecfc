//! The client: one pool for work, and one connection for renewals, so that work cannot delay them.
//!
//! What it does is in the modules above this one (`verbs`, `load`, `scans`, `blocklist`, `backup`,
//! `migrate`), each with its own `impl Coordinator`.

use std::{sync::Arc, time::Duration};

use sqlx::{FromRow, Postgres, Row as _};

use crate::{
    call::{CALL_TIME, RENEWAL_TIME, Transaction},
    error::Error,
    group_commit::GroupCommit,
    pool::Pool,
    schema::schema_digest,
    server::Server,
    statement::call,
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

/// The coordinator, as a client sees it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Coordinator {
    pub(crate) work: Pool,
    pub(crate) renewals: Pool,
    pub(crate) group_commit: Arc<GroupCommit>,
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
            group_commit: Arc::default(),
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

    /// The server's version as a number, such as 150018.
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
        let rows = call(&self.work, sql.to_owned()).await?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        Ok(row.try_get(0)?)
    }

    /// The one value of a query, in an operator's transaction.
    pub(crate) async fn one<'q, T>(
        &self,
        query: sqlx::query::QueryScalar<'q, Postgres, T, sqlx::postgres::PgArguments>,
    ) -> Result<T, Error>
    where
        (T,): for<'r> FromRow<'r, sqlx::postgres::PgRow>,
        T: Send + Unpin,
    {
        let mut transaction = self.begin_long().await?;
        let value = query.persistent(false).fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(value)
    }

    /// All rows of a query, in an operator's transaction.
    pub(crate) async fn all<'q, T>(
        &self,
        query: sqlx::query::QueryAs<'q, Postgres, T, sqlx::postgres::PgArguments>,
    ) -> Result<Vec<T>, Error>
    where
        T: for<'r> FromRow<'r, sqlx::postgres::PgRow> + Send + Unpin,
    {
        let mut transaction = self.begin_long().await?;
        let rows = query.persistent(false).fetch_all(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(rows)
    }
}
