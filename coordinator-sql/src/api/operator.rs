//! Keys as the operator makes, lists and revokes them. Only the database's owner may.

use crate::{api::key::ApiKey, bind::bind, coordinator::Coordinator, error::Error};

/// A key to make. Its secret is shown once to whom it is given; Postgres has the digest alone.
#[derive(Debug, Clone, PartialEq)]
pub struct NewApiKey {
    /// The key's public id, 12 characters of lower-case base32.
    pub key: String,
    /// SHA-256 of the secret's text.
    pub secret_sha256: [u8; 32],
    /// A name for people, unique among the keys that are not revoked.
    pub name: String,
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
    /// The ports that its URLs may name, 1 to 64.
    pub ports: Vec<i32>,
}

impl Coordinator {
    /// Makes a key.
    ///
    /// # Errors
    /// When Postgres refuses: a name that another key has, a limit out of its bounds.
    pub async fn add_key(&self, key: &NewApiKey) -> Result<(), Error> {
        let sql = "select coordinator.add_key($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
                                           $12) is null";
        let secret = key.secret_sha256.as_slice();
        let parameters = [
            bind(&key.key),
            bind(&secret),
            bind(&key.name),
            bind(&key.requests_per_second),
            bind(&key.burst),
            bind(&key.urls_a_day),
            bind(&key.pages_a_day),
            bind(&key.max_bytes),
            bind(&key.max_crawls),
            bind(&key.rate),
            bind(&key.min_delay_ms),
            bind(&key.ports),
        ];
        self.operator_value::<bool>(sql, &parameters).await.map(drop)
    }

    /// All keys, oldest first, also those that were revoked.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn list_keys(&self) -> Result<Vec<ApiKey>, Error> {
        self.operator_rows("select * from coordinator.list_keys()", &[]).await
    }

    /// Revokes a key, by its id. False: there is no such key, or it was revoked before.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn revoke_key(&self, key: &str) -> Result<bool, Error> {
        self.operator_value("select coordinator.revoke_key($1)", &[bind(&key)]).await
    }
}
