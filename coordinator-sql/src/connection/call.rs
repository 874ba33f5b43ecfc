//! One call to Postgres, with its own connection and a time limit.
//!
//! Invariants: a call finishes within its limit, even if the network or the server fails. If it
//! fails, its connection is never reused, unless a function of this schema raised the error on
//! purpose. A call leaves nothing in a session that others may use. Every transaction sets its
//! isolation level, and statements outside a transaction (see [`run_polled`]) must be correct at
//! any level.

use std::time::Duration;

use futures_util::future::{try_join, try_join3};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;

use crate::{
    connection::{
        bind::Bound,
        pool::{Pool, Pooled},
        row::{ColumnValue, first},
        server_connection::ServerConnection,
    },
    error::Error,
};

/// Time limit for a worker's call. Its statements take milliseconds, but after an outage of
/// Postgres all workers complete jobs at the same time.
pub(crate) const CALL_TIME: Duration = Duration::from_secs(60);
/// Time limit for a renewal, which is useless once the lease has expired.
pub(crate) const RENEWAL_TIME: Duration = Duration::from_secs(10);
/// Maximum wait for a lock: half of the `lock_timeout` of the workers' roles.
const LOCK_TIME: Duration = Duration::from_secs(30);
/// At this level a statement sees the changes that other transactions committed while it waited for
/// their locks.
const READ_COMMITTED: &str = "read committed";
/// Time limit for an operator's call, which may read or drop a whole scan.
const OPERATOR_TIME: Duration = Duration::from_secs(60 * 60);
/// How long a transaction may be idle before Postgres ends it. Only the network can delay the
/// client's next message.
const IDLE_IN_TRANSACTION_TIME: Duration = Duration::from_secs(20);

const _: () = assert!(LOCK_TIME.as_secs() < CALL_TIME.as_secs());
const _: () = assert!(RENEWAL_TIME.as_secs() < CALL_TIME.as_secs());
const _: () = assert!(IDLE_IN_TRANSACTION_TIME.as_secs() <= CALL_TIME.as_secs());
const _: () = assert!(CALL_TIME.as_secs() <= OPERATOR_TIME.as_secs());

/// Dropping this value closes the connection, unless the call has succeeded.
#[derive(Debug)]
struct Call {
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

    async fn rows(&self, sql: &'static str, values: &[Bound<'_>]) -> Result<Vec<Row>, Error> {
        self.within(self.connection.connection()?.query(sql, values)).await
    }

    /// Never prepares the statement, because its text was generated or it refers to a cursor.
    async fn unnamed(&self, sql: &str) -> Result<Vec<Row>, Error> {
        let client = &self.connection.connection()?.client;
        self.within(async { Ok(client.query_typed(sql, &[]).await?) }).await
    }

    async fn script(&self, sql: &str) -> Result<(), Error> {
        let client = &self.connection.connection()?.client;
        self.within(async { Ok(client.batch_execute(sql).await?) }).await
    }

    /// Keeps the connection if the call succeeded or was refused on purpose.
    fn end<T>(self, result: Result<T, Error>) -> Result<T, Error> {
        if result.as_ref().err().is_none_or(Error::is_refusal) {
            self.connection.keep();
        }
        result
    }
}

pub(crate) async fn run(
    pool: &Pool,
    sql: &'static str,
    values: &[Bound<'_>],
) -> Result<Vec<Row>, Error> {
    run_within(pool, &CallLimits::of_a_worker(pool.call_time), sql, values).await
}

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

/// Runs a statement without `begin` and `commit`, for calls that idle workers repeat. It must be
/// correct at any isolation level and limit its own lock waits. If it fails because of the
/// session's level, it runs again like [`run`].
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

/// Runs two statements in one transaction each, if possible without waiting between them. Calls
/// `between` when the first has committed, and drops the second's rows.
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
        // Requests are sent in the order in which their futures are first polled, and replies
        // arrive in this order.
        let rows = if is_ready {
            try_join(first, second).await?.0
        } else {
            let rows = first.await?;
            second.await?;
            rows
        };
        Ok(rows)
    };
    let rows = call.within(both).await;
    call.end(rows)
}

/// This takes one round trip if the statement is ready. If the statement fails, Postgres treats the
/// commit as a rollback.
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
    // We prepare within the transaction, because preparing may wait for a lock.
    try_join(begin, connection.prepare(sql, values)).await?;
    Ok(try_join(connection.query(sql, values), commit).await?.0)
}

#[derive(Debug)]
pub(crate) struct CallLimits {
    statement: Duration,
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

    /// The limits end with the transaction, so that a pooler's next client never sees them.
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

/// A transaction. If it is dropped without a commit, its connection is closed, which rolls it back.
#[derive(Debug)]
pub(crate) struct Transaction(Call);

impl Transaction {
    pub(crate) async fn begin(pool: &Pool, limits: &CallLimits) -> Result<Self, Error> {
        Self::begin_by(pool, limits.statement, &limits.begin(READ_COMMITTED)).await
    }

    /// Begins a transaction that reads one snapshot, and may be idle while other sessions read it.
    /// Locks the table `kept` before, so that no partition of it is dropped.
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

    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        values: &[Bound<'_>],
    ) -> Result<Vec<Row>, Error> {
        self.0.rows(sql, values).await
    }

    pub(crate) async fn unnamed(&self, sql: &str) -> Result<Vec<Row>, Error> {
        self.0.unnamed(sql).await
    }

    pub(crate) async fn value<T: ColumnValue>(
        &self,
        sql: &'static str,
        values: &[Bound<'_>],
    ) -> Result<T, Error> {
        first(&self.rows(sql, values).await?)
    }

    pub(crate) async fn script(&self, sql: &str) -> Result<(), Error> {
        self.0.script(sql).await
    }

    /// Returns when the commit is on disk.
    pub(crate) async fn commit(self) -> Result<(), Error> {
        let committed = self.0.script("commit").await;
        self.0.end(committed)
    }
}
