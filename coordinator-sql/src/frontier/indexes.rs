//! What the jobs read that write the indexes, lists and documents of a live crawl at its end.
//!
//! Must not know: how an index is written.

use std::{ops::RangeInclusive, time::Duration};

use chrono::{DateTime, Utc};
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    bind::bind,
    call::{Transaction, run},
    coordinator::Coordinator,
    error::Error,
    record::{signed_hash, unsigned_hash},
    row::{FromRow, from_row, values},
};

/// How long reading the rows of one job may take: as long as a job may.
const READING_TIME: Duration = Duration::from_secs(60 * 60);

/// The crawl that a run closes.
#[derive(Debug, Clone, PartialEq)]
pub struct CrawlRun {
    /// Its number in this database.
    pub crawl: i32,
    /// Its id.
    pub id: Uuid,
    /// Its name, which names its objects.
    pub name: String,
    /// What ended it.
    pub ended_by: Option<String>,
    /// Where its records are.
    pub store: String,
    /// Its settings.
    pub settings: Value,
    /// When it was started.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Number of the jobs that write its indexes.
    pub parts: i32,
}

/// A fetch of which a record was kept, as an index has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRow {
    /// Hash of the host.
    pub host_hash: u64,
    /// The URL that was asked for.
    pub url: String,
    /// When it was asked for.
    pub at: DateTime<Utc>,
    /// The HTTP status.
    pub status: Option<i16>,
    /// Where a redirect leads.
    pub redirect: Option<String>,
    /// SHA-256 of the body, 32 bytes.
    pub sha256: Option<Vec<u8>>,
    /// Media type that the server named, without parameters.
    pub mime: Option<String>,
    /// Name of the text's encoding.
    pub charset: Option<String>,
    /// Language of the text.
    pub language: Option<String>,
    /// Why the body is not whole.
    pub truncated: Option<String>,
    /// Whether the record is an earlier one, which has the same body.
    pub is_revisit: bool,
    /// The URL of the record.
    pub record_url: String,
    /// When the record was stored.
    pub record_at: DateTime<Utc>,
    /// The archive that holds the record.
    pub object: String,
    /// Where the record begins in it, in bytes.
    pub record_offset: i64,
    /// Length of the record in bytes.
    pub record_length: i32,
}

/// A fetch with the hash of its URL.
struct HashedRow {
    url_hash: u64,
    row: IndexRow,
}

from_row!(CrawlRun { crawl, id, name, ended_by, store, settings, started_at, finished_at, parts });

impl FromRow for IndexRow {
    fn from_row(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            host_hash: unsigned_hash(row.try_get("host_hash")?),
            url: row.try_get("url")?,
            at: row.try_get("at")?,
            status: row.try_get("status")?,
            redirect: row.try_get("redirect")?,
            sha256: row.try_get("sha256")?,
            mime: row.try_get("mime")?,
            charset: row.try_get("charset")?,
            language: row.try_get("language")?,
            truncated: row.try_get("truncated")?,
            is_revisit: row.try_get("is_revisit")?,
            record_url: row.try_get("record_url")?,
            record_at: row.try_get("record_at")?,
            object: row.try_get("object")?,
            record_offset: row.try_get("record_offset")?,
            record_length: row.try_get("record_length")?,
        })
    }
}

impl FromRow for HashedRow {
    fn from_row(row: &Row) -> Result<Self, Error> {
        let url_hash = unsigned_hash(row.try_get("url_hash")?);
        Ok(Self { url_hash, row: IndexRow::from_row(row)? })
    }
}

/// The fetches of a range of slots of which a record was kept, in no order. They are read by a
/// transaction, which ends when they are dropped.
#[derive(Debug)]
pub struct IndexRows(Transaction);

impl IndexRows {
    /// The next fetches; none are left where none come.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn next(&mut self) -> Result<Vec<IndexRow>, Error> {
        // 5,000 rows are 2 MB.
        values(&self.0.rows("fetch 5000 from index_rows", &[]).await?)
    }

    /// Ends the transaction, so that its connection serves others.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn end(self) -> Result<(), Error> {
        self.0.commit().await
    }
}

impl Coordinator {
    /// The crawl that a run closes.
    ///
    /// # Errors
    /// When Postgres cannot be asked, or the run closes none.
    pub async fn load_crawl_run(&self, run: i32) -> Result<CrawlRun, Error> {
        let mut rows = self.rows("select * from coordinator.load_crawl_run($1)", run, None).await?;
        rows.pop().ok_or_else(|| Error::Unexpected(format!("run number {run} is of no crawl")))
    }

    /// Opens the fetches of a range of slots of which a record was kept.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn open_index_rows(
        &self,
        crawl: i32,
        slots: RangeInclusive<i16>,
    ) -> Result<IndexRows, Error> {
        let transaction = Transaction::begin_snapshot(&self.work, READING_TIME, None).await?;
        let sql = "select coordinator.open_index_rows($1, $2, $3)::text";
        let (first, last) = slots.into_inner();
        let _: String = transaction.value(sql, &[bind(&crawl), bind(&first), bind(&last)]).await?;
        Ok(IndexRows(transaction))
    }

    /// Those of some URLs, by the hashes of host and URL. What was not kept is left out.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn load_index_rows(
        &self,
        crawl: i32,
        urls: &[(u64, u64)],
    ) -> Result<Vec<((u64, u64), IndexRow)>, Error> {
        let sql = "select * from coordinator.load_index_rows($1, $2, $3)";
        let hosts: Vec<i64> = urls.iter().map(|(host, _)| signed_hash(*host)).collect();
        let hashes: Vec<i64> = urls.iter().map(|(_, url)| signed_hash(*url)).collect();
        let rows = run(&self.work, sql, &[bind(&crawl), bind(&hosts), bind(&hashes)]).await?;
        let rows: Vec<HashedRow> = values(&rows)?;
        Ok(rows
            .into_iter()
            .map(|found| ((found.row.host_hash, found.url_hash), found.row))
            .collect())
    }

    /// The archives that fetches of a crawl name, in byte order.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn crawl_archives(&self, crawl: i32) -> Result<Vec<String>, Error> {
        let sql = "select object from coordinator.crawl_archives($1)";
        let rows = self.rows::<(String,)>(sql, crawl, None).await?;
        let mut objects: Vec<String> = rows.into_iter().map(|(object,)| object).collect();
        objects.sort_unstable();
        Ok(objects)
    }

    /// Has the indexes of a crawl written that has ended: opened, reopened, running, written or
    /// not_ended. `None`: there is no such crawl.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn index_crawl(&self, id: Uuid) -> Result<Option<String>, Error> {
        self.operator_value("select coordinator.index_crawl($1)", &[bind(&id)]).await
    }
}
