//! The HTTP service's caller, and the refusals that it may get.

use std::fmt;

use serde_json::Value;

use crate::error::Error;

/// The SQLSTATE of refusals, whose message is the code.
const REFUSED: &str = "ET010";

/// A key, and the proof that the caller knows its secret.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ApiCaller {
    /// The public id, 12 characters of base32.
    pub key: String,
    /// SHA-256 of the secret as a string.
    pub secret_sha256: [u8; 32],
}

impl ApiCaller {
    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret_sha256
    }
}

impl fmt::Debug for ApiCaller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ApiCaller").field("key", &self.key).finish_non_exhaustive()
    }
}

/// A refusal by Postgres, which changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("refused: {code}")]
pub struct ApiRefusal {
    /// One of: `unauthorized` (the key is unknown or revoked, or its secret is wrong), `not_found`
    /// (also for another key's object), `not_allowed`, `throttled` (detail `retry_after_s`),
    /// `quota_urls`, `quota_pages`, `quota_bytes`, `quota_crawls` (detail `limit` and `used`, for
    /// daily quotas also `retry_after_s`), `crawl_ended`, `crawl_open`, `name_taken`,
    /// `webhook_disabled`, `invalid_cursor`, `idempotency_mismatch`.
    pub code: String,
    /// A JSON object that depends on the code, or null.
    pub detail: Value,
}

/// Why a call on behalf of a key failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// Postgres refused it.
    #[error(transparent)]
    Refused(#[from] ApiRefusal),
    /// Any other error.
    #[error(transparent)]
    Database(Error),
}

impl ApiError {
    /// Returns true if the key sends requests too fast.
    pub fn is_throttled(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == "throttled")
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let Error::Query(query) = &error else { return Self::Database(error) };
        match query.as_db_error().filter(|refusal| refusal.code().code() == REFUSED) {
            Some(refusal) => Self::Refused(ApiRefusal {
                code: refusal.message().to_owned(),
                detail: refusal.detail().map(json_of).unwrap_or_default(),
            }),
            None => Self::Database(error),
        }
    }
}

impl From<tokio_postgres::Error> for ApiError {
    fn from(error: tokio_postgres::Error) -> Self {
        Error::from(error).into()
    }
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
