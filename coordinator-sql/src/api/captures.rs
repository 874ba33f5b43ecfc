//! Finds a URL's stored captures.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    api::{
        caller::{ApiCaller, ApiError},
        fetches::{ApiFetch, FetchId},
    },
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{bind::bind, call::run, hash::signed_hash, row::flags},
};

sql_calls! {
    /// Returns a URL's capture with a stored record: the capture nearest to `at`, or the newest one
    /// if `at` is `None`. Searches one crawl, or the newest crawls of this key. `None` if there is
    /// no capture.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found` (the crawl).
    pub async fn api_find_capture(
        caller: &ApiCaller,
        crawl: Option<Uuid>,
        url: (u64, u64),
        at: Option<DateTime<Utc>>,
    ) -> Result<Option<ApiFetch>, ApiError>
        = row_if_any(
            "select * from api.find_capture($1, $2, $3, $4, $5, $6)",
            caller.key, caller.secret(), crawl, signed_hash(url.0), signed_hash(url.1), at,
        );
}

impl Coordinator {
    /// Returns whether the key may read each capture, in the given order. Charges one request per
    /// capture.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_admit_captures(
        &self,
        caller: &ApiCaller,
        captures: &[FetchId],
    ) -> Result<Vec<bool>, ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let sql = "select number from api.admit_captures($1, $2, $3, $4, $5)";
        let crawls: Vec<i32> = captures.iter().map(|id| id.crawl).collect();
        let hosts: Vec<i64> = captures.iter().map(|id| signed_hash(id.host_hash)).collect();
        let urls: Vec<i64> = captures.iter().map(|id| signed_hash(id.url_hash)).collect();
        let parameters =
            [bind(&caller.key), bind(&secret), bind(&crawls), bind(&hosts), bind(&urls)];
        Ok(flags(&run(&self.work, sql, &parameters).await?, captures.len())?)
    }
}
