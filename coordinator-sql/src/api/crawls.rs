//! Starts, lists and changes a key's crawls.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    api::{
        caller::{ApiCaller, ApiError},
        idempotency::IdempotencyKey,
    },
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{
        bind::{bind, sql_rows},
        call::run,
        hash::signed_hash,
        row::{by_number, from_row},
    },
    crawl::{
        crawls::{CrawlHost, CrawlStatus, CrawlVerb, NewCrawl, SqlCrawl},
        links::SqlLink,
        rows::LinksRow,
    },
    error::Error,
};

/// A crawl that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiStarted {
    /// The crawl's number, which the ids of its URLs contain.
    pub crawl: i32,
    /// The crawl's id.
    pub crawl_id: Uuid,
    /// The crawl's name.
    pub crawl_name: String,
    /// Whether an earlier request with this idempotency key started the crawl.
    pub is_repeated: bool,
}

/// A crawl's state, for requests that wait for its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiCrawlState {
    /// `running`, `paused` or `ended`.
    pub state: String,
    /// The reason why it ended. `None` while it is open.
    pub ended_by: Option<String>,
}

from_row!(ApiStarted { crawl, crawl_id, crawl_name, is_repeated });
from_row!(ApiCrawlState { state, ended_by });

sql_calls! {
    /// Starts a key's crawl with its first seeds. Charges one request, and one more per hundred
    /// seeds. The key becomes the crawl's owner.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `quota_urls`, `quota_pages`, `quota_bytes`,
    /// `quota_crawls`, `idempotency_mismatch`, or, for the crawl that this one repeats, `not_found`
    /// or `crawl_open`.
    pub async fn api_start_crawl(
        caller: &ApiCaller,
        crawl: &NewCrawl,
        idempotency: Option<&IdempotencyKey>,
        rows: &[LinksRow],
        is_last: bool,
    ) -> Result<ApiStarted, ApiError>
        = row(
            "select * from api.start_crawl($1, $2, $3, $4, $5, $6, $7)",
            caller.key, caller.secret(), idempotency.map(IdempotencyKey::name),
            idempotency.map(IdempotencyKey::request), SqlCrawl::from(crawl), is_last,
            sql_rows::<_, SqlLink<'_>>(rows),
        );

    /// Returns a key's crawls, newest first: only the crawl with this `id`, or up to `limit` crawls
    /// with numbers below `before`.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_crawls(
        caller: &ApiCaller,
        id: Option<Uuid>,
        limit: i32,
        before: Option<i32>,
    ) -> Result<Vec<CrawlStatus>, ApiError>
        = rows(
            "select * from api.crawls($1, $2, $3, $4, $5)",
            caller.key, caller.secret(), id, limit, before,
        );

    /// Pauses, resumes or cancels a key's crawl.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`, or the quota that does not
    /// allow resuming the crawl now.
    pub async fn api_move_crawl(
        caller: &ApiCaller,
        id: Uuid,
        verb: CrawlVerb,
    ) -> Result<ApiCrawlState, ApiError>
        = row(
            "select * from api.move_crawl($1, $2, $3, $4)",
            caller.key, caller.secret(), id, verb.as_str(),
        );

    /// Returns up to `limit` hosts with due URLs in a key's crawl, sorted by due time, after the
    /// host with this time and hash.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_crawl_hosts(
        caller: &ApiCaller,
        id: Uuid,
        limit: i32,
        after: Option<(DateTime<Utc>,
        u64)>,
    ) -> Result<Vec<CrawlHost>, ApiError>
        = rows(
            "select * from api.crawl_hosts($1, $2, $3, $4, $5, $6)",
            caller.key, caller.secret(), id, limit, after.map(|after| after.0),
            after.map(|after| signed_hash(after.1)),
        );
}

impl Coordinator {
    /// Returns many crawls' states in the given order, and charges nothing. `None` if the key is
    /// invalid or does not own this crawl.
    pub async fn api_crawl_states(
        &self,
        asked: &[(&ApiCaller, Uuid)],
    ) -> Result<Vec<Option<ApiCrawlState>>, Error> {
        let sql = "select * from api.crawl_states($1, $2, $3)";
        let keys: Vec<&str> = asked.iter().map(|(caller, _)| caller.key.as_str()).collect();
        let secrets = asked.iter().map(|(caller, _)| caller.secret_sha256.as_slice());
        let rows = run(
            &self.work,
            sql,
            &[
                bind(&keys),
                bind(&secrets.collect::<Vec<_>>()),
                bind(&asked.iter().map(|(_, id)| *id).collect::<Vec<_>>()),
            ],
        )
        .await?;
        by_number(&rows, asked.len())
    }
}
