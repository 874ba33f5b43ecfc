//! A scan's rows out of one database and into another, as JSON, in bounded pieces.

use serde_json::Value;
use sqlx::types::Json;

use crate::{Coordinator, Error, migrate};

/// The tables that hold a scan's rows, besides its own in `scans`, in the order in which they can
/// be brought back: `hosts` refer to `warc_files`, which all scans share.
pub const BACKUP_TABLES: [&str; 11] = [
    "warc_files",
    "index_files",
    "scan_blocklist",
    "stages",
    "hosts",
    "pages",
    "icons",
    "bundles",
    "jobs",
    "job_results",
    "job_events",
];

/// A scan that is being brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restoring {
    /// Its number in this database.
    pub scan: i32,
    /// What an earlier restore has done, as it said; null at the start.
    pub done: Value,
}

/// The digest of the tables alone, in hexadecimal: rows of a backup fit no others.
pub fn tables_digest() -> String {
    migrate::tables_digest()
}

impl Coordinator {
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

    /// How many blocks one of [`BACKUP_TABLES`] has.
    ///
    /// # Errors
    /// When Postgres cannot be asked, or there is no such table.
    pub async fn backup_blocks(&self, scan: i32, table: &str) -> Result<i64, Error> {
        let mut transaction = self.begin_long().await?;
        let blocks = sqlx::query_scalar("select coordinator.backup_blocks($1, $2)")
            .bind(scan)
            .bind(table)
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(blocks)
    }

    /// The scan's rows in a range of a table's blocks, a JSON object each. The scan must have
    /// ended: rows that are updated meanwhile may come twice or not at all.
    ///
    /// # Errors
    /// When Postgres cannot be asked, or there is no such table.
    pub async fn backup_rows(
        &self,
        scan: i32,
        table: &str,
        from_block: i64,
        blocks: i32,
    ) -> Result<Vec<String>, Error> {
        let mut transaction = self.begin_long().await?;
        let rows = sqlx::query_scalar("select * from coordinator.backup_rows($1, $2, $3, $4)")
            .bind(scan)
            .bind(table)
            .bind(from_block)
            .bind(blocks)
            .persistent(false)
            .fetch_all(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(rows)
    }

    /// Makes room for a scan, whose jobs were numbered from `first_job` to `last_job`, or finds
    /// what an earlier restore of it left.
    ///
    /// # Errors
    /// When the scan is in this database and not being restored, or Postgres cannot be asked.
    pub async fn restore_begin(
        &self,
        row: &Value,
        first_job: i64,
        last_job: i64,
    ) -> Result<Restoring, Error> {
        let mut transaction = self.begin_long().await?;
        let Json(answer): Json<Value> =
            sqlx::query_scalar("select coordinator.restore_begin($1, $2, $3)")
                .bind(row)
                .bind(first_job)
                .bind(last_job)
                .persistent(false)
                .fetch_one(&mut *transaction)
                .await?;
        transaction.commit().await?;
        let scan = answer["scan"].as_i64().and_then(|scan| i32::try_from(scan).ok());
        let scan = scan.ok_or_else(|| Error::Unexpected(format!("{answer} to restore_begin")))?;
        Ok(Restoring { scan, done: answer["done"].clone() })
    }

    /// The ids of WARC files in this database, in the order of their paths.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn restore_warc_files(&self, paths: &[String]) -> Result<Vec<i32>, Error> {
        let mut transaction = self.begin_long().await?;
        let ids = sqlx::query_scalar("select coordinator.restore_warc_files($1)")
            .bind(paths)
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(ids)
    }

    /// Brings rows (a JSON array) back and moves the mark from `restoring.done` to `done`, both or
    /// neither. False: somebody else has moved the mark.
    ///
    /// # Errors
    /// When Postgres refuses the rows or cannot be asked.
    pub async fn restore_rows(
        &self,
        restoring: &mut Restoring,
        table: &str,
        rows: &str,
        done: Value,
    ) -> Result<bool, Error> {
        let mut transaction = self.begin_long().await?;
        let moved: bool =
            sqlx::query_scalar("select coordinator.restore_rows($1, $2, $3::json, $4, $5)")
                .bind(restoring.scan)
                .bind(table)
                .bind(rows)
                .bind(&restoring.done)
                .bind(&done)
                .persistent(false)
                .fetch_one(&mut *transaction)
                .await?;
        transaction.commit().await?;
        if moved {
            restoring.done = done;
        }
        Ok(moved)
    }

    /// Gives a restored scan its own state and settings. False: somebody else has moved the mark.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn restore_end(&self, restoring: &Restoring, row: &Value) -> Result<bool, Error> {
        let mut transaction = self.begin_long().await?;
        let ended = sqlx::query_scalar("select coordinator.restore_end($1, $2, $3)")
            .bind(restoring.scan)
            .bind(row)
            .bind(&restoring.done)
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(ended)
    }
}
