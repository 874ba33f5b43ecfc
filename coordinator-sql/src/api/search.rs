//! Full-text search over what a key's crawls have captured.

use uuid::Uuid;

use crate::{
    api::{
        caller::{ApiCaller, ApiError},
        fetches::{ApiFetch, FetchId},
    },
    bind::{bind, storable},
    call::run,
    coordinator::Coordinator,
    error::Error,
    record::signed_hash,
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

/// The place of a page among those that answer a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundPlace {
    /// How well it answers.
    pub rank: f32,
    /// Its URL, which orders pages of one rank.
    pub id: FetchId,
}

impl Coordinator {
    /// At most `limit` pages of the key's crawls, or of one of them, that have the words of a
    /// query, the best first, behind the one of `after`. Takes one request.
    ///
    /// # Errors
    /// Refused: `unauthorized`, `throttled`, `not_found` (the crawl).
    pub async fn api_search(
        &self,
        caller: &ApiCaller,
        crawl: Option<Uuid>,
        query: &str,
        limit: i32,
        after: Option<FoundPlace>,
    ) -> Result<Vec<ApiFound>, ApiError> {
        let (secret, query) = (caller.secret_sha256.as_slice(), storable(query));
        let sql = "select rank, snippet, (page).*
                     from api.search($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let rank = after.map(|after| f64::from(after.rank));
        let crawl_of = after.map(|after| after.id.crawl);
        let host = after.map(|after| signed_hash(after.id.host_hash));
        let url = after.map(|after| signed_hash(after.id.url_hash));
        let parameters = [
            bind(&caller.key),
            bind(&secret),
            bind(&crawl),
            bind(&query),
            bind(&limit),
            bind(&rank),
            bind(&crawl_of),
            bind(&host),
            bind(&url),
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
