//! Changes a key's open crawls, and repeats URLs that failed in an earlier crawl.

use uuid::Uuid;

use crate::{
    api::caller::{ApiCaller, ApiError},
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{
        bind::{bind, sql_rows},
        call::run,
        row::first,
    },
    crawl::{
        changes::{PatternChange, PatternsChanged},
        earlier::FailedUrl,
        links::SqlLink,
        rows::LinksRow,
    },
};

sql_calls! {
    /// Works like [`Coordinator::failed_urls`], for a key's finished crawl.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`, `crawl_open`.
    pub async fn api_failed_urls(
        caller: &ApiCaller,
        id: Uuid,
        after: Option<&str>,
        limit: i32,
    ) -> Result<Vec<FailedUrl>, ApiError>
        = rows(
            "select * from api.failed_urls($1, $2, $3, $4, $5)",
            caller.key, caller.secret(), id, after, limit,
        );

    /// Adds URLs to a key's crawl that failed in the crawl that it repeats. The last call sets
    /// `is_last`. Charges one request for any number of URLs. Returns false if the crawl has
    /// finished.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`, `quota_urls`, `quota_pages`,
    /// `quota_bytes`.
    pub async fn api_add_failed(
        caller: &ApiCaller,
        id: Uuid,
        rows: &[LinksRow],
        is_last: bool,
    ) -> Result<bool, ApiError>
        = value(
            "select api.add_failed($1, $2, $3, $4, $5)",
            caller.key, caller.secret(), id, is_last, sql_rows::<_, SqlLink<'_>>(rows),
        );
}

impl Coordinator {
    /// Changes the includes and excludes for a key's crawl.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`, `crawl_ended`, `not_allowed`.
    pub async fn api_change_patterns(
        &self,
        caller: &ApiCaller,
        id: Uuid,
        change: &PatternChange,
    ) -> Result<PatternsChanged, ApiError> {
        let sql = "select api.change_patterns($1, $2, $3, $4, $5, $6)";
        let secret = caller.secret_sha256.as_slice();
        let PatternChange { version, include, exclude } = change;
        let parameters = [
            bind(&caller.key),
            bind(&secret),
            bind(&id),
            bind(version),
            bind(include),
            bind(exclude),
        ];
        let word: String = first(&run(&self.work, sql, &parameters).await?)?;
        Ok(PatternsChanged::parse(&word))
    }
}
