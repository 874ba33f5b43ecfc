//! One connection to Postgres, and the prepared statements in its session.
//!
//! Invariant: a statement gets a name only if no other client can use this session. Behind a pooler
//! in transaction mode, the name may belong to another client's statement, and Postgres would run
//! that statement without an error. Therefore a new connection sends a setting with a random value
//! and reads this setting back. A pooler either rejects the setting or does not forward it.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::{task::JoinHandle, time::timeout};
use tokio_postgres::{
    Client, Row, Statement,
    types::{Field, Kind, ToSql, Type},
};

use crate::{
    connection::bind::{Bound, SqlType},
    error::Error,
};

/// Time limit for closing a connection, because the terminate message cannot be sent over a dead
/// network.
const CLOSE_TIME: Duration = Duration::from_secs(3);

const COMPOSITE: &str = "
    select t.oid, t.typarray, array_agg(a.attname::text order by a.attnum) as names,
           array_agg(a.atttypid order by a.attnum) as types
      from pg_type t join pg_namespace n on n.oid = t.typnamespace
      join pg_attribute a on a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
     where n.nspname = 'everytab' and t.typname = $1
     group by t.oid, t.typarray";

/// Dropping this value closes the socket without a terminate message, which a dead network would
/// delay.
#[derive(Debug)]
pub(super) struct ServerConnection {
    pub(super) client: Client,
    driver: Driver,
    /// `None` if other clients may use the session.
    statements: Option<Mutex<HashMap<&'static str, Usage>>>,
    composites: Mutex<HashMap<&'static str, Type>>,
}

/// A statement is prepared at its second use, because preparing takes a round trip.
#[derive(Clone, Debug)]
enum Usage {
    Once,
    Prepared(Statement),
}

type Typed<'a> = (&'a (dyn ToSql + Sync), Type);

#[derive(Debug)]
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ServerConnection {
    pub(super) fn new(client: Client, driver: JoinHandle<()>) -> Self {
        let driver = Driver(driver);
        Self { client, driver, statements: None, composites: Mutex::default() }
    }

    pub(super) fn name_statements(&mut self) {
        self.statements = Some(Mutex::default());
    }

    /// Sends a terminate message, so that the server ends the session immediately.
    pub(super) async fn close(self) {
        let Self { client, statements, mut driver, .. } = self;
        // The driver stops when it has sent the terminate message of a dropped client.
        drop((statements, client));
        let _ = timeout(CLOSE_TIME, &mut driver.0).await;
    }

    /// Returns whether [`ServerConnection::query`] can send this statement in its first message.
    pub(super) fn is_ready(&self, sql: &'static str, values: &[Bound<'_>]) -> bool {
        let is_known = |(_, kind): &Bound<'_>| match kind {
            SqlType::BuiltIn(_) => true,
            SqlType::Row(name) | SqlType::Rows(name) => self.composites.lock().contains_key(name),
        };
        !matches!(self.usage(sql), Some(Usage::Once)) && values.iter().all(is_known)
    }

    pub(super) async fn query(
        &self,
        sql: &'static str,
        values: &[Bound<'_>],
    ) -> Result<Vec<Row>, Error> {
        let typed = self.typed(values).await?;
        let statement = match self.usage(sql) {
            Some(Usage::Once) => Some(self.name(sql, &typed).await?),
            Some(Usage::Prepared(statement)) => Some(statement),
            None => {
                if let Some(statements) = &self.statements {
                    statements.lock().insert(sql, Usage::Once);
                }
                None
            }
        };
        let rows = match statement {
            Some(statement) => {
                let values: Vec<&(dyn ToSql + Sync)> =
                    typed.iter().map(|(value, _)| *value).collect();
                self.client.query(&statement, &values).await
            }
            None => self.client.query_typed(sql, &typed).await,
        };
        Ok(rows?)
    }

    pub(super) async fn prepare(
        &self,
        sql: &'static str,
        values: &[Bound<'_>],
    ) -> Result<(), Error> {
        let typed = self.typed(values).await?;
        if matches!(self.usage(sql), Some(Usage::Once)) {
            self.name(sql, &typed).await?;
        }
        Ok(())
    }

    fn usage(&self, sql: &'static str) -> Option<Usage> {
        self.statements.as_ref()?.lock().get(sql).cloned()
    }

    async fn name(&self, sql: &'static str, typed: &[Typed<'_>]) -> Result<Statement, Error> {
        let types: Vec<Type> = typed.iter().map(|(_, kind)| kind.clone()).collect();
        let statement = self.client.prepare_typed(sql, &types).await?;
        if let Some(statements) = &self.statements {
            statements.lock().insert(sql, Usage::Prepared(statement.clone()));
        }
        Ok(statement)
    }

    async fn typed<'a>(&self, values: &[Bound<'a>]) -> Result<Vec<Typed<'a>>, Error> {
        let mut typed = Vec::with_capacity(values.len());
        for (value, kind) in values {
            let kind = match kind {
                SqlType::BuiltIn(kind) => kind.clone(),
                SqlType::Rows(name) => self.rows_type(name).await?,
                SqlType::Row(name) => match self.rows_type(name).await?.kind() {
                    Kind::Array(row) => row.clone(),
                    other => return Err(Error::Unexpected(format!("the type {other:?}"))),
                },
            };
            typed.push((*value, kind));
        }
        Ok(typed)
    }

    /// The columns are in the database's order, so that fields are matched by name.
    async fn rows_type(&self, name: &'static str) -> Result<Type, Error> {
        if let Some(known) = self.composites.lock().get(name) {
            return Ok(known.clone());
        }
        let rows = self.client.query_typed(COMPOSITE, &[(&name, Type::TEXT)]).await?;
        let row = rows.first().ok_or(Error::NoSchema)?;
        let (names, types): (Vec<String>, Vec<u32>) =
            (row.try_get("names")?, row.try_get("types")?);
        let fields = names.into_iter().zip(types).map(|(name, kind)| {
            let kind = Type::from_oid(kind);
            let kind = kind.ok_or_else(|| Error::Unexpected(format!("the type of {name}")))?;
            Ok(Field::new(name, kind))
        });
        let fields = fields.collect::<Result<_, Error>>()?;
        let schema = "everytab".to_owned();
        let kind = Kind::Composite(fields);
        let element = Type::new(name.to_owned(), row.try_get("oid")?, kind, schema.clone());
        let array = Kind::Array(element);
        let array = Type::new(format!("_{name}"), row.try_get("typarray")?, array, schema);
        self.composites.lock().insert(name, array.clone());
        Ok(array)
    }
}
