//! Full-text search in the captures that a key's crawls stored.

use uuid::Uuid;

use crate::{
    api::{
        caller::{ApiCaller, ApiError},
        fetches::{ApiFetch, FetchId},
    },
    client::coordinator::Coordinator,
    connection::{
        bind::{bind, storable},
        call::run,
        hash::signed_hash,
        row::FromRow as _,
    },
    error::Error,
};

/// A page that matches a query.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiFound {
    /// Relevance, comparable only with results for the same query.
    pub rank: f32,
    /// A part of the page's text, with matching words between U+0002 and U+0003.
    pub snippet: String,
    /// The page's fetch.
    pub fetch: ApiFetch,
}

/// A page's position in a query's results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundPlace {
    /// Relevance.
    pub rank: f32,
    /// The id of the page's URL, which orders pages with equal relevance.
    pub id: FetchId,
}

impl Coordinator {
    /// Returns up to `limit` pages that match a query, best first, after the position `after`.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found` (the crawl).
    pub async fn api_search(
        &self,
        caller: &ApiCaller,
        crawl: Option<Uuid>,
        query: &str,
        limit: i32,
        after: Option<FoundPlace>,
    ) -> Result<Vec<ApiFound>, ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let query = storable(query);
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
