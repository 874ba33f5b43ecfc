//! Numbers about an installation that every key may see.

use serde_json::Value;
use uuid::Uuid;

use crate::{
    api::caller::{ApiCaller, ApiError},
    bind::bind,
    call::run,
    coordinator::Coordinator,
    row::first,
};

impl Coordinator {
    /// Returns the numbers of workers, slots and scans, and the pace that politeness allows a crawl
    /// of the key, as the document of `functions/api/overview.sql`. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found` (the crawl).
    pub async fn api_overview(
        &self,
        caller: &ApiCaller,
        crawl: Option<Uuid>,
    ) -> Result<Value, ApiError> {
        let sql = "select api.overview($1, $2, $3)";
        let secret = caller.secret_sha256.as_slice();
        let parameters = [bind(&caller.key), bind(&secret), bind(&crawl)];
        Ok(first(&run(&self.work, sql, &parameters).await?)?)
    }
}
