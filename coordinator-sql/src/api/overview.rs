//! Numbers about an installation that every key may see.

use serde_json::Value;
use uuid::Uuid;

use crate::{
    api::caller::{ApiCaller, ApiError},
    sql_calls::sql_calls,
};

sql_calls! {
    /// Returns the numbers of workers, slots and scans, and the pace that politeness allows a crawl
    /// of the key, as the document of `functions/api/overview.sql`. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found` (the crawl).
    pub async fn api_overview(caller: &ApiCaller, crawl: Option<Uuid>) -> Result<Value, ApiError>
        = value("select api.overview($1, $2, $3)", caller.key, caller.secret(), crawl);
}
