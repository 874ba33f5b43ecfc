//! What a backup is compared by: every table's rows, counted and digested in one snapshot.
//!
//! The digest does not depend on the rows' order, on a server's settings or its version: the sum of
//! the first 64 bits of each row's MD5, the row as text. It finds damage; it is no signature.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{AssertSqlSafe, types::Json};

use crate::{call::Transaction, coordinator::Coordinator, error::Error};

/// A backup of 80 million rows takes a quarter of an hour; a slow network some hours.
const SNAPSHOT_TIME: Duration = Duration::from_secs(12 * 60 * 60);

/// The schema that holds every table.
pub const TABLES_SCHEMA: &str = "everytab";

/// A table's rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDigest {
    /// The table, without its schema.
    pub table: String,
    /// How many.
    pub rows: i64,
    /// A number that changes with any of them.
    pub digest: String,
}

/// What a database has of EveryTab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// Nothing: it was never migrated.
    Nothing,
    /// The tables, and nothing in them that would be missed.
    EmptyTables,
    /// Scans, or a blocklist.
    Scans,
}

/// A moment of the database, held still by an open transaction.
#[derive(Debug)]
pub struct Snapshot {
    transaction: Transaction,
    /// For `pg_dump --snapshot`.
    pub id: String,
}

impl Snapshot {
    /// Counts and digests all tables, by name.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn digests(&mut self) -> Result<Vec<TableDigest>, Error> {
        let tables: Vec<String> = sqlx::query_scalar(
            "select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
              where n.nspname = 'everytab' and c.relkind = 'r' order by c.relname collate \"C\"",
        )
        .persistent(false)
        .fetch_all(&mut *self.transaction)
        .await?;
        let mut digests = Vec::with_capacity(tables.len());
        for table in tables {
            let quoted = table.replace('"', "\"\"");
            let sql = format!(
                "select count(*), coalesce(sum(('x' || left(md5(t::text), 16))::bit(64)::bigint
                        ::numeric), 0)::text from everytab.\"{quoted}\" t"
            );
            let (rows, digest) = sqlx::query_as(AssertSqlSafe(sql))
                .persistent(false)
                .fetch_one(&mut *self.transaction)
                .await?;
            digests.push(TableDigest { table, rows, digest });
        }
        Ok(digests)
    }

    /// Lets the database go on.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn end(self) -> Result<(), Error> {
        self.transaction.commit().await
    }
}

impl Coordinator {
    /// Holds a moment of the database.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        let mut transaction = Transaction::begin_still(&self.work, SNAPSHOT_TIME).await?;
        // Text of a row must not depend on what a server or a role has set.
        sqlx::raw_sql(
            "set local timezone = 'UTC'; set local datestyle = 'ISO, MDY'; \
             set local intervalstyle = 'postgres'; set local bytea_output = 'hex'; \
             set local extra_float_digits = 1; set local search_path = pg_catalog",
        )
        .execute(&mut *transaction)
        .await?;
        let id = sqlx::query_scalar("select pg_export_snapshot()")
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await?;
        Ok(Snapshot { transaction, id })
    }

    /// A scan's own row. `None`: there is no such scan.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn backup_scan(&self, scan: i32) -> Result<Option<Value>, Error> {
        let mut transaction = self.begin_long().await?;
        let row: Option<Json<Value>> = sqlx::query_scalar("select coordinator.backup_scan($1)")
            .bind(scan)
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(row.map(|Json(row)| row))
    }

    /// What there is of EveryTab, whatever version left it.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn contents(&self) -> Result<Contents, Error> {
        if !self.scalar::<bool>("select to_regnamespace('everytab') is not null").await? {
            return Ok(Contents::Nothing);
        }
        let has_any = "select exists (select from everytab.scans)
                           or exists (select from everytab.blocklist)";
        Ok(if self.scalar(has_any).await? { Contents::Scans } else { Contents::EmptyTables })
    }

    /// Removes tables with nothing in them, and the functions.
    ///
    /// # Errors
    /// When Postgres refuses.
    pub async fn remove_empty_tables(&self) -> Result<(), Error> {
        let mut transaction = self.begin_long().await?;
        sqlx::raw_sql("drop schema if exists coordinator cascade; drop schema everytab cascade")
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await
    }

    /// Tells a scan that its site and its archive stand elsewhere.
    ///
    /// # Errors
    /// When there is no such scan, or Postgres cannot be asked.
    pub async fn move_scan(&self, scan: i32, site: &str, archive: &str) -> Result<(), Error> {
        let mut transaction = self.begin_long().await?;
        sqlx::query("select coordinator.move_scan($1, $2, $3)")
            .bind(scan)
            .bind(site)
            .bind(archive)
            .persistent(false)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await
    }
}
