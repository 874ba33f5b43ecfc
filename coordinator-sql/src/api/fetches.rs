//! The URLs of a key's crawls: whether they are fetched, and how that ended.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    api::caller::{ApiCaller, ApiError},
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    record::{signed_hash, unsigned_hash},
    row::{FromRow as _, from_row},
};

/// A URL of a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FetchId {
    /// The crawl's number.
    pub crawl: i32,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// Hash of the normalized key.
    pub url_hash: u64,
}

/// A URL of a crawl, and its fetch where it was fetched. While it is due, what the fetch says is
/// absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiFetch {
    /// The crawl's number.
    pub crawl: i32,
    /// The crawl's id.
    pub crawl_id: Uuid,
    /// The crawl's name.
    pub crawl_name: String,
    /// Where the crawl's records are kept.
    pub store: String,
    /// Where media of the crawl are kept, if elsewhere.
    pub media_store: Option<String>,
    /// Hash of the hostname, as Postgres holds it.
    pub host_hash: i64,
    /// Hash of the normalized key, as Postgres holds it.
    pub url_hash: i64,
    /// due, captured, failed, refused or left.
    pub state: String,
    /// What ended the crawl, where the URL is left because of it.
    pub reason: Option<String>,
    /// The URL as it was fetched.
    pub url: Option<String>,
    /// When it was asked for.
    pub at: Option<DateTime<Utc>>,
    /// How long the answer took, in milliseconds; none where nothing was asked.
    pub duration_ms: Option<i32>,
    /// Links from a seed to the URL.
    pub depth: Option<i16>,
    /// The HTTP status.
    pub status: Option<i16>,
    /// One word: how it ended.
    pub outcome: Option<String>,
    /// Bytes of the body as it is kept.
    pub bytes: Option<i32>,
    /// SHA-256 of that body.
    pub sha256: Option<Vec<u8>>,
    /// MIME type.
    pub mime: Option<String>,
    /// Charset.
    pub charset: Option<String>,
    /// Language.
    pub language: Option<String>,
    /// Title of the page.
    pub title: Option<String>,
    /// Where a redirect leads.
    pub redirect: Option<String>,
    /// The object that holds the record.
    pub object: Option<String>,
    /// Where the record begins in it, in bytes.
    pub record_offset: Option<i64>,
    /// Its length, in bytes.
    pub record_length: Option<i32>,
    /// The object that holds the body, where another record has it.
    pub body_object: Option<String>,
    /// Where that record begins.
    pub body_offset: Option<i64>,
    /// Its length.
    pub body_length: Option<i32>,
    /// Why the body is not whole.
    pub truncated: Option<String>,
    /// The URL whose link or redirect led to it.
    pub via: Option<String>,
    /// What is wrong with the certificate of its server.
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
    /// Which URL of which crawl it is.
    #[must_use]
    pub fn id(&self) -> FetchId {
        FetchId {
            crawl: self.crawl,
            host_hash: unsigned_hash(self.host_hash),
            url_hash: unsigned_hash(self.url_hash),
        }
    }
}

impl Coordinator {
    /// The state of one URL of a key's crawl. Takes one request. A URL that was never submitted is
    /// due as well while the crawl is open: that it was submitted is what its id proves.
    ///
    /// # Errors
    /// Refused: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_fetch(&self, caller: &ApiCaller, id: FetchId) -> Result<ApiFetch, ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let (host, url) = (signed_hash(id.host_hash), signed_hash(id.url_hash));
        let sql = "select * from api.fetch_state($1, $2, $3, $4, $5)";
        let parameters =
            [bind(&caller.key), bind(&secret), bind(&id.crawl), bind(&host), bind(&url)];
        let rows = run(&self.work, sql, &parameters).await?;
        let row = rows.first().ok_or_else(|| Error::Unexpected("no state".into()))?;
        Ok(ApiFetch::from_row(row)?)
    }

    /// The states of many URLs, for all requests that wait: takes no request from any bucket. In
    /// the order in which they are asked; none where the key is not valid or the crawl is not its.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
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
        let mut states = vec![None; asked.len()];
        for row in &rows {
            let number: i64 = row.try_get("number")?;
            let place = usize::try_from(number - 1).ok().and_then(|place| states.get_mut(place));
            if let Some(place) = place {
                *place = Some(ApiFetch::from_row(row)?);
            }
        }
        Ok(states)
    }
}
