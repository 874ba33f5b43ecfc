//! A key's filters, and the lists that these filters may name.

use serde_json::Value;
use uuid::Uuid;

use super::{
    caller::{ApiCaller, ApiError},
    idempotency::IdempotencyKey,
};
use crate::{
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{bind::bind, call::run, row::values},
    crawl::filters::{StoredFilter, StoredFilterList},
    error::Error,
};

sql_calls! {
    /// Writes the next version of a key's filter, which the caller has validated.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`, `not_allowed` (it names a
    /// classifier).
    pub async fn api_change_filter(
        caller: &ApiCaller,
        id: Uuid,
        body: &Value,
    ) -> Result<StoredFilter, ApiError>
        = row(
            "select * from api.change_filter($1, $2, $3, $4)",
            caller.key, caller.secret(), id, body,
        );

    /// Returns a key's filters, sorted by name. If `id` and `names` are `None`, the bodies are
    /// null.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found` (the id).
    pub async fn api_filters(
        caller: &ApiCaller,
        id: Option<Uuid>,
        names: Option<&[&str]>,
    ) -> Result<Vec<StoredFilter>, ApiError>
        = rows(
            "select * from api.filters($1, $2, $3, $4)",
            caller.key, caller.secret(), id, names.map(<[&str]>::to_vec),
        );

    /// Removes a key's filter.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_remove_filter(caller: &ApiCaller, id: Uuid) -> Result<(), ApiError>
        = done("select api.remove_filter($1, $2, $3) is null", caller.key, caller.secret(), id);

    /// Returns the newest versions of imported lists, sorted by name.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`.
    pub async fn api_filter_lists(
        caller: &ApiCaller,
        names: Option<&[&str]>,
    ) -> Result<Vec<StoredFilterList>, ApiError>
        = rows(
            "select * from api.filter_lists($1, $2, $3)",
            caller.key, caller.secret(), names.map(<[&str]>::to_vec),
        );
}

impl Coordinator {
    /// Writes a new filter, which the caller has validated. The flag says that an earlier request
    /// with this idempotency key wrote it.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `name_taken`, `idempotency_mismatch`,
    /// `not_allowed` (it names a classifier, or the key has too many filters).
    pub async fn api_add_filter(
        &self,
        caller: &ApiCaller,
        name: &str,
        body: &Value,
        idempotency: Option<&IdempotencyKey>,
    ) -> Result<(StoredFilter, bool), ApiError> {
        let sql = "select * from api.add_filter($1, $2, $3, $4, $5, $6, $7)";
        let secret = caller.secret_sha256.as_slice();
        let id = Uuid::now_v7();
        let request_name = idempotency.map(IdempotencyKey::name);
        let request = idempotency.map(IdempotencyKey::request);
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
}

fn one(rows: Vec<StoredFilter>) -> Result<StoredFilter, ApiError> {
    let row = rows.into_iter().next();
    row.ok_or_else(|| ApiError::Database(Error::Unexpected("no filter".into())))
}
