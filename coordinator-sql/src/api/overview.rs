//! What an installation does, in numbers that every key may see.

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
    /// Workers, slots and scans in numbers, and of a crawl of the key the pace that politeness
    /// allows, as the document that `functions/api/overview.sql` makes. Takes one request.
    ///
    /// # Errors
    /// Refused: `unauthorized`, `throttled`, `not_found` (the crawl).
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
