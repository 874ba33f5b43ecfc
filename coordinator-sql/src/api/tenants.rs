//! The limits that a key sets for its own crawls: rates, delays, stricter robots rules.

use uuid::Uuid;

use crate::{
    api::caller::{ApiCaller, ApiError},
    bind::bind,
    call::run,
    coordinator::Coordinator,
    frontier::{changes::RateChange, robots::RobotsOverrideRow},
    row::values,
};

impl Coordinator {
    /// Changes the request rate to hosts for a key's crawl, or for all its crawls together. Charges
    /// one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`, `crawl_ended`, `not_allowed`
    /// (beyond what the operator allows the key; detail `limit`).
    pub async fn api_set_rate(
        &self,
        caller: &ApiCaller,
        crawl: Option<Uuid>,
        change: RateChange,
    ) -> Result<(), ApiError> {
        let (name, value) = change.parts();
        let secret = caller.secret_sha256.as_slice();
        let sql = "select api.set_rate($1, $2, $3, $4, $5)";
        let parameters =
            [bind(&caller.key), bind(&secret), bind(&crawl), bind(&name), bind(&value)];
        run(&self.work, sql, &parameters).await?;
        Ok(())
    }

    /// Adds a robots override that a key's crawls obey in addition to robots.txt. Its owner is the
    /// key, regardless of `row`. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_allowed` (the key has 64).
    pub async fn api_add_robots(
        &self,
        caller: &ApiCaller,
        row: &RobotsOverrideRow,
    ) -> Result<(), ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let sql = "select api.add_robots($1, $2, $3, $4, $5, $6, $7)";
        let parameters = [
            bind(&caller.key),
            bind(&secret),
            bind(&row.id),
            bind(&row.site),
            bind(&row.user_agent),
            bind(&row.rules),
            bind(&row.delay_ms),
        ];
        run(&self.work, sql, &parameters).await?;
        Ok(())
    }

    /// Returns a key's robots overrides. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_list_robots(
        &self,
        caller: &ApiCaller,
    ) -> Result<Vec<RobotsOverrideRow>, ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let sql = "select * from api.list_robots($1, $2)";
        Ok(values(&run(&self.work, sql, &[bind(&caller.key), bind(&secret)]).await?)?)
    }

    /// Drops a robots override of a key. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_drop_robots(&self, caller: &ApiCaller, id: Uuid) -> Result<(), ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let sql = "select api.drop_robots($1, $2, $3)";
        run(&self.work, sql, &[bind(&caller.key), bind(&secret), bind(&id)]).await?;
        Ok(())
    }
}
