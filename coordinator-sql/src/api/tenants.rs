//! Limits that a key sets for its own crawls: rates, delays and stricter robots.txt rules.

use uuid::Uuid;

use crate::{
    api::caller::{ApiCaller, ApiError},
    client::sql_calls::sql_calls,
    crawl::{changes::RateChange, robots::RobotsOverrideRow},
};

sql_calls! {
    /// Adds rules that a key's crawls obey in addition to robots.txt.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_allowed` (the key has 64).
    pub async fn api_add_robots(caller: &ApiCaller, row: &RobotsOverrideRow) -> Result<(), ApiError>
        = done(
            "select api.add_robots($1, $2, $3, $4, $5, $6, $7)",
            caller.key, caller.secret(), row.id, row.site, row.user_agent, row.rules, row.delay_ms,
        );

    /// Returns a key's robots overrides.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_list_robots(caller: &ApiCaller) -> Result<Vec<RobotsOverrideRow>, ApiError>
        = rows("select * from api.list_robots($1, $2)", caller.key, caller.secret());

    /// Drops a key's robots override.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_drop_robots(caller: &ApiCaller, id: Uuid) -> Result<(), ApiError>
        = done("select api.drop_robots($1, $2, $3)", caller.key, caller.secret(), id);

    /// Changes the rate or minimum delay for one of a key's crawls, or for all of them.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`, `crawl_ended`, `not_allowed`
    /// (the value exceeds the operator's limit for this key; detail `limit`).
    pub async fn api_set_rate(
        caller: &ApiCaller,
        crawl: Option<Uuid>,
        change: RateChange,
    ) -> Result<(), ApiError>
        = done(
            "select api.set_rate($1, $2, $3, $4, $5)",
            caller.key, caller.secret(), crawl, change.parts().0, change.parts().1,
        );
}
