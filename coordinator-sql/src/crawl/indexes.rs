//! Reads the input for the jobs that write a crawl's indexes, lists and documents.

use std::{ops::RangeInclusive, time::Duration};

use chrono::{DateTime, Utc};
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{
        bind::bind,
        call::{Transaction, run},
        hash::{signed_hash, unsigned_hash},
        row::{FromRow, from_row, values},
    },
    error::Error,
};

/// Time limit for reading one job's rows, like a job's.
const READING_TIME: Duration = Duration::from_secs(60 * 60);

/// An ended crawl whose indexes a run writes.
#[derive(Debug, Clone, PartialEq)]
pub struct CrawlRun {
    /// Its number.
    pub crawl: i32,
    /// Its id.
    pub id: Uuid,
    /// Its name, which its objects' names contain.
    pub name: String,
    /// Why it ended.
    pub ended_by: Option<String>,
    /// The store URL for its records.
    pub store: String,
    /// Its settings.
    pub settings: Value,
    /// When it was started.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Number of jobs that write its indexes.
    pub parts: i32,
}

/// A fetch with a stored record, as written to an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRow {
    /// Hash of the host.
    pub host_hash: u64,
    /// The requested URL.
    pub url: String,
    /// Request time.
    pub at: DateTime<Utc>,
    /// The HTTP status.
    pub status: Option<i16>,
    /// The redirect target.
    pub redirect: Option<String>,
    /// SHA-256 of the body, 32 bytes.
    pub sha256: Option<Vec<u8>>,
    /// The response's media type, without parameters.
    pub mime: Option<String>,
    /// Character encoding name.
    pub charset: Option<String>,
    /// Language of the text.
    pub language: Option<String>,
    /// Why the body is truncated.
    pub truncated: Option<String>,
    /// Whether the record is an earlier one with an identical body.
    pub is_revisit: bool,
    /// URL of the record.
    pub record_url: String,
    /// When the record was stored.
    pub record_at: DateTime<Utc>,
    /// The archive that contains the record.
    pub object: String,
    /// Record offset, in bytes.
    pub record_offset: i64,
    /// Record length, in bytes.
    pub record_length: i32,
}

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

/// Fetches with stored records, in no particular order. This holds a transaction, which ends when
/// the value is dropped.
#[derive(Debug)]
pub struct IndexRows(Transaction);

impl IndexRows {
    /// Returns the next fetches, or none if all were returned.
    pub async fn next(&mut self) -> Result<Vec<IndexRow>, Error> {
        // 5,000 rows take 2 MB.
        values(&self.0.unnamed("fetch 5000 from index_rows").await?)
    }

    /// Ends the transaction, so that its connection can be reused.
    pub async fn end(self) -> Result<(), Error> {
        self.0.commit().await
    }
}

sql_calls! {
    /// Starts writing an ended crawl's indexes. Returns `opened`, `reopened`, `running`, `written`
    /// or `not_ended`.
    pub async fn index_crawl(id: Uuid) -> Result<Option<String>, Error>
        = patient_value("select coordinator.index_crawl($1)", id);
}

impl Coordinator {
    /// Returns the crawl whose indexes a run writes.
    ///
    /// # Errors
    /// Returns an error if the run does not belong to a crawl.
    pub async fn load_crawl_run(&self, run: i32) -> Result<CrawlRun, Error> {
        let sql = "select * from coordinator.load_crawl_run($1)";
        let found = self.load_if_any(sql, &[bind(&run)]).await?;
        found.ok_or_else(|| Error::Unexpected(format!("run {run} without a crawl")))
    }

    /// Starts reading the fetches with stored records in a range of slots.
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

    /// Returns fetches with stored records, by their hashes of host and URL.
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

    /// Returns the archives to which a crawl's fetches refer, in byte order.
    pub async fn crawl_archives(&self, crawl: i32) -> Result<Vec<String>, Error> {
        let sql = "select object from coordinator.crawl_archives($1)";
        let mut objects: Vec<String> = self.load_column(sql, &[bind(&crawl)]).await?;
        objects.sort_unstable();
        Ok(objects)
    }
}
