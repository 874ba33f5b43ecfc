//! Plain SQL sessions in which tests inspect the tables.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio_postgres::{
    Client, NoTls, Row,
    types::{FromSql, ToSql, Type},
};
use uuid::Uuid;

/// Dropping a session rolls back its open transaction.
pub(crate) struct Session(pub(crate) Client);

impl Session {
    pub(crate) async fn connect(url: &str) -> Self {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        Self(client)
    }

    pub(crate) async fn run(&self, sql: &str) {
        self.0.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// Returns how many rows a query and its functions read from tables with this name prefix.
    pub(crate) async fn rows_read(&self, table: &str, query: Query) -> i64 {
        // The counters may include earlier transactions that are not flushed yet, so compare two
        // readings.
        let read = || {
            let sql = "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint
                         from pg_stat_xact_all_tables
                        where schemaname = 'everytab' and starts_with(relname, $1)";
            self::query(sql).bind(table.to_owned()).value::<i64>(self)
        };
        self.run("begin").await;
        let before = read().await;
        query.execute(self).await;
        let rows = read().await - before;
        self.run("commit").await;
        rows
    }
}

/// Sessions of one database, each used by one statement at a time.
#[derive(Clone)]
pub(crate) struct Sessions {
    url: Arc<str>,
    idle: Arc<Mutex<Vec<Session>>>,
}

impl Sessions {
    pub(crate) fn new(url: &str) -> Self {
        Self { url: url.into(), idle: Arc::default() }
    }

    async fn take(&self) -> Session {
        let idle = self.idle.lock().pop();
        match idle {
            Some(session) => session,
            None => Session::connect(&self.url).await,
        }
    }

    pub(crate) async fn run(&self, sql: &str) {
        let session = self.take().await;
        session.run(sql).await;
        self.idle.lock().push(session);
    }
}

pub(crate) trait Runs {
    async fn rows_of(&self, query: &Query) -> Vec<Row>;
}

impl Runs for Session {
    async fn rows_of(&self, query: &Query) -> Vec<Row> {
        let parameters: Vec<_> = query
            .parameters
            .iter()
            .map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone()))
            .collect();
        let rows = self.0.query_typed(&query.sql, &parameters).await;
        rows.unwrap_or_else(|error| panic!("{}: {error:?}", query.sql))
    }
}

impl Runs for Sessions {
    async fn rows_of(&self, query: &Query) -> Vec<Row> {
        let session = self.take().await;
        let rows = session.rows_of(query).await;
        self.idle.lock().push(session);
        rows
    }
}

pub(crate) struct Query {
    sql: String,
    parameters: Vec<(Box<dyn ToSql + Sync + Send>, Type)>,
}

pub(crate) fn query(sql: impl Into<String>) -> Query {
    Query { sql: sql.into(), parameters: Vec::new() }
}

impl Query {
    pub(crate) fn bind<T: Typed>(mut self, value: T) -> Self {
        self.parameters.push((Box::new(value), T::TYPE));
        self
    }

    pub(crate) async fn value<T: for<'r> FromSql<'r>>(self, session: &impl Runs) -> T {
        let (value,) = self.row(session).await;
        value
    }

    pub(crate) async fn column<T: for<'r> FromSql<'r>>(self, session: &impl Runs) -> Vec<T> {
        self.rows(session).await.into_iter().map(|(value,)| value).collect()
    }

    pub(crate) async fn row<T: FromRow>(self, session: &impl Runs) -> T {
        let sql = self.sql.clone();
        self.rows(session).await.pop().unwrap_or_else(|| panic!("{sql}: no row"))
    }

    pub(crate) async fn rows<T: FromRow>(self, session: &impl Runs) -> Vec<T> {
        session.rows_of(&self).await.iter().map(T::from_row).collect()
    }

    pub(crate) async fn execute(self, session: &impl Runs) {
        session.rows_of(&self).await;
    }
}

pub(crate) trait Typed: ToSql + Sync + Send + 'static {
    const TYPE: Type;
}

macro_rules! typed {
    ($($rust:ty => $postgres:ident),* $(,)?) => {
        $(impl Typed for $rust {
            const TYPE: Type = Type::$postgres;
        })*
    };
}

typed! {
    i32 => INT4,
    i64 => INT8,
    String => TEXT,
    Uuid => UUID,
    Value => JSONB,
    Vec<i32> => INT4_ARRAY,
    Vec<i64> => INT8_ARRAY,
    Vec<Uuid> => UUID_ARRAY,
    Vec<Value> => JSONB_ARRAY,
}

pub(crate) trait FromRow {
    fn from_row(row: &Row) -> Self;
}

macro_rules! tuples {
    ($(($($name:ident $column:tt),*)),* $(,)?) => {
        $(impl<$($name: for<'r> FromSql<'r>),*> FromRow for ($($name,)*) {
            fn from_row(row: &Row) -> Self {
                ($(row.get::<_, $name>($column),)*)
            }
        })*
    };
}

tuples! {
    (A 0),
    (A 0, B 1),
    (A 0, B 1, C 2),
    (A 0, B 1, C 2, D 3),
    (A 0, B 1, C 2, D 3, E 4),
    (A 0, B 1, C 2, D 3, E 4, F 5),
}
