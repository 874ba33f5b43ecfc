//! One call to Postgres: it has a connection to itself, and a time limit.
//!
//! Invariants: a call ends, even if the network or the server fails. If a call fails, its
//! connection is closed and never reused, unless Postgres refused the call on purpose. A statement
//! is sent with its values in one message. It leaves nothing in a session that others may use
//! (`connection.rs`), so that it works through a pooler in transaction mode. When a client vanishes
//! during a transaction, Postgres ends the transaction after the limit and frees its locks. Every
//! transaction names its isolation level, except for calls that are right in any.
//!
//! Does not depend on the statements.

use std::time::Duration;

use futures_util::future::{try_join, try_join3};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;

use crate::{
    bind::Bound,
    connection::ServerConnection,
    error::Error,
    pool::{Pool, Pooled},
    row::{ColumnValue, first},
};

/// Time limit of a worker's call. Its statements take milliseconds, but when Postgres comes back
/// after an outage, all workers complete jobs at the same time.
pub(crate) const CALL_TIME: Duration = Duration::from_secs(60);
/// Time limit of a renewal. It is useless once the lease has expired, and it can be repeated.
pub(crate) const RENEWAL_TIME: Duration = Duration::from_secs(10);
/// Maximum wait of a worker's call for a lock, half of the limit that the workers' roles have. An
/// operator's call never keeps a lock that workers need for nearly as long.
const LOCK_TIME: Duration = Duration::from_secs(30);
/// The isolation level of every transaction that writes: a statement sees what other transactions
/// committed while it waited for them.
const READ_COMMITTED: &str = "read committed";
/// Time limit of an operator's call, which may read or drop a whole scan.
const OPERATOR_TIME: Duration = Duration::from_secs(60 * 60);
/// How long a transaction may be idle before Postgres ends it. The client does no work between two
/// messages of a transaction, so only the network can delay the next one.
const IDLE_IN_TRANSACTION_TIME: Duration = Duration::from_secs(20);

const _: () = assert!(LOCK_TIME.as_secs() < CALL_TIME.as_secs());
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

    async fn within<T>(&self, request: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        match timeout_at(self.deadline, request).await {
            Ok(answer) => answer.inspect_err(|error| self.connection.note(error)),
            Err(_elapsed) => Err(Error::TimedOut),
        }
    }

    /// Runs one statement in one round trip.
    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        values: &[Bound<'_>],
    ) -> Result<Vec<Row>, Error> {
        self.within(self.connection.connection()?.query(sql, values)).await
    }

    /// Runs a statement without values that is never named, because its text was generated, or it
    /// refers to a cursor.
    pub(crate) async fn unnamed(&self, sql: &str) -> Result<Vec<Row>, Error> {
        let client = &self.connection.connection()?.client;
        self.within(async { Ok(client.query_typed(sql, &[]).await?) }).await
    }

    /// Runs statements without values.
    pub(crate) async fn script(&self, sql: &str) -> Result<(), Error> {
        let client = &self.connection.connection()?.client;
        self.within(async { Ok(client.batch_execute(sql).await?) }).await
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

/// Runs one statement in its own transaction, with a worker's limits.
pub(crate) async fn run(
    pool: &Pool,
    sql: &'static str,
    values: &[Bound<'_>],
) -> Result<Vec<Row>, Error> {
    run_within(pool, &CallLimits::of_a_worker(pool.call_time), sql, values).await
}

/// Runs one statement in its own transaction, with these limits.
pub(crate) async fn run_within(
    pool: &Pool,
    limits: &CallLimits,
    sql: &'static str,
    values: &[Bound<'_>],
) -> Result<Vec<Row>, Error> {
    let call = Call::new(pool, limits.statement).await?;
    let rows =
        call.within(in_transaction(call.connection.connection()?, limits, sql, values)).await;
    call.end(rows)
}

/// Runs one statement without `begin` and `commit`, for calls that idle workers repeat: it must be
/// right in any isolation level, and limit its own waits for locks. If the session's level made it
/// lose a race, runs it again as [`run`] does.
pub(crate) async fn run_polled(
    pool: &Pool,
    sql: &'static str,
    values: &[Bound<'_>],
) -> Result<Vec<Row>, Error> {
    let call = Call::new(pool, pool.call_time).await?;
    let rows = call.rows(sql, values).await;
    match call.end(rows) {
        Err(error) if error.is_lost_race() => run(pool, sql, values).await,
        other => other,
    }
}

/// Runs two statements, each in its own transaction, without waiting between them. Calls `between`
/// when the first has committed, and drops the second's rows.
///
/// # Errors
/// Returns an error if either fails. Postgres runs the second even if the first fails.
pub(crate) async fn run_both(
    pool: &Pool,
    (first, values): (&'static str, &[Bound<'_>]),
    second: &'static str,
    between: impl FnOnce(),
) -> Result<Vec<Row>, Error> {
    let limits = CallLimits::of_a_worker(pool.call_time);
    let call = Call::new(pool, limits.statement).await?;
    let connection = call.connection.connection()?;
    let both = async {
        let is_ready = connection.is_ready(first, values) && connection.is_ready(second, &[]);
        let first = async {
            let rows = in_transaction(connection, &limits, first, values).await?;
            between();
            Ok(rows)
        };
        let second = connection.query(second, &[]);
        // Requests are sent in the order in which they are first polled, and replies arrive in this
        // order.
        let rows = match is_ready {
            true => try_join(first, second).await?.0,
            false => {
                let rows = first.await?;
                second.await?;
                rows
            }
        };
        Ok(rows)
    };
    let rows = call.within(both).await;
    call.end(rows)
}

/// Runs one statement in its own transaction. Sends all requests before it waits for the first
/// reply, which takes one round trip; a statement that must be prepared takes two. If the statement
/// fails, Postgres treats the commit as a rollback.
async fn in_transaction(
    connection: &ServerConnection,
    limits: &CallLimits,
    sql: &'static str,
    values: &[Bound<'_>],
) -> Result<Vec<Row>, Error> {
    let script = async |sql: &str| Ok(connection.client.batch_execute(sql).await?);
    let begin = limits.begin(READ_COMMITTED);
    let (begin, commit) = (script(&begin), script("commit"));
    if connection.is_ready(sql, values) {
        return Ok(try_join3(begin, connection.query(sql, values), commit).await?.1);
    }
    // Within the transaction, because preparing may wait for a lock.
    try_join(begin, connection.prepare(sql, values)).await?;
    Ok(try_join(connection.query(sql, values), commit).await?.0)
}

/// How long Postgres lets a transaction run a statement, wait for a lock, and be idle.
#[derive(Debug)]
pub(crate) struct CallLimits {
    statement: Duration,
    /// `None` if it may wait for as long as the statement may run.
    lock: Option<Duration>,
    idle: Duration,
}

impl CallLimits {
    pub(crate) fn of_a_worker(statement: Duration) -> Self {
        let (lock, idle) = (Some(LOCK_TIME.min(statement)), IDLE_IN_TRANSACTION_TIME);
        Self { statement, lock, idle: idle.min(statement) }
    }

    pub(crate) fn of_an_operator() -> Self {
        Self { statement: OPERATOR_TIME, lock: None, idle: IDLE_IN_TRANSACTION_TIME }
    }

    /// Returns the statements that begin a transaction with these limits. They end with it, so that
    /// a pooler's next client never sees them. The isolation level is always named, because a
    /// server, database or role may have another default.
    fn begin(&self, isolation: &str) -> String {
        let lock = self.lock.map_or(0, |lock| lock.as_millis());
        format!(
            "begin isolation level {isolation}; set local statement_timeout = {}; \
             set local lock_timeout = {lock}; \
             set local idle_in_transaction_session_timeout = {}",
            self.statement.as_millis(),
            self.idle.as_millis()
        )
    }
}

/// A transaction. Unless it is committed, closing its connection rolls it back.
#[derive(Debug)]
pub(crate) struct Transaction(Call);

impl Transaction {
    /// Begins a transaction with these limits.
    pub(crate) async fn begin(pool: &Pool, limits: &CallLimits) -> Result<Self, Error> {
        Self::begin_by(pool, limits.statement, &limits.begin(READ_COMMITTED)).await
    }

    /// Begins a transaction that reads one snapshot, and that may be idle for its whole `limit`
    /// while other sessions read this snapshot. Locks the table `kept` before the first read takes
    /// the snapshot, so that the table keeps its partitions.
    pub(crate) async fn begin_snapshot(
        pool: &Pool,
        limit: Duration,
        kept: Option<&str>,
    ) -> Result<Self, Error> {
        let limits = CallLimits { statement: limit, lock: None, idle: limit };
        let mut begin = limits.begin("repeatable read read only");
        if let Some(table) = kept {
            begin += &format!("; lock table {table} in access share mode");
        }
        Self::begin_by(pool, limit, &begin).await
    }

    async fn begin_by(pool: &Pool, limit: Duration, begin: &str) -> Result<Self, Error> {
        let call = Call::new(pool, limit).await?;
        call.script(begin).await?;
        Ok(Self(call))
    }

    /// Runs one statement.
    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        values: &[Bound<'_>],
    ) -> Result<Vec<Row>, Error> {
        self.0.rows(sql, values).await
    }

    /// Runs a statement without values that is never named, because its text was generated, or it
    /// refers to a cursor.
    pub(crate) async fn unnamed(&self, sql: &str) -> Result<Vec<Row>, Error> {
        self.0.unnamed(sql).await
    }

    /// Runs a statement that returns one value.
    pub(crate) async fn value<T: ColumnValue>(
        &self,
        sql: &'static str,
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
