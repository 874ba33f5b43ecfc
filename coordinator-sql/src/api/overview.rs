//! The installation's activity, which every key may see.

use serde_json::Value;
use uuid::Uuid;

use crate::{
    api::caller::{ApiCaller, ApiError},
    client::sql_calls::sql_calls,
};

sql_calls! {
    /// Returns the JSON object of `functions/api/overview.sql`. Charges one request, or six if
    /// `crawl` is given.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found` (the crawl).
    pub async fn api_overview(caller: &ApiCaller, crawl: Option<Uuid>) -> Result<Value, ApiError>
        = value("select api.overview($1, $2, $3)", caller.key, caller.secret(), crawl);
}
