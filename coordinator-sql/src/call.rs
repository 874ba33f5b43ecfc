//! One call to Postgres: a connection for its time alone, and no longer than its limit.
//!
//! Invariants: a call ends, whatever becomes of the network or the server; a connection on which a
//! call did not end well is closed, never used again, unless Postgres refused the call on purpose.
//! A statement travels with its values in one message and leaves nothing in the session, so that a
//! pooler in transaction mode may stand between. When a client vanishes in the middle of a
//! transaction, Postgres ends the transaction by itself after the limit and frees its locks.
//! Must not know: what is called.

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

/// Limit of a worker's call. Its statements take milliseconds; but when Postgres comes back after
/// an outage, all workers complete jobs at the same time.
pub(crate) const CALL_TIME: Duration = Duration::from_secs(60);
/// Limit of a renewal. It is worth nothing once the lease has expired, and it can be repeated.
pub(crate) const RENEWAL_TIME: Duration = Duration::from_secs(10);
/// Limit of an operator's call, which may read or drop a whole scan.
const OPERATOR_TIME: Duration = Duration::from_secs(60 * 60);
/// How long a transaction may be idle before Postgres ends it. The client does no work between two
/// messages of a transaction, so only the network can delay the next one.
const IDLE_IN_TRANSACTION_TIME: Duration = Duration::from_secs(20);

const _: () = assert!(RENEWAL_TIME.as_secs() < CALL_TIME.as_secs());
const _: () = assert!(IDLE_IN_TRANSACTION_TIME.as_secs() <= CALL_TIME.as_secs());
const _: () = assert!(CALL_TIME.as_secs() <= OPERATOR_TIME.as_secs());

/// A connection with a deadline, closed when dropped before the call has ended well.
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

    /// Runs one statement: a message there, a message back.
    pub(crate) async fn rows(&self, sql: &str, values: &[Bound<'_>]) -> Result<Vec<Row>, Error> {
        self.within(self.connection.client()?.query_typed(sql, values)).await
    }

    /// Runs statements that have no values.
    pub(crate) async fn script(&self, sql: &str) -> Result<(), Error> {
        self.within(self.connection.client()?.batch_execute(sql)).await
    }

    /// Ends the call, outside of a transaction: its connection may serve the next one if the call
    /// has ended well or was refused on purpose. Returns what it gave.
    fn end<T>(self, result: Result<T, Error>) -> Result<T, Error> {
        if result.as_ref().err().is_none_or(Error::is_refusal) {
            self.connection.keep();
        }
        result
    }
}

/// Runs one statement in a transaction of its own, and waits no longer than the pool's calls may
/// take.
pub(crate) async fn run(pool: &Pool, sql: &str, values: &[Bound<'_>]) -> Result<Vec<Row>, Error> {
    let call = Call::new(pool, pool.call_time).await?;
    let rows = call.rows(sql, values).await;
    call.end(rows)
}

/// Runs two statements, each in a transaction of its own, sent one behind the other without
/// waiting. `between` is called when the first has ended well; the second's rows are dropped.
///
/// # Errors
/// When either fails. A failure of the first does not keep Postgres from running the second.
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
        // Requests leave in the order in which they are first polled, and so do answers arrive.
        let (rows, _) = try_join(first, client.query_typed(second, &[])).await?;
        Ok(rows)
    };
    let rows = call.within(both).await;
    call.end(rows)
}

/// After how many milliseconds Postgres ends a statement, and a transaction that is idle.
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

    /// Sets the limits for the open transaction. They end with it, so a pooler's next client never
    /// sees them.
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
    /// A transaction of a worker's call.
    pub(crate) async fn begin(pool: &Pool) -> Result<Self, Error> {
        Self::begin_within(pool, "begin", pool.call_time, IDLE_IN_TRANSACTION_TIME).await
    }

    /// A transaction of an operator's call.
    pub(crate) async fn begin_long(pool: &Pool) -> Result<Self, Error> {
        Self::begin_within(pool, "begin", OPERATOR_TIME, IDLE_IN_TRANSACTION_TIME).await
    }

    /// A transaction that reads one snapshot, and may be idle for its whole `limit` while other
    /// sessions read the same snapshot. The table `kept` keeps its partitions for as long: it is
    /// locked before the first statement that reads, which takes the snapshot.
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
        // Both are sent before the first answer is awaited: one round trip.
        let both = try_join(client.batch_execute(begin), limits.set(client));
        call.within(both).await?;
        Ok(Self(call))
    }

    /// Runs one statement in a worker's transaction of its own.
    pub(crate) async fn once(
        pool: &Pool,
        sql: &str,
        values: &[Bound<'_>],
    ) -> Result<Vec<Row>, Error> {
        Self::once_within(pool, pool.call_time, sql, values).await
    }

    /// Runs one statement in an operator's transaction of its own.
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
        // All four are sent before the first answer is awaited: one round trip. When the statement
        // fails, Postgres takes the commit for a rollback.
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

    /// Runs a statement that answers one value.
    pub(crate) async fn value<T: ColumnValue>(
        &self,
        sql: &str,
        values: &[Bound<'_>],
    ) -> Result<T, Error> {
        first(&self.rows(sql, values).await?)
    }

    /// Runs statements that have no values.
    pub(crate) async fn script(&self, sql: &str) -> Result<(), Error> {
        self.0.script(sql).await
    }

    /// Commits. Returns when the commit is on disk.
    pub(crate) async fn commit(self) -> Result<(), Error> {
        let committed = self.0.script("commit").await;
        self.0.end(committed)
    }
}
