//! Full-text search over what a key's crawls have captured.

use uuid::Uuid;

use crate::{
    api::{
        caller::{ApiCaller, ApiError},
        fetches::ApiFetch,
    },
    bind::{bind, storable},
    call::run,
    coordinator::Coordinator,
    error::Error,
    row::FromRow as _,
};

/// A page that has the words of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiFound {
    /// How well it answers; only to be compared with others of the same query.
    pub rank: f32,
    /// The part of its text with the words, which are between U+0002 and U+0003.
    pub snippet: String,
    /// Its fetch.
    pub fetch: ApiFetch,
}

impl Coordinator {
    /// At most `limit` pages of the key's crawls, or of one of them, that have the words of a
    /// query, the best first, after `skip` of them. Takes one request.
    ///
    /// # Errors
    /// Refused: `unauthorized`, `throttled`, `not_found` (the crawl).
    pub async fn api_search(
        &self,
        caller: &ApiCaller,
        crawl: Option<Uuid>,
        query: &str,
        (limit, skip): (i32, i32),
    ) -> Result<Vec<ApiFound>, ApiError> {
        let (secret, query) = (caller.secret_sha256.as_slice(), storable(query));
        let sql = "select rank, snippet, (page).* from api.search($1, $2, $3, $4, $5, $6)";
        let parameters = [
            bind(&caller.key),
            bind(&secret),
            bind(&crawl),
            bind(&query),
            bind(&limit),
            bind(&skip),
        ];
        let rows = run(&self.work, sql, &parameters).await?;
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            found.push(ApiFound {
                rank: row.try_get("rank").map_err(Error::from)?,
                snippet: row.try_get("snippet").map_err(Error::from)?,
                fetch: ApiFetch::from_row(row)?,
            });
        }
        Ok(found)
    }
}
