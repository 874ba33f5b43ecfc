//! A key's limits and usage.

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

/// A key with the limits that the operator set, and today's usage.
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
    /// Maximum bytes that this key's crawls store. `None` if unlimited.
    pub max_bytes: Option<i64>,
    /// Maximum open crawls, without those for single URLs. `None` if unlimited.
    pub max_crawls: Option<i32>,
    /// Maximum requests per second that all this key's crawls together send. `None` if unlimited.
    pub rate: Option<i32>,
    /// Minimum delay between two requests to a host, in milliseconds.
    pub min_delay_ms: i32,
    /// The ports that its URLs may use.
    pub ports: Vec<i32>,
    /// URLs submitted today.
    pub urls_today: i64,
    /// Pages captured today. This count may be some seconds old.
    pub pages_today: i64,
    /// Bytes stored. This count may be some seconds old.
    pub bytes_kept: i64,
    /// Open crawls, without those for single URLs. This count may be some seconds old.
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
    /// Works like [`Coordinator::api_admit`], but also charges for this many URLs.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_admit_urls(caller: &ApiCaller, urls: usize) -> Result<(), ApiError>
        = done("select api.admit($1, $2, $3)", caller.key, caller.secret(), urls as i64);

    /// Returns the ports that a key's URLs may use. `None` if the key is invalid.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn api_key_ports(caller: &ApiCaller) -> Result<Option<Vec<i32>>, ApiError>
        = value("select api.key_ports($1, $2)", caller.key, caller.secret());

    /// Returns a key's limits and usage. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_key(caller: &ApiCaller) -> Result<ApiKey, ApiError>
        = row("select * from api.own_key($1, $2)", caller.key, caller.secret());

    /// Checks a key before a request, without charging it, because the request's own call charges
    /// the key. Returns true if a stored reply exists for this idempotency key and request.
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
    /// Checks a key and charges one request. This is for requests that make no other call, or only
    /// a call that does not charge.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_admit(&self, caller: &ApiCaller) -> Result<(), ApiError> {
        self.api_admit_urls(caller, 0).await
    }

    /// Returns whether each caller's key is valid. Does not charge any key.
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
