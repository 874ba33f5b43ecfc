//! Filters of keys, and the lists that they may refer to.

use serde_json::Value;
use uuid::Uuid;

use super::{
    caller::{ApiCaller, ApiError},
    idempotency::IdempotencyKey,
};
use crate::{
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    filters::{StoredFilter, StoredFilterList},
    row::values,
};

impl Coordinator {
    /// Writes a new filter of a key, which the caller has checked. Also returns true if an earlier
    /// request with the same idempotency key wrote it, so that this one changed nothing. Charges
    /// one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `name_taken`, `idempotency_mismatch`,
    /// `not_allowed` (a classifier, or too many filters).
    pub async fn api_add_filter(
        &self,
        caller: &ApiCaller,
        name: &str,
        body: &Value,
        idempotency: Option<&IdempotencyKey>,
    ) -> Result<(StoredFilter, bool), ApiError> {
        let sql = "select * from api.add_filter($1, $2, $3, $4, $5, $6, $7)";
        let (secret, id) = (caller.secret_sha256.as_slice(), Uuid::now_v7());
        let request_name = idempotency.map(|key| key.name.as_str());
        let request = idempotency.map(|key| key.request_sha256.as_slice());
        let parameters = [
            bind(&caller.key),
            bind(&secret),
            bind(&request_name),
            bind(&request),
            bind(&id),
            bind(&name),
            bind(&body),
        ];
        let rows = run(&self.work, sql, &parameters).await?;
        let is_repeated = rows.first().map(|row| row.try_get("is_repeated")).transpose();
        let is_repeated = is_repeated.map_err(Error::from)?.unwrap_or_default();
        Ok((one(values(&rows)?)?, is_repeated))
    }

    /// Writes the next version of a key's filter, which the caller has checked. Charges one
    /// request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`, `not_allowed` (a classifier).
    pub async fn api_change_filter(
        &self,
        caller: &ApiCaller,
        id: Uuid,
        body: &Value,
    ) -> Result<StoredFilter, ApiError> {
        let sql = "select * from api.change_filter($1, $2, $3, $4)";
        let secret = caller.secret_sha256.as_slice();
        let parameters = [bind(&caller.key), bind(&secret), bind(&id), bind(&body)];
        one(values(&run(&self.work, sql, &parameters).await?)?)
    }

    /// Returns filters of a key, sorted by name: the one with `id`, those with `names`, or all of
    /// them with null as bodies. Missing names are skipped. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found` (an id).
    pub async fn api_filters(
        &self,
        caller: &ApiCaller,
        id: Option<Uuid>,
        names: Option<&[&str]>,
    ) -> Result<Vec<StoredFilter>, ApiError> {
        let sql = "select * from api.filters($1, $2, $3, $4)";
        let (secret, names) = (caller.secret_sha256.as_slice(), names.map(<[&str]>::to_vec));
        let parameters = [bind(&caller.key), bind(&secret), bind(&id), bind(&names)];
        Ok(values(&run(&self.work, sql, &parameters).await?)?)
    }

    /// Removes a filter of a key. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_remove_filter(&self, caller: &ApiCaller, id: Uuid) -> Result<(), ApiError> {
        let sql = "select api.remove_filter($1, $2, $3) is null";
        let secret = caller.secret_sha256.as_slice();
        run(&self.work, sql, &[bind(&caller.key), bind(&secret), bind(&id)]).await?;
        Ok(())
    }

    /// Returns the newest versions of imported lists, sorted by name: of all, or of those with
    /// `names`. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_filter_lists(
        &self,
        caller: &ApiCaller,
        names: Option<&[&str]>,
    ) -> Result<Vec<StoredFilterList>, ApiError> {
        let sql = "select * from api.filter_lists($1, $2, $3)";
        let (secret, names) = (caller.secret_sha256.as_slice(), names.map(<[&str]>::to_vec));
        Ok(values(&run(&self.work, sql, &[bind(&caller.key), bind(&secret), bind(&names)]).await?)?)
    }
}

fn one(rows: Vec<StoredFilter>) -> Result<StoredFilter, ApiError> {
    let row = rows.into_iter().next();
    row.ok_or_else(|| ApiError::Database(Error::Unexpected("no filter".into())))
}
