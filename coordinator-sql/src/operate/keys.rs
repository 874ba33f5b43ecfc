//! Creates, lists and revokes keys, as the database's owner.

use crate::{api::key::ApiKey, client::sql_calls::sql_calls, error::Error};

/// A key to create. Postgres stores only the digest of its secret.
#[derive(Debug, Clone, PartialEq)]
pub struct NewApiKey {
    /// The public id, 12 characters of base32.
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
    /// Maximum stored bytes. `None` if unlimited.
    pub max_bytes: Option<i64>,
    /// Maximum open crawls, without standing ones. `None` if unlimited.
    pub max_crawls: Option<i32>,
    /// Maximum requests per second of all its crawls together. `None` if unlimited.
    pub rate: Option<i32>,
    /// Minimum delay per host, in milliseconds.
    pub min_delay_ms: i32,
    /// The ports that its URLs may use, 1 to 64.
    pub ports: Vec<i32>,
}

sql_calls! {
    /// Creates a key.
    ///
    /// # Errors
    /// Returns an error if another valid key has this name, or if a limit is out of bounds.
    pub async fn add_key(key: &NewApiKey) -> Result<(), Error>
        = operator_done(
            "select coordinator.add_key($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
                                           $12) is null",
            key.key, key.secret_sha256.as_slice(), key.name, key.requests_per_second, key.burst,
            key.urls_a_day, key.pages_a_day, key.max_bytes, key.max_crawls, key.rate,
            key.min_delay_ms, key.ports,
        );

    /// Returns all keys, oldest first, including revoked ones.
    pub async fn list_keys() -> Result<Vec<ApiKey>, Error>
        = operator_rows("select * from coordinator.list_keys()");

    /// Revokes a key. Returns false if there is no valid key with this id.
    pub async fn revoke_key(key: &str) -> Result<bool, Error>
        = operator_value("select coordinator.revoke_key($1)", key);
}
