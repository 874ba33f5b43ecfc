//! One call to Postgres: it has a connection to itself, and a time limit.
//!
//! Invariants: a call ends, even if the network or the server fails. If a call fails, its
//! connection is closed and never reused, unless Postgres refused the call on purpose. A statement
//! is sent with its values in one message and leaves nothing in the session, so that it works
//! through a pooler in transaction mode. When a client vanishes during a transaction, Postgres ends
//! the transaction after the limit and frees its locks.
//!
//! Does not depend on the statements.

use std::time::Duration;

use futures_util::future::{try_join, try_join4};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::{Client, Row};

use crate::{
    bind::{Bound, bind},
    error::Error,
    pool::{Pool, Pooled},
    row::{ColumnValue, first},
};

/// Time limit of a worker's call. Its statements take milliseconds, but when Postgres comes back
/// after an outage, all workers complete jobs at the same time.
pub(crate) const CALL_TIME: Duration = Duration::from_secs(60);
/// Time limit of a renewal. It is useless once the lease has expired, and it can be repeated.
pub(crate) const RENEWAL_TIME: Duration = Duration::from_secs(10);
/// Time limit of an operator's call, which may read or drop a whole scan.
const OPERATOR_TIME: Duration = Duration::from_secs(60 * 60);
/// How long a transaction may be idle before Postgres ends it. The client does no work between two
/// messages of a transaction, so only the network can delay the next one.
const IDLE_IN_TRANSACTION_TIME: Duration = Duration::from_secs(20);

const _: () = assert!(RENEWAL_TIME.as_secs() < CALL_TIME.as_secs());
const _: () = assert!(IDLE_IN_TRANSACTION_TIME.as_secs() <= CALL_TIME.as_secs());
const _: () = assert!(CALL_TIME.as_secs() <= OPERATOR_TIME.as_secs());

/// A connection with a deadline. Dropping it closes the connection, unless the call has succeeded.
#[derive(Debug)]
pub(crate) struct Call {
    connection: Pooled,
    deadline: Instant,
}

impl Call {
    async fn new(pool: &Pool, limit: Duration) -> Result<Self, Error> {
        let connection = pool.acquire().await?;
        Ok(Self { connection, deadline: Instant::now() + limit })
    }

    async fn within<T>(
        &self,
        request: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Error> {
        match timeout_at(self.deadline, request).await {
            Ok(answer) => answer.map_err(|error| {
                let error = Error::from(error);
                self.connection.note(&error);
                error
            }),
            Err(_elapsed) => Err(Error::TimedOut),
        }
    }

    /// Runs one statement in one round trip.
    pub(crate) async fn rows(&self, sql: &str, values: &[Bound<'_>]) -> Result<Vec<Row>, Error> {
        self.within(self.connection.client()?.query_typed(sql, values)).await
    }

    /// Runs statements without values.
    pub(crate) async fn script(&self, sql: &str) -> Result<(), Error> {
        self.within(self.connection.client()?.batch_execute(sql)).await
    }

    /// Ends a call outside of a transaction and returns its result. The connection is kept for the
    /// next call if the call succeeded or was refused on purpose.
    fn end<T>(self, result: Result<T, Error>) -> Result<T, Error> {
        if result.as_ref().err().is_none_or(Error::is_refusal) {
            self.connection.keep();
        }
        result
    }
}

/// Runs one statement in its own transaction, within the time limit of the pool's calls.
pub(crate) async fn run(pool: &Pool, sql: &str, values: &[Bound<'_>]) -> Result<Vec<Row>, Error> {
    let call = Call::new(pool, pool.call_time).await?;
    let rows = call.rows(sql, values).await;
    call.end(rows)
}

/// Runs two statements, each in its own transaction, without waiting between them. Calls `between`
/// when the first has succeeded, and drops the second's rows.
///
/// # Errors
/// Returns an error if either fails. Postgres runs the second even if the first fails.
pub(crate) async fn run_both(
    pool: &Pool,
    (first, values): (&str, &[Bound<'_>]),
    second: &str,
    between: impl FnOnce(),
) -> Result<Vec<Row>, Error> {
    let call = Call::new(pool, pool.call_time).await?;
    let client = call.connection.client()?;
    let both = async {
        let first = async {
            let rows = client.query_typed(first, values).await?;
            between();
            Ok(rows)
        };
        // Requests are sent in the order in which they are first polled, and replies arrive in this
        // order.
        let (rows, _) = try_join(first, client.query_typed(second, &[])).await?;
        Ok(rows)
    };
    let rows = call.within(both).await;
    call.end(rows)
}

/// The milliseconds after which Postgres ends a statement, and an idle transaction.
#[derive(Debug)]
struct CallLimits {
    statement_ms: String,
    idle_ms: String,
}

impl CallLimits {
    fn new(statement: Duration, idle: Duration) -> Self {
        let milliseconds = |time: Duration| time.as_millis().to_string();
        Self { statement_ms: milliseconds(statement), idle_ms: milliseconds(idle.min(statement)) }
    }

    /// Sets the limits for the open transaction. They end with it, so that a pooler's next client
    /// never sees them.
    async fn set(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        let sql = "select set_config('statement_timeout', $1, true),
                          set_config('idle_in_transaction_session_timeout', $2, true)";
        client.query_typed(sql, &[bind(&self.statement_ms), bind(&self.idle_ms)]).await.map(drop)
    }
}

/// A transaction. Unless it is committed, closing its connection rolls it back.
#[derive(Debug)]
pub(crate) struct Transaction(Call);

impl Transaction {
    /// Begins a transaction for a worker's call.
    pub(crate) async fn begin(pool: &Pool) -> Result<Self, Error> {
        Self::begin_within(pool, "begin", pool.call_time, IDLE_IN_TRANSACTION_TIME).await
    }

    /// Begins a transaction for an operator's call.
    pub(crate) async fn begin_long(pool: &Pool) -> Result<Self, Error> {
        Self::begin_within(pool, "begin", OPERATOR_TIME, IDLE_IN_TRANSACTION_TIME).await
    }

    /// Begins a transaction that reads one snapshot, and that may be idle for its whole `limit`
    /// while other sessions read this snapshot. Locks the table `kept` before the first read takes
    /// the snapshot, so that the table keeps its partitions.
    pub(crate) async fn begin_snapshot(
        pool: &Pool,
        limit: Duration,
        kept: Option<&str>,
    ) -> Result<Self, Error> {
        let mut begin = "begin isolation level repeatable read read only".to_owned();
        if let Some(table) = kept {
            begin += &format!("; lock table {table} in access share mode");
        }
        Self::begin_within(pool, &begin, limit, limit).await
    }

    async fn begin_within(
        pool: &Pool,
        begin: &str,
        limit: Duration,
        idle: Duration,
    ) -> Result<Self, Error> {
        let call = Call::new(pool, limit).await?;
        let client = call.connection.client()?;
        let limits = CallLimits::new(limit, idle);
        // Both are sent before the first reply is awaited, which takes one round trip.
        let both = try_join(client.batch_execute(begin), limits.set(client));
        call.within(both).await?;
        Ok(Self(call))
    }

    /// Runs one statement in its own transaction, with a worker's limits.
    pub(crate) async fn once(
        pool: &Pool,
        sql: &str,
        values: &[Bound<'_>],
    ) -> Result<Vec<Row>, Error> {
        Self::once_within(pool, pool.call_time, sql, values).await
    }

    /// Runs one statement in its own transaction, with an operator's limits.
    pub(crate) async fn once_long(
        pool: &Pool,
        sql: &str,
        values: &[Bound<'_>],
    ) -> Result<Vec<Row>, Error> {
        Self::once_within(pool, OPERATOR_TIME, sql, values).await
    }

    async fn once_within(
        pool: &Pool,
        limit: Duration,
        sql: &str,
        values: &[Bound<'_>],
    ) -> Result<Vec<Row>, Error> {
        let call = Call::new(pool, limit).await?;
        let client = call.connection.client()?;
        let limits = CallLimits::new(limit, IDLE_IN_TRANSACTION_TIME);
        // All four are sent before the first reply is awaited, which takes one round trip. If the
        // statement fails, Postgres treats the commit as a rollback.
        let all = try_join4(
            client.batch_execute("begin"),
            limits.set(client),
            client.query_typed(sql, values),
            client.batch_execute("commit"),
        );
        let rows = call.within(all).await.map(|(_, _, rows, _)| rows);
        call.end(rows)
    }

    /// Runs one statement.
    pub(crate) async fn rows(&self, sql: &str, values: &[Bound<'_>]) -> Result<Vec<Row>, Error> {
        self.0.rows(sql, values).await
    }

    /// Runs a statement that returns one value.
    pub(crate) async fn value<T: ColumnValue>(
        &self,
        sql: &str,
        values: &[Bound<'_>],
    ) -> Result<T, Error> {
        first(&self.rows(sql, values).await?)
    }

    /// Runs statements without values.
    pub(crate) async fn script(&self, sql: &str) -> Result<(), Error> {
        self.0.script(sql).await
    }

    /// Commits. Returns when the commit is on disk.
    pub(crate) async fn commit(self) -> Result<(), Error> {
        let committed = self.0.script("commit").await;
        self.0.end(committed)
    }
}
