//! What a key may do, and what it has used.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::{
    api::{
        caller::{ApiCaller, ApiError},
        idempotency::IdempotencyKey,
    },
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    row::{FromRow as _, first, flags, from_row, values},
};

/// A key: what the operator allows it, and its use today.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ApiKey {
    /// The key's public id.
    pub key: String,
    /// The name that the operator gave it.
    pub name: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was revoked; none while it is valid.
    pub revoked_at: Option<DateTime<Utc>>,
    /// Requests a second, over a longer time.
    pub requests_per_second: f64,
    /// Requests at most in one moment.
    pub burst: i32,
    /// URLs submitted a day (UTC); none: any number.
    pub urls_a_day: Option<i64>,
    /// Pages captured a day (UTC); none: any number.
    pub pages_a_day: Option<i64>,
    /// Bytes that its crawls keep; none: any number.
    pub max_bytes: Option<i64>,
    /// Crawls that have not ended, besides those of single URLs; none: any number.
    pub max_crawls: Option<i32>,
    /// Requests a second that all its crawls together make to the web; none: any number.
    pub rate: Option<i32>,
    /// The least delay between two requests to a host, in milliseconds.
    pub min_delay_ms: i32,
    /// The ports that its URLs may name.
    pub ports: Vec<i32>,
    /// URLs submitted today.
    pub urls_today: i64,
    /// Pages captured today, as counted some seconds ago.
    pub pages_today: i64,
    /// Bytes kept, as counted some seconds ago.
    pub bytes_kept: i64,
    /// Crawls that have not ended, besides those of single URLs.
    pub open_crawls: i32,
}

from_row!(ApiKey {
    key,
    name,
    created_at,
    revoked_at,
    requests_per_second,
    burst,
    urls_a_day,
    pages_a_day,
    max_bytes,
    max_crawls,
    rate,
    min_delay_ms,
    ports,
    urls_today,
    pages_today,
    bytes_kept,
    open_crawls
});

impl Coordinator {
    /// Checks a key and takes one request from its bucket: for requests that ask Postgres for
    /// nothing else, or by a call that takes nothing.
    ///
    /// # Errors
    /// Refused: `unauthorized`, `throttled`.
    pub async fn api_admit(&self, caller: &ApiCaller) -> Result<(), ApiError> {
        self.api_admit_urls(caller, 0).await
    }

    /// The same, for a request with so many URLs, which takes more.
    ///
    /// # Errors
    /// Refused: `unauthorized`, `throttled`.
    pub async fn api_admit_urls(&self, caller: &ApiCaller, urls: usize) -> Result<(), ApiError> {
        let (secret, urls) = (caller.secret_sha256.as_slice(), urls as i64);
        let sql = "select api.admit($1, $2, $3)";
        run(&self.work, sql, &[bind(&caller.key), bind(&secret), bind(&urls)]).await?;
        Ok(())
    }

    /// Checks a key before a request that the client perhaps gave a name, and that takes from its
    /// bucket by itself. Whether the key was answered to that request before.
    ///
    /// # Errors
    /// Refused: `unauthorized`.
    pub async fn api_admit_named(
        &self,
        caller: &ApiCaller,
        idempotency: Option<&IdempotencyKey>,
    ) -> Result<bool, ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let name = idempotency.map(|key| key.name.as_str());
        let request = idempotency.map(|key| key.request_sha256.as_slice());
        let sql = "select api.admit_named($1, $2, $3, $4)";
        let parameters = [bind(&caller.key), bind(&secret), bind(&name), bind(&request)];
        let answers: Vec<(bool,)> = values(&run(&self.work, sql, &parameters).await?)?;
        Ok(answers.first().is_some_and(|(is_answered,)| *is_answered))
    }

    /// Returns for each caller whether its key is valid. Takes no request from any bucket.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn api_valid_keys(&self, callers: &[ApiCaller]) -> Result<Vec<bool>, Error> {
        let keys: Vec<&str> = callers.iter().map(|caller| caller.key.as_str()).collect();
        let secrets: Vec<&[u8]> =
            callers.iter().map(|caller| caller.secret_sha256.as_slice()).collect();
        let sql = "select api.valid_keys($1, $2)";
        let rows = run(&self.work, sql, &[bind(&keys), bind(&secrets)]).await?;
        flags(&rows, callers.len())
    }

    /// Returns the ports that a key's URLs may name. `None` if the key is not valid.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn api_key_ports(&self, caller: &ApiCaller) -> Result<Option<Vec<i32>>, ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let sql = "select api.key_ports($1, $2)";
        let rows = run(&self.work, sql, &[bind(&caller.key), bind(&secret)]).await?;
        Ok(first(&rows)?)
    }

    /// A key's limits and use. Takes one request.
    ///
    /// # Errors
    /// Refused: `unauthorized`, `throttled`.
    pub async fn api_key(&self, caller: &ApiCaller) -> Result<ApiKey, ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let sql = "select * from api.own_key($1, $2)";
        let rows = run(&self.work, sql, &[bind(&caller.key), bind(&secret)]).await?;
        let row = rows.first().ok_or_else(|| Error::Unexpected("no key".into()))?;
        Ok(ApiKey::from_row(row)?)
    }
}
