//! The limits of a key, and its use of them.

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
    row::{flags, from_row},
    sql_calls::sql_calls,
};

/// A key: the limits that the operator set, and its use today.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ApiKey {
    /// The key's public id.
    pub key: String,
    /// The name that the operator gave it.
    pub name: String,
    /// Creation time.
    pub created_at: DateTime<Utc>,
    /// Revocation time. `None` while the key is valid.
    pub revoked_at: Option<DateTime<Utc>>,
    /// Maximum requests per second, as an average over a longer time.
    pub requests_per_second: f64,
    /// Maximum requests in one moment.
    pub burst: i32,
    /// Maximum URLs submitted per day (UTC). `None` if unlimited.
    pub urls_a_day: Option<i64>,
    /// Maximum pages captured per day (UTC). `None` if unlimited.
    pub pages_a_day: Option<i64>,
    /// Maximum bytes that its crawls store. `None` if unlimited.
    pub max_bytes: Option<i64>,
    /// Maximum open crawls, excluding those of single URLs. `None` if unlimited.
    pub max_crawls: Option<i32>,
    /// Maximum requests per second to the web by all its crawls together. `None` if unlimited.
    pub rate: Option<i32>,
    /// Minimum delay between two requests to a host, in milliseconds.
    pub min_delay_ms: i32,
    /// The ports that its URLs may use.
    pub ports: Vec<i32>,
    /// URLs submitted today.
    pub urls_today: i64,
    /// Pages captured today, as counted some seconds ago.
    pub pages_today: i64,
    /// Bytes stored, as counted some seconds ago.
    pub bytes_kept: i64,
    /// Open crawls, excluding those of single URLs.
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

sql_calls! {
    /// Works like [`Coordinator::api_admit`] for a request with this many URLs, which is charged
    /// more.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_admit_urls(caller: &ApiCaller, urls: usize) -> Result<(), ApiError>
        = done("select api.admit($1, $2, $3)", caller.key, caller.secret(), urls as i64);

    /// Returns the ports that a key's URLs may name. `None` if the key is not valid.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn api_key_ports(caller: &ApiCaller) -> Result<Option<Vec<i32>>, ApiError>
        = value("select api.key_ports($1, $2)", caller.key, caller.secret());

    /// Returns a key's limits and use. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_key(caller: &ApiCaller) -> Result<ApiKey, ApiError>
        = row("select * from api.own_key($1, $2)", caller.key, caller.secret());

    /// Checks a key before a request whose call charges it, and which the client may have named.
    /// Returns whether an identical request got a reply before.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`.
    pub async fn api_admit_named(
        caller: &ApiCaller,
        idempotency: Option<&IdempotencyKey>,
    ) -> Result<bool, ApiError>
        = value(
            "select api.admit_named($1, $2, $3, $4)",
            caller.key, caller.secret(), idempotency.map(IdempotencyKey::name),
            idempotency.map(IdempotencyKey::request),
        );
}

impl Coordinator {
    /// Checks a key and charges one request, for requests that make no other call, or only one that
    /// does not charge.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_admit(&self, caller: &ApiCaller) -> Result<(), ApiError> {
        self.api_admit_urls(caller, 0).await
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
}
