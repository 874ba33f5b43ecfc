//! Lists a crawl's fetches for operators.

use chrono::{DateTime, Utc};
use serde::Serialize;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    client::coordinator::Coordinator,
    connection::{
        bind::bind,
        hash::signed_hash,
        row::{FromRow, from_row},
    },
    crawl::fetch_position::FetchPosition,
    error::Error,
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
    /// Number of links from a seed.
    pub depth: i16,
    /// The HTTP status.
    pub status: Option<i16>,
    /// The outcome, such as `ok`.
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
    /// The URL that leads to it. `None` for a seed, or if it is not recorded.
    pub via: Option<String>,
    /// The archive that contains the record.
    pub object: Option<String>,
    /// Record offset, in bytes.
    pub record_offset: Option<i64>,
    /// Record length, in bytes.
    pub record_length: Option<i32>,
    /// The problem with the server's certificate.
    pub certificate: Option<String>,
    /// Why the body is truncated.
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
    /// Returns at most `limit` fetches after a position, in recording order, or in hash order for a
    /// single host. A page before the last one may have fewer fetches, or none.
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
