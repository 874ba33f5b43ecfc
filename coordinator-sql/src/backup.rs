//! What a backup is compared by: every table's rows, counted and digested in one snapshot.
//!
//! The digest does not depend on the rows' order, on a server's settings or its version: the sum of
//! the first 64 bits of each row's MD5, the row as text. It finds damage; it is no signature.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{bind::bind, call::Transaction, coordinator::Coordinator, error::Error, row::values};

/// A backup of 80 million rows takes a quarter of an hour; a slow network some hours.
const SNAPSHOT_TIME: Duration = Duration::from_secs(12 * 60 * 60);

/// The schema that holds every table.
pub const TABLES_SCHEMA: &str = "everytab";

/// The tables by name, each with the statement that counts and digests its rows.
const DIGESTS: &str = "
    select c.relname::text,
           format('select count(*), coalesce(sum((''x'' || left(md5(t::text), 16))::bit(64)::bigint
                   ::numeric), 0)::text from everytab.%I t', c.relname)
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'everytab' and c.relkind = 'r' order by c.relname collate \"C\"";

/// A table's rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDigest {
    /// The table, without its schema.
    pub table: String,
    /// Number of rows.
    pub rows: i64,
    /// A number that changes when any row changes.
    pub digest: String,
}

/// How much of EveryTab a database holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// It was never migrated.
    Nothing,
    /// It has the tables, with no scan, no live crawl, no key and no blocklist in them.
    EmptyTables,
    /// It has scans, live crawls, keys of the HTTP service, or a blocklist.
    Scans,
}

/// A snapshot of the database, kept by an open transaction.
#[derive(Debug)]
pub struct Snapshot {
    transaction: Transaction,
    /// Name of the snapshot, for `pg_dump --snapshot`.
    pub id: String,
}

impl Snapshot {
    /// Counts and digests all tables, by name.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn digests(&mut self) -> Result<Vec<TableDigest>, Error> {
        // Postgres writes each table's statement itself, for a name cannot be a parameter.
        let statements = self.transaction.rows(DIGESTS, &[]).await?;
        let mut digests = Vec::with_capacity(statements.len());
        for (table, sql) in values::<(String, String)>(&statements)? {
            let rows = self.transaction.rows(&sql, &[]).await?;
            let (rows, digest) = values(&rows)?.pop().unwrap_or_default();
            digests.push(TableDigest { table, rows, digest });
        }
        Ok(digests)
    }

    /// Ends the snapshot, so that Postgres may remove old rows again.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn end(self) -> Result<(), Error> {
        self.transaction.commit().await
    }
}

impl Coordinator {
    /// Opens a snapshot of the database.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        // A live crawl drops partitions of links. Those of the snapshot stay while it is open.
        let kept = self.has_frontier().await?.then_some("everytab.links");
        let transaction = Transaction::begin_snapshot(&self.work, SNAPSHOT_TIME, kept).await?;
        // Text of a row must not depend on what a server or a role has set.
        let settings = "set local timezone = 'UTC'; set local datestyle = 'ISO, MDY'; \
             set local intervalstyle = 'postgres'; set local bytea_output = 'hex'; \
             set local extra_float_digits = 1; set local search_path = pg_catalog";
        transaction.script(settings).await?;
        let id = transaction.value("select pg_export_snapshot()", &[]).await?;
        Ok(Snapshot { transaction, id })
    }

    /// A scan's own row. `None`: there is no such scan.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn backup_scan(&self, scan: i32) -> Result<Option<Value>, Error> {
        self.operator_value("select coordinator.backup_scan($1)", &[bind(&scan)]).await
    }

    /// How much of EveryTab the database holds, of whatever version.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn contents(&self) -> Result<Contents, Error> {
        if !self.value::<bool>("select to_regnamespace('everytab') is not null", &[]).await? {
            return Ok(Contents::Nothing);
        }
        let has_any = "select exists (select from everytab.scans)
                           or exists (select from everytab.blocklist)";
        let has_crawl = "select exists (select from everytab.crawls)";
        let has_key = "select exists (select from everytab.api_keys)";
        let has_any = self.value::<bool>(has_any, &[]).await?
            || self.has_frontier().await? && self.value::<bool>(has_crawl, &[]).await?
            || self.has_keys().await? && self.value::<bool>(has_key, &[]).await?;
        Ok(if has_any { Contents::Scans } else { Contents::EmptyTables })
    }

    /// Whether the database has the tables of live crawls. Those of an older version have none.
    async fn has_frontier(&self) -> Result<bool, Error> {
        self.value("select to_regclass('everytab.links') is not null", &[]).await
    }

    /// Whether the database has the tables of the HTTP service.
    async fn has_keys(&self) -> Result<bool, Error> {
        self.value("select to_regclass('everytab.api_keys') is not null", &[]).await
    }

    /// Lets live crawls go on in a database that came back from a backup; other servers count
    /// transactions otherwise. May be called again. Returns the epoch that begins, if there is any
    /// crawl.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn begin_epoch(&self) -> Result<Option<i16>, Error> {
        self.operator_value("select coordinator.begin_epoch()", &[]).await
    }

    /// Removes empty tables, and the functions.
    ///
    /// # Errors
    /// When Postgres refuses.
    pub async fn remove_empty_tables(&self) -> Result<(), Error> {
        let transaction = self.begin_long().await?;
        let drop = "drop schema if exists api cascade; drop schema if exists coordinator cascade;
                    drop schema everytab cascade";
        transaction.script(drop).await?;
        transaction.commit().await
    }

    /// Records that a scan's site and archive are stored elsewhere.
    ///
    /// # Errors
    /// When there is no such scan, or Postgres cannot be asked.
    pub async fn move_scan(&self, scan: i32, site: &str, archive: &str) -> Result<(), Error> {
        let sql = "select coordinator.move_scan($1, $2, $3) is null";
        let parameters = [bind(&scan), bind(&site), bind(&archive)];
        self.operator_value::<bool>(sql, &parameters).await.map(drop)
    }
}
