//! The fetches of an earlier crawl, for a crawl that repeats it.

use chrono::{DateTime, Utc};
use serde_json::Value;
use tokio_postgres::Row;

use crate::{
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{
        bind::bind,
        call::run,
        hash::{signed_hash, unsigned_hash},
        row::{FromRow, from_row, values},
    },
    error::Error,
};

/// A URL's capture in an earlier crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierFetch {
    /// Body size, in bytes.
    pub bytes: Option<i32>,
    /// SHA-256 of the body.
    pub sha256: [u8; 32],
    /// MIME type.
    pub mime: Option<String>,
    /// Character encoding name.
    pub charset: Option<String>,
    /// Language of the text.
    pub language: Option<String>,
    /// Title of the page.
    pub title: Option<String>,
    /// The response's `ETag`.
    pub etag: Option<String>,
    /// The response's `Last-Modified`.
    pub last_modified: Option<String>,
    /// URL of the body's record.
    pub body_url: String,
    /// Hashes of this URL's host and key.
    pub body_hashes: (u64, u64),
    /// When this record was stored.
    pub body_at: DateTime<Utc>,
    /// The archive of this record.
    pub body_object: String,
    /// Record offset, in bytes.
    pub body_offset: i64,
    /// Record length, in bytes.
    pub body_length: i32,
}

/// The stores that an earlier crawl used.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierCrawl {
    /// Its store URL.
    pub store: String,
    /// Its settings, which name further stores if it used several.
    pub settings: Value,
}

/// A crawl's seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrawlSeed {
    /// The hashes of host and URL, by which seeds are ordered.
    pub place: (i64, i64),
    /// The URL.
    pub url: String,
}

/// A URL that was not captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedUrl {
    /// The position to continue from.
    pub position: String,
    /// The URL. `None` if it is not worth another request.
    pub url: Option<String>,
}

from_row!(EarlierCrawl { store, settings });
from_row!(FailedUrl { position, url });

impl FromRow for CrawlSeed {
    fn from_row(row: &Row) -> Result<Self, Error> {
        let place = (row.try_get("host_hash")?, row.try_get("url_hash")?);
        Ok(Self { place, url: row.try_get("url")? })
    }
}

struct HashedFetch {
    place: (u64, u64),
    fetch: EarlierFetch,
}

impl FromRow for HashedFetch {
    fn from_row(row: &Row) -> Result<Self, Error> {
        let digest: &[u8] = row.try_get("sha256")?;
        let sha256 = digest
            .try_into()
            .map_err(|_| Error::Unexpected(format!("a SHA-256 of {} bytes", digest.len())))?;
        let hash = |name| Ok::<_, Error>(unsigned_hash(row.try_get(name)?));
        let fetch = EarlierFetch {
            bytes: row.try_get("bytes")?,
            sha256,
            mime: row.try_get("mime")?,
            charset: row.try_get("charset")?,
            language: row.try_get("language")?,
            title: row.try_get("title")?,
            etag: row.try_get("etag")?,
            last_modified: row.try_get("last_modified")?,
            body_url: row.try_get("body_url")?,
            body_hashes: (hash("body_host_hash")?, hash("body_url_hash")?),
            body_at: row.try_get("body_at")?,
            body_object: row.try_get("body_object")?,
            body_offset: row.try_get("body_offset")?,
            body_length: row.try_get("body_length")?,
        };
        Ok(Self { place: (hash("host_hash")?, hash("url_hash")?), fetch })
    }
}

sql_calls! {
    /// Returns up to `limit` of a crawl's URLs that were not captured, after a position. A row
    /// contains its URL only if this is worth another request. Fewer than `limit` rows mean that
    /// no more follow.
    pub async fn failed_urls(
        crawl: i32,
        after: Option<&str>,
        limit: i32,
    ) -> Result<Vec<FailedUrl>, Error>
        = operator_rows("select * from coordinator.failed_urls($1, $2, $3)", crawl, after, limit);

    /// Returns the stores of the crawl that `crawl` repeats. `None` if it is gone.
    pub async fn earlier_crawl(crawl: i32) -> Result<Option<EarlierCrawl>, Error>
        = load_if_any("select * from coordinator.earlier_crawl($1)", crawl);

    /// Returns at most `limit` of a crawl's seeds, after the position `after`.
    pub async fn crawl_seeds(
        crawl: i32,
        after: Option<(i64, i64)>,
        limit: i32,
    ) -> Result<Vec<CrawlSeed>, Error>
        = operator_rows(
            "select * from coordinator.crawl_seeds($1, $2, $3, $4)",
            crawl, after.map_or(i64::MIN, |after| after.0), after.map_or(i64::MIN, |after| after.1),
            limit,
        );
}

impl Coordinator {
    /// Returns captures from the crawl that `crawl` repeats, if their bodies are complete.
    pub async fn earlier_fetches(
        &self,
        crawl: i32,
        urls: &[(u64, u64)],
    ) -> Result<Vec<((u64, u64), EarlierFetch)>, Error> {
        let sql = "select * from coordinator.earlier_fetches($1, $2, $3)";
        let hosts: Vec<i64> = urls.iter().map(|(host, _)| signed_hash(*host)).collect();
        let hashes: Vec<i64> = urls.iter().map(|(_, url)| signed_hash(*url)).collect();
        let rows = run(&self.work, sql, &[bind(&crawl), bind(&hosts), bind(&hashes)]).await?;
        let rows: Vec<HashedFetch> = values(&rows)?;
        Ok(rows.into_iter().map(|found| (found.place, found.fetch)).collect())
    }
}
