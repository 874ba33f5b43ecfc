//! A key's limits and usage.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::{
    api::{
        caller::{ApiCaller, ApiError},
        idempotency::IdempotencyKey,
    },
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{
        bind::bind,
        call::run,
        row::{flags, from_row},
    },
    error::Error,
};

/// A key's limits and today's usage, where counts may be some seconds old.
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
    /// Maximum requests per second on average.
    pub requests_per_second: f64,
    /// Maximum requests in a burst.
    pub burst: i32,
    /// Maximum URLs submitted per day (UTC). `None` if unlimited.
    pub urls_a_day: Option<i64>,
    /// Maximum pages captured per day (UTC). `None` if unlimited.
    pub pages_a_day: Option<i64>,
    /// Maximum stored bytes. `None` if unlimited.
    pub max_bytes: Option<i64>,
    /// Maximum open crawls, without standing ones. `None` if unlimited.
    pub max_crawls: Option<i32>,
    /// Maximum requests per second of all its crawls together. `None` if unlimited.
    pub rate: Option<i32>,
    /// Minimum delay per host, in milliseconds.
    pub min_delay_ms: i32,
    /// The ports that its URLs may use.
    pub ports: Vec<i32>,
    /// URLs submitted today.
    pub urls_today: i64,
    /// Pages captured today.
    pub pages_today: i64,
    /// Bytes stored.
    pub bytes_kept: i64,
    /// Open crawls, without standing ones.
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
    /// Checks a key and charges one request, or more for many URLs.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_admit_urls(caller: &ApiCaller, urls: usize) -> Result<(), ApiError>
        = done("select api.admit($1, $2, $3)", caller.key, caller.secret(), urls as i64);

    /// Returns the ports that a key's URLs may use. `None` if the key is invalid. Charges nothing.
    pub async fn api_key_ports(caller: &ApiCaller) -> Result<Option<Vec<i32>>, ApiError>
        = value("select api.key_ports($1, $2)", caller.key, caller.secret());

    /// Returns a key's limits and usage.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_key(caller: &ApiCaller) -> Result<ApiKey, ApiError>
        = row("select * from api.own_key($1, $2)", caller.key, caller.secret());

    /// Checks a key without charging it, because the request's own call will. Returns true if a
    /// reply is stored for this request.
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
    /// Checks a key for a request that makes no other charging call.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_admit(&self, caller: &ApiCaller) -> Result<(), ApiError> {
        self.api_admit_urls(caller, 0).await
    }

    /// Returns whether each caller's key is valid, and charges nothing.
    pub async fn api_valid_keys(&self, callers: &[ApiCaller]) -> Result<Vec<bool>, Error> {
        let keys: Vec<&str> = callers.iter().map(|caller| caller.key.as_str()).collect();
        let secrets: Vec<&[u8]> =
            callers.iter().map(|caller| caller.secret_sha256.as_slice()).collect();
        let sql = "select api.valid_keys($1, $2)";
        let rows = run(&self.work, sql, &[bind(&keys), bind(&secrets)]).await?;
        flags(&rows, callers.len())
    }
}
