//! Lists a crawl's fetches for operators: all fetches, or those with an outcome, on a host, or with
//! a status.

use chrono::{DateTime, Utc};
use serde::Serialize;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    bind::bind,
    coordinator::Coordinator,
    crawl::fetch_position::FetchPosition,
    error::Error,
    record::signed_hash,
    row::{FromRow, from_row},
};

/// A fetch in a crawl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CrawlFetch {
    /// Its position in recording order, which [`FetchPosition`] parses.
    pub position: String,
    /// Request time.
    pub at: DateTime<Utc>,
    /// The URL.
    pub url: String,
    /// Number of links from a seed to the URL.
    pub depth: i16,
    /// The HTTP status.
    pub status: Option<i16>,
    /// The outcome, for example `ok` or `not_modified`.
    pub outcome: String,
    /// Body size, in bytes.
    pub bytes: Option<i32>,
    /// Response time, in milliseconds.
    pub duration_ms: Option<i32>,
    /// MIME type.
    pub mime: Option<String>,
    /// Title of the page.
    pub title: Option<String>,
    /// The redirect target.
    pub redirect: Option<String>,
    /// The URL that links or redirects to it. `None` for a seed, or if this URL is not recorded.
    pub via: Option<String>,
    /// The archive object that contains the record.
    pub object: Option<String>,
    /// Record offset in the object, in bytes.
    pub record_offset: Option<i64>,
    /// Record length, in bytes.
    pub record_length: Option<i32>,
    /// The problem with the server's certificate.
    pub certificate: Option<String>,
    /// The reason why the body is truncated.
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

/// Selects the fetches that meet all given conditions.
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
    /// Returns the hostname's hash as Postgres stores it.
    pub(crate) fn signed_host(&self) -> Option<i64> {
        self.host_hash.map(signed_hash)
    }
}

/// A page in a list of fetches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchesPage {
    /// The fetches.
    pub fetches: Vec<CrawlFetch>,
    /// The position to continue from. `None` if all fetches were checked.
    pub next: Option<FetchPosition>,
}

/// A result row. If the call stopped before it had read all fetches, the last row has only a
/// position.
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
    /// Returns at most `limit` of a crawl's fetches after a position, in recording order. For a
    /// single host, they are in hash order. If a crawl is open, a fetch is returned only once all
    /// earlier transactions have finished, so that a caller who continues from the last position
    /// skips none. Before the last page, a page may have fewer than `limit` fetches, or none.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
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
