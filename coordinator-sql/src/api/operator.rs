//! Creates, lists and revokes keys. Only the database's owner may do this.

use crate::{api::key::ApiKey, error::Error, sql_calls::sql_calls};

/// A key to create. Its owner sees the secret once, and Postgres stores only the digest.
#[derive(Debug, Clone, PartialEq)]
pub struct NewApiKey {
    /// The key's public id, 12 characters of lower-case base32.
    pub key: String,
    /// SHA-256 of the secret as a string.
    pub secret_sha256: [u8; 32],
    /// A readable name, unique among the keys that are not revoked.
    pub name: String,
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
    /// The ports that its URLs may use, 1 to 64.
    pub ports: Vec<i32>,
}

sql_calls! {
    /// Creates a key.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, if another key has this name, or if a limit
    /// is out of bounds.
    pub async fn add_key(key: &NewApiKey) -> Result<(), Error>
        = operator_done(
            "select coordinator.add_key($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
                                           $12) is null",
            key.key, key.secret_sha256.as_slice(), key.name, key.requests_per_second, key.burst,
            key.urls_a_day, key.pages_a_day, key.max_bytes, key.max_crawls, key.rate,
            key.min_delay_ms, key.ports,
        );

    /// Returns all keys, oldest first, including revoked ones.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn list_keys() -> Result<Vec<ApiKey>, Error>
        = operator_rows("select * from coordinator.list_keys()");

    /// Revokes a key by its id. Returns false if the key does not exist or was already revoked.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn revoke_key(key: &str) -> Result<bool, Error>
        = operator_value("select coordinator.revoke_key($1)", key);
}
