//! One call to Postgres: a connection for its time alone, and no longer than its limit.
//!
//! Invariants: a call ends, whatever becomes of the network or the server; a connection on which a
//! call did not end well is closed, never used again. Whoever vanishes in the middle of a
//! transaction keeps its locks no longer than the limit: Postgres ends it by itself.
//! Must not know: what is called.

use std::{
    io,
    ops::{Deref, DerefMut},
    time::Duration,
};

use futures_util::{
    StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use sqlx::{
    Either, Execute, Executor, Postgres, SqlStr,
    postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo},
};
use tokio::time::{Instant, timeout_at};

use crate::{
    error::Error,
    pool::{Pool, Pooled},
};

/// A worker's call. A statement of it takes milliseconds; but when Postgres comes back after an
/// outage, all workers complete at once.
pub(crate) const CALL_TIME: Duration = Duration::from_secs(60);
/// A renewal is worth nothing once the lease has run out, and can be asked again.
pub(crate) const RENEWAL_TIME: Duration = Duration::from_secs(10);
/// An operator's call may read or drop a whole scan.
const OPERATOR_TIME: Duration = Duration::from_secs(60 * 60);
/// Between two messages of a transaction there is no work, only the way.
const SILENCE_IN_A_TRANSACTION: Duration = Duration::from_secs(20);

const _: () = assert!(RENEWAL_TIME.as_secs() < CALL_TIME.as_secs());
const _: () = assert!(SILENCE_IN_A_TRANSACTION.as_secs() <= CALL_TIME.as_secs());
const _: () = assert!(CALL_TIME.as_secs() <= OPERATOR_TIME.as_secs());

/// A connection with a deadline, closed when dropped before the call has ended well.
#[derive(Debug)]
pub(crate) struct Bounded {
    connection: Pooled,
    deadline: Instant,
}

impl Bounded {
    pub(crate) async fn acquire(pool: &Pool, limit: Duration) -> Result<Self, Error> {
        let connection = pool.acquire().await?;
        Ok(Self { connection, deadline: Instant::now() + limit })
    }

    /// The call has ended well: the connection may serve the next one.
    pub(crate) fn keep(self) {
        self.connection.keep();
    }
}

/// A transaction of one call; not committed, it never was.
#[derive(Debug)]
pub(crate) struct Transaction(Bounded);

impl Transaction {
    /// A transaction of a worker's call.
    pub(crate) async fn begin(pool: &Pool) -> Result<Self, Error> {
        Self::begin_within(pool, pool.limit).await
    }

    /// A transaction of an operator's call.
    pub(crate) async fn begin_long(pool: &Pool) -> Result<Self, Error> {
        Self::begin_within(pool, OPERATOR_TIME).await
    }

    /// A transaction that sees one moment and may be silent while others read that moment too.
    pub(crate) async fn begin_still(pool: &Pool, limit: Duration) -> Result<Self, Error> {
        let mut bounded = Bounded::acquire(pool, limit).await?;
        let begin = format!(
            "begin isolation level repeatable read read only; \
             set local statement_timeout = {0}; \
             set local idle_in_transaction_session_timeout = {0}",
            limit.as_millis()
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(begin)).execute(&mut bounded).await?;
        Ok(Self(bounded))
    }

    async fn begin_within(pool: &Pool, limit: Duration) -> Result<Self, Error> {
        let mut bounded = Bounded::acquire(pool, limit).await?;
        // Local settings end with the transaction, so a pooler's next client never sees them.
        let begin = format!(
            "begin; set local statement_timeout = {}; \
             set local idle_in_transaction_session_timeout = {}",
            limit.as_millis(),
            SILENCE_IN_A_TRANSACTION.min(limit).as_millis()
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(begin)).execute(&mut bounded).await?;
        Ok(Self(bounded))
    }

    pub(crate) async fn commit(mut self) -> Result<(), Error> {
        sqlx::raw_sql("commit").execute(&mut self.0).await?;
        self.0.keep();
        Ok(())
    }
}

impl Deref for Transaction {
    type Target = Bounded;

    fn deref(&self) -> &Bounded {
        &self.0
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut Bounded {
        &mut self.0
    }
}

type Rows<'e> = BoxStream<'e, Result<Either<PgQueryResult, PgRow>, sqlx::Error>>;

impl<'c> Executor<'c> for &'c mut Bounded {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> Rows<'e>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let deadline = self.deadline;
        let rows = match self.connection.connection() {
            Ok(connection) => connection.fetch_many(query),
            Err(error) => return stream::once(async { Err(error) }).boxed(),
        };
        let bounded = stream::unfold(Some(rows), move |rows| async move {
            let mut rows = rows?;
            match timeout_at(deadline, rows.next()).await {
                Ok(row) => row.map(|row| (row, Some(rows))),
                Err(_elapsed) => Some((Err(too_late()), None)),
            }
        });
        bounded.boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let mut rows = self.fetch_many(query);
        Box::pin(async move {
            let mut first = None;
            // To the end: an error may come after the row.
            while let Some(step) = rows.next().await {
                if let Either::Right(row) = step? {
                    first.get_or_insert(row);
                }
            }
            Ok(first)
        })
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, sqlx::Error>>
    where
        'c: 'e,
    {
        Box::pin(async move {
            let preparing = self.connection.connection()?.prepare_with(sql, parameters);
            timeout_at(self.deadline, preparing).await.unwrap_or_else(|_elapsed| Err(too_late()))
        })
    }
}

fn too_late() -> sqlx::Error {
    let text = "no answer in time; the connection is given up";
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, text))
}
