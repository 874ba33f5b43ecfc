//! Reads URLs' states and fetches in a key's crawls.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    api::caller::{ApiCaller, ApiError},
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{
        bind::bind,
        call::run,
        hash::{signed_hash, unsigned_hash},
        row::{by_number, from_row},
    },
    error::Error,
};

/// A URL's id in a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FetchId {
    /// The crawl's number.
    pub crawl: i32,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// Hash of the URL's key.
    pub url_hash: u64,
}

/// A crawl's URL. Without a fetch, the fetch's values are `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiFetch {
    /// The crawl's number.
    pub crawl: i32,
    /// The crawl's id.
    pub crawl_id: Uuid,
    /// The crawl's name.
    pub crawl_name: String,
    /// The store URL for the crawl's records.
    pub store: String,
    /// The store URL for the crawl's media, if it is separate.
    pub media_store: Option<String>,
    /// Signed hash of the hostname.
    pub host_hash: i64,
    /// Signed hash of the URL's key.
    pub url_hash: i64,
    /// `due`, `captured`, `failed`, `refused` or `left`.
    pub state: String,
    /// The reason if the URL was left because the crawl ended.
    pub reason: Option<String>,
    /// The URL that was fetched.
    pub url: Option<String>,
    /// Request time.
    pub at: Option<DateTime<Utc>>,
    /// Response time, in milliseconds. `None` without a request.
    pub duration_ms: Option<i32>,
    /// Number of links from a seed.
    pub depth: Option<i16>,
    /// The HTTP status.
    pub status: Option<i16>,
    /// The outcome, such as `ok`.
    pub outcome: Option<String>,
    /// Stored body size, in bytes.
    pub bytes: Option<i32>,
    /// SHA-256 of the body.
    pub sha256: Option<Vec<u8>>,
    /// MIME type.
    pub mime: Option<String>,
    /// Character encoding name.
    pub charset: Option<String>,
    /// Language of the page.
    pub language: Option<String>,
    /// Title of the page.
    pub title: Option<String>,
    /// The redirect target.
    pub redirect: Option<String>,
    /// The archive that contains the record.
    pub object: Option<String>,
    /// Record offset, in bytes.
    pub record_offset: Option<i64>,
    /// Record length, in bytes.
    pub record_length: Option<i32>,
    /// The archive object with an earlier record of the same body. `None` if the fetch has its own
    /// body.
    pub body_object: Option<String>,
    /// Offset of this earlier record, in bytes.
    pub body_offset: Option<i64>,
    /// Length of this earlier record, in bytes.
    pub body_length: Option<i32>,
    /// Why the body is truncated.
    pub truncated: Option<String>,
    /// The URL that leads to this one.
    pub via: Option<String>,
    /// The problem with the server's certificate.
    pub certificate: Option<String>,
}

from_row!(ApiFetch {
    crawl,
    crawl_id,
    crawl_name,
    store,
    media_store,
    host_hash,
    url_hash,
    state,
    reason,
    url,
    at,
    duration_ms,
    depth,
    status,
    outcome,
    bytes,
    sha256,
    mime,
    charset,
    language,
    title,
    redirect,
    object,
    record_offset,
    record_length,
    body_object,
    body_offset,
    body_length,
    truncated,
    via,
    certificate
});

impl ApiFetch {
    /// Returns the URL's id, which contains its crawl.
    #[must_use]
    pub fn id(&self) -> FetchId {
        FetchId {
            crawl: self.crawl,
            host_hash: unsigned_hash(self.host_hash),
            url_hash: unsigned_hash(self.url_hash),
        }
    }
}

sql_calls! {
    /// Returns a URL's state in a key's crawl.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_fetch(caller: &ApiCaller, id: FetchId) -> Result<ApiFetch, ApiError>
        = row(
            "select * from api.fetch_state($1, $2, $3, $4, $5)",
            caller.key, caller.secret(), id.crawl, signed_hash(id.host_hash),
            signed_hash(id.url_hash),
        );
}

impl Coordinator {
    /// Returns the states of many URLs in the given order, and charges nothing. `None` if the key
    /// is invalid or does not own the crawl.
    pub async fn api_fetch_states(
        &self,
        asked: &[(&ApiCaller, FetchId)],
    ) -> Result<Vec<Option<ApiFetch>>, Error> {
        let keys: Vec<&str> = asked.iter().map(|(caller, _)| caller.key.as_str()).collect();
        let secrets = asked.iter().map(|(caller, _)| caller.secret_sha256.as_slice());
        let sql = "select number, (fetched).* from api.fetch_states($1, $2, $3, $4, $5)";
        let rows = run(
            &self.work,
            sql,
            &[
                bind(&keys),
                bind(&secrets.collect::<Vec<_>>()),
                bind(&asked.iter().map(|(_, id)| id.crawl).collect::<Vec<_>>()),
                bind(&asked.iter().map(|(_, id)| signed_hash(id.host_hash)).collect::<Vec<_>>()),
                bind(&asked.iter().map(|(_, id)| signed_hash(id.url_hash)).collect::<Vec<_>>()),
            ],
        )
        .await?;
        by_number(&rows, asked.len())
    }
}
