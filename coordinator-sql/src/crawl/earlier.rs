//! An earlier crawl's fetches, for a crawl that repeats it.
//!
//! Does not depend on when a copy is too old, or on how a request becomes conditional.

use chrono::{DateTime, Utc};
use serde_json::Value;
use tokio_postgres::Row;

use crate::{
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    record::{signed_hash, unsigned_hash},
    row::{FromRow, from_row, values},
    sql_calls::sql_calls,
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
    /// The text's language.
    pub language: Option<String>,
    /// Title of the page.
    pub title: Option<String>,
    /// The `ETag` that the server sent.
    pub etag: Option<String>,
    /// The `Last-Modified` that the server sent.
    pub last_modified: Option<String>,
    /// The URL of the record that has the body.
    pub body_url: String,
    /// That URL's hashes: host and key.
    pub body_hashes: (u64, u64),
    /// When that record was stored.
    pub body_at: DateTime<Utc>,
    /// The archive that has it.
    pub body_object: String,
    /// Its offset in the archive, in bytes.
    pub body_offset: i64,
    /// Its length in bytes.
    pub body_length: i32,
}

/// An earlier crawl's stores.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierCrawl {
    /// Its store URL.
    pub store: String,
    /// Its settings, which name further stores if it has several.
    pub settings: Value,
}

/// A seed of a crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrawlSeed {
    /// The hashes of host and URL, by which seeds are ordered.
    pub place: (i64, i64),
    /// The URL.
    pub url: String,
}

/// A URL that a crawl did not capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedUrl {
    /// The position to continue from.
    pub position: String,
    /// The URL, if it is worth another request.
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

/// A fetch with the hashes of its host and URL.
struct HashedFetch {
    place: (u64, u64),
    fetch: EarlierFetch,
}

impl FromRow for HashedFetch {
    fn from_row(row: &Row) -> Result<Self, Error> {
        let digest: &[u8] = row.try_get("sha256")?;
        let sha256 = digest
            .try_into()
            .map_err(|_| Error::Unexpected(format!("a digest of {} bytes", digest.len())))?;
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
    /// Returns `limit` URLs of a crawl that ended without a capture, after a position (`None`
    /// starts at the first), each with its URL if it is worth another request. The last batch is
    /// shorter.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn failed_urls(
        crawl: i32,
        after: Option<&str>,
        limit: i32,
    ) -> Result<Vec<FailedUrl>, Error>
        = operator_rows("select * from coordinator.failed_urls($1, $2, $3)", crawl, after, limit);

    /// Returns the stores for the crawl that `crawl` repeats. `None` if it repeats none, or if that
    /// one is gone.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn earlier_crawl(crawl: i32) -> Result<Option<EarlierCrawl>, Error>
        = load_if_any("select * from coordinator.earlier_crawl($1)", crawl);

    /// Returns at most `limit` seeds of a crawl, after the position of the last one.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
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
    /// Returns URL captures in the crawl that `crawl` repeats, by the hashes of host and URL. URLs
    /// without a capture are omitted.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
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
