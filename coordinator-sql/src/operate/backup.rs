//! Counts and digests every table's rows in one snapshot, to check a backup.
//!
//! The digest sums the first 64 bits of each row's MD5, so that it does not depend on the rows'
//! order or on a server's settings.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{call::Transaction, row::values},
    error::Error,
};

/// Maximum duration of a snapshot. A backup of 80 million rows takes 15 minutes, and some hours
/// over a slow network.
const SNAPSHOT_TIME: Duration = Duration::from_secs(12 * 60 * 60);

/// The schema that contains all tables.
pub const TABLES_SCHEMA: &str = "everytab";

const DIGESTS: &str = "
    select c.relname::text,
           format('select count(*), coalesce(sum((''x'' || left(md5(t::text), 16))::bit(64)::bigint
                   ::numeric), 0)::text from everytab.%I t', c.relname)
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'everytab' and c.relkind = 'r' order by c.relname collate \"C\"";

const ANALYSES: &str = "
    select format('analyze everytab.%I', c.relname)
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'everytab' and c.relkind in ('r', 'p') and not c.relispartition
     order by c.relname collate \"C\"";

/// A table's row count and digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDigest {
    /// The table's name, without its schema.
    pub table: String,
    /// Number of rows.
    pub rows: i64,
    /// A number that changes when any row changes.
    pub digest: String,
}

/// Whether a database contains EveryTab's tables and data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// The database was never migrated.
    Nothing,
    /// The database has the tables, but no scan, live crawl, key or blocklist.
    EmptyTables,
    /// The database has scans, live crawls, API keys or a blocklist.
    Scans,
}

/// A snapshot of the database, held by an open transaction.
#[derive(Debug)]
pub struct Snapshot {
    transaction: Transaction,
    /// The snapshot's name, for `pg_dump --snapshot`.
    pub id: String,
}

impl Snapshot {
    /// Counts and digests all tables, sorted by name.
    pub async fn digests(&mut self) -> Result<Vec<TableDigest>, Error> {
        // A table's name cannot be a parameter, so Postgres generates these statements.
        let statements = self.transaction.rows(DIGESTS, &[]).await?;
        let mut digests = Vec::with_capacity(statements.len());
        for (table, sql) in values::<(String, String)>(&statements)? {
            let rows = self.transaction.unnamed(&sql).await?;
            let (rows, digest) = values(&rows)?.pop().unwrap_or_default();
            digests.push(TableDigest { table, rows, digest });
        }
        Ok(digests)
    }

    /// Ends the snapshot, so that Postgres may remove old rows again.
    pub async fn end(self) -> Result<(), Error> {
        self.transaction.commit().await
    }
}

sql_calls! {
    /// Returns a scan and its run as one JSON object. `None` if it does not exist.
    pub async fn backup_scan(scan: i32) -> Result<Option<Value>, Error>
        = operator_value("select coordinator.backup_scan($1)", scan);

    /// Lets live crawls continue in a database that was restored from a backup. Returns the new
    /// epoch, or `None` if there are no crawls.
    pub async fn begin_epoch() -> Result<Option<i16>, Error>
        = operator_value("select coordinator.begin_epoch()");

    /// Records that a scan's site and archive are now in these stores.
    ///
    /// # Errors
    /// Returns an error if the scan does not exist or has not ended.
    pub async fn move_scan(scan: i32, site: &str, archive: &str) -> Result<(), Error>
        = operator_done("select coordinator.move_scan($1, $2, $3) is null", scan, site, archive);
}

impl Coordinator {
    /// Opens a snapshot of the database.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        // Live crawls drop partitions of links, which this lock prevents.
        let kept = Some("everytab.links");
        let transaction = Transaction::begin_snapshot(&self.work, SNAPSHOT_TIME, kept).await?;
        // The text of a row must not depend on the settings of a server or role.
        let settings = "set local timezone = 'UTC'; set local datestyle = 'ISO, MDY'; \
             set local intervalstyle = 'postgres'; set local bytea_output = 'hex'; \
             set local extra_float_digits = 1; set local search_path = pg_catalog";
        transaction.script(settings).await?;
        let id = transaction.value("select pg_export_snapshot()", &[]).await?;
        Ok(Snapshot { transaction, id })
    }

    /// Works with any schema version.
    pub async fn contents(&self) -> Result<Contents, Error> {
        if !self.value::<bool>("select to_regnamespace('everytab') is not null", &[]).await? {
            return Ok(Contents::Nothing);
        }
        let has_any = "select exists (select from everytab.scans)
                           or exists (select from everytab.blocklist)
                           or exists (select from everytab.crawls)
                           or exists (select from everytab.api_keys)";
        let has_any = self.value::<bool>(has_any, &[]).await?;
        Ok(if has_any { Contents::Scans } else { Contents::EmptyTables })
    }

    /// Collects statistics for all tables, which a restored database lacks. Each table has its own
    /// transaction, so that none remains locked while the next ones are analyzed.
    pub async fn analyze(&self) -> Result<(), Error> {
        let analyses: Vec<(String,)> = self.operator_rows(ANALYSES, &[]).await?;
        for (analyze,) in analyses {
            let transaction = self.begin_long().await?;
            transaction.script(&analyze).await?;
            transaction.commit().await?;
        }
        Ok(())
    }

    /// Removes all tables and functions, when the caller has checked that the tables are empty.
    ///
    /// # Errors
    /// Returns an error if Postgres rejects it.
    pub async fn remove_empty_tables(&self) -> Result<(), Error> {
        let transaction = self.begin_long().await?;
        let drop = "drop schema if exists api cascade; drop schema if exists coordinator cascade;
                    drop schema everytab cascade";
        transaction.script(drop).await?;
        transaction.commit().await
    }
}
