//! The fetches of a crawl, for operators: all, or those with an outcome, on a host, with a status.

use chrono::{DateTime, Utc};
use serde::Serialize;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    bind::bind,
    coordinator::Coordinator,
    error::Error,
    frontier::fetch_position::FetchPosition,
    record::signed_hash,
    row::{FromRow, from_row},
};

/// A fetch of a crawl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CrawlFetch {
    /// Where it stands in the order of recording, as [`FetchPosition`] reads it.
    pub position: String,
    /// When it was asked for.
    pub at: DateTime<Utc>,
    /// The URL.
    pub url: String,
    /// Links from a seed to it.
    pub depth: i16,
    /// The HTTP status.
    pub status: Option<i16>,
    /// One word: how it ended.
    pub outcome: String,
    /// Bytes of the body.
    pub bytes: Option<i32>,
    /// Time of the answer, in milliseconds.
    pub duration_ms: Option<i32>,
    /// MIME type.
    pub mime: Option<String>,
    /// Title of the page.
    pub title: Option<String>,
    /// Where a redirect leads.
    pub redirect: Option<String>,
    /// The URL whose link or redirect led to it; `None` if it was submitted.
    pub via: Option<String>,
    /// The object that holds the record.
    pub object: Option<String>,
    /// Where the record begins, in bytes.
    pub record_offset: Option<i64>,
    /// Its length, in bytes.
    pub record_length: Option<i32>,
    /// What is wrong with the certificate of its server.
    pub certificate: Option<String>,
    /// Why the body is not whole.
    pub truncated: Option<String>,
}

from_row!(CrawlFetch {
    position,
    at,
    url,
    depth,
    status,
    outcome,
    bytes,
    duration_ms,
    mime,
    title,
    redirect,
    via,
    object,
    record_offset,
    record_length,
    certificate,
    truncated
});

/// Which fetches of a crawl are meant: those that have all that is given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FetchFilter {
    /// The outcome.
    pub outcome: Option<String>,
    /// Hash of the hostname.
    pub host_hash: Option<u64>,
    /// The HTTP status.
    pub status: Option<i16>,
}

impl FetchFilter {
    /// Returns the hash of the hostname as Postgres holds it.
    pub(crate) fn signed_host(&self) -> Option<i64> {
        self.host_hash.map(signed_hash)
    }
}

/// Some fetches of a crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchesPage {
    /// The fetches.
    pub fetches: Vec<CrawlFetch>,
    /// Where to go on; `None` if all were looked at.
    pub next: Option<FetchPosition>,
}

/// A row of an answer: the last one has the position alone where not all fetches were looked at.
struct FoundFetch {
    position: FetchPosition,
    fetch: Option<CrawlFetch>,
}

impl FromRow for FoundFetch {
    fn from_row(row: &Row) -> Result<Self, Error> {
        let position = FetchPosition::answered(row.try_get("position")?)?;
        let url: Option<&str> = row.try_get("url")?;
        let fetch = url.map(|_| CrawlFetch::from_row(row)).transpose()?;
        Ok(Self { position, fetch })
    }
}

impl Coordinator {
    /// At most `limit` fetches of a crawl in the order of recording, after a position; of one host
    /// in the order of their hashes. None is passed over: what was recorded beside a transaction
    /// that is not over yet comes after it. A page may have fewer, or none, before the last one.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn crawl_fetches(
        &self,
        id: Uuid,
        after: FetchPosition,
        limit: i32,
        filter: &FetchFilter,
    ) -> Result<FetchesPage, Error> {
        let sql = "select * from coordinator.crawl_fetches($1, $2, $3, $4, $5, $6, $7, $8)";
        let FetchPosition { epoch, xid, id: number } = after;
        let host = filter.signed_host();
        let arguments = [
            bind(&id),
            bind(&epoch),
            bind(&xid),
            bind(&number),
            bind(&limit),
            bind(&filter.outcome),
            bind(&host),
            bind(&filter.status),
        ];
        let rows: Vec<FoundFetch> = self.operator_rows(sql, &arguments).await?;
        let is_full = i32::try_from(rows.len()).is_ok_and(|count| count >= limit);
        let last = rows.last().filter(|last| is_full || last.fetch.is_none());
        let next = last.map(|last| last.position);
        let fetches = rows.into_iter().filter_map(|row| row.fetch).collect();
        Ok(FetchesPage { fetches, next })
    }
}
