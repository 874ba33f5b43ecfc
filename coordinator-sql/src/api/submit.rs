//! Submits single URLs from several keys together, or one key's batch.

use serde_json::Value;
use uuid::Uuid;

use crate::{
    api::{
        caller::{ApiCaller, ApiError, ApiRefusal},
        fetches::{ApiFetch, FetchId},
        idempotency::IdempotencyKey,
    },
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{
        bind::{bind, sql_rows},
        call::run,
        hash::signed_hash,
        row::{FromRow as _, from_row},
    },
    crawl::{links::SqlLink, rows::LinksRow},
    error::Error,
};

/// Parameters of a key's standing crawl, which receives URLs that are submitted without a crawl.
#[derive(Debug, Clone)]
pub struct StandingCrawl {
    /// The store URL for the crawl's records.
    pub store: String,
    /// The crawl's settings, with scope `page` and depth 0.
    pub settings: Value,
}

/// A submitted URL.
#[derive(Debug, Clone)]
pub struct ApiSubmission {
    /// The key that submits it.
    pub caller: ApiCaller,
    /// One of the key's crawls. `None` for its standing crawl.
    pub crawl: Option<Uuid>,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// Hash of the URL's key.
    pub url_hash: u64,
    /// Maximum age in seconds of a capture that is returned without a fetch. `None` accepts any
    /// state in the crawl.
    pub max_age_s: Option<i32>,
    /// The URL as a link row that is not urgent.
    pub link: LinksRow,
    /// The URL packed as an urgent link. `None` if it is not urgent.
    pub urgent_data: Option<Vec<u8>>,
}

/// The crawl that contains a submitted URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiAccepted {
    /// The crawl's number, which the URL's id contains.
    pub crawl: i32,
    /// The crawl's id.
    pub crawl_id: Uuid,
    /// The crawl's name.
    pub crawl_name: String,
    /// Whether the URL used the urgent lane.
    pub is_urgent: bool,
    /// The URL's state, if it is not fetched because it is settled or has a recent capture.
    pub capture: Option<ApiFetch>,
}

/// The crawl to which URLs were added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiTarget {
    /// The crawl's number, which the ids of its URLs contain.
    pub crawl: i32,
    /// The crawl's id.
    pub crawl_id: Uuid,
    /// The crawl's name.
    pub crawl_name: String,
}

from_row!(ApiTarget { crawl, crawl_id, crawl_name });

sql_calls! {
    /// Adds URLs to one of a key's crawls, or to its standing crawl. Charges one request, and one
    /// more per hundred URLs. The last call for a crawl sets `is_last`, even without links, so that
    /// the crawl may finish.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`, `crawl_ended`, `quota_urls`,
    /// `quota_pages`, `quota_bytes`, `idempotency_mismatch`.
    pub async fn api_add_links(
        caller: &ApiCaller,
        target: (Option<Uuid>, &StandingCrawl),
        idempotency: Option<&IdempotencyKey>,
        rows: &[LinksRow],
        is_last: bool,
    ) -> Result<ApiTarget, ApiError>
        = row(
            "select * from api.add_links($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            caller.key, caller.secret(), idempotency.map(IdempotencyKey::name),
            idempotency.map(IdempotencyKey::request), target.0, target.1.store, target.1.settings,
            is_last, sql_rows::<_, SqlLink<'_>>(rows),
        );
}

impl Coordinator {
    /// Submits URLs in one transaction, and charges one request for each accepted URL. A refusal
    /// does not affect other URLs: `unauthorized`, `throttled`, `not_found`, `crawl_ended`,
    /// `quota_urls`, `quota_pages`, `quota_bytes`.
    pub async fn api_submit(
        &self,
        standing: &StandingCrawl,
        submissions: &[ApiSubmission],
    ) -> Result<Vec<Result<ApiAccepted, ApiRefusal>>, Error> {
        let rows = self.submit_rows(standing, submissions, None).await?;
        self.accepted(&rows, submissions).await
    }

    /// Submits one URL like [`Coordinator::api_submit`], or returns the reply to an earlier request
    /// with its idempotency key.
    ///
    /// # Errors
    /// Returns a refusal as [`Coordinator::api_submit`] does, or `idempotency_mismatch`.
    pub async fn api_submit_named(
        &self,
        standing: &StandingCrawl,
        submission: &ApiSubmission,
        idempotency: &IdempotencyKey,
    ) -> Result<ApiAccepted, ApiError> {
        let submissions = std::slice::from_ref(submission);
        let rows = self.submit_rows(standing, submissions, Some(idempotency)).await?;
        let accepted = self.accepted(&rows, submissions).await?.pop();
        Ok(accepted.ok_or_else(|| Error::Unexpected("no result".into()))??)
    }

    async fn accepted(
        &self,
        rows: &[tokio_postgres::Row],
        submissions: &[ApiSubmission],
    ) -> Result<Vec<Result<ApiAccepted, ApiRefusal>>, Error> {
        let mut answers = Vec::with_capacity(submissions.len());
        let mut answered = Vec::new();
        for (number, (row, submission)) in rows.iter().zip(submissions).enumerate() {
            let refused: Option<String> = row.try_get("code")?;
            if let Some(code) = refused {
                let detail: Option<Value> = row.try_get("detail")?;
                answers.push(Err(ApiRefusal { code, detail: detail.unwrap_or_default() }));
                continue;
            }
            let ApiTarget { crawl, crawl_id, crawl_name } = ApiTarget::from_row(row)?;
            if row.try_get("is_answered")? {
                let (host_hash, url_hash) = (submission.host_hash, submission.url_hash);
                answered.push((number, FetchId { crawl, host_hash, url_hash }));
            }
            let is_urgent = row.try_get("is_urgent")?;
            let capture = None;
            answers.push(Ok(ApiAccepted { crawl, crawl_id, crawl_name, is_urgent, capture }));
        }
        if answers.len() != submissions.len() {
            let said = format!("{} rows to {}", answers.len(), submissions.len());
            return Err(Error::Unexpected(said));
        }
        let asked = answered.iter().filter_map(|(number, id)| {
            submissions.get(*number).map(|submission| (&submission.caller, *id))
        });
        if !answered.is_empty() {
            let states = self.api_fetch_states(&asked.collect::<Vec<_>>()).await?;
            for ((number, _), state) in answered.iter().zip(states) {
                if let Some(Ok(answer)) = answers.get_mut(*number) {
                    answer.capture = state;
                }
            }
        }
        Ok(answers)
    }

    async fn submit_rows(
        &self,
        standing: &StandingCrawl,
        submissions: &[ApiSubmission],
        idempotency: Option<&IdempotencyKey>,
    ) -> Result<Vec<tokio_postgres::Row>, Error> {
        let sql = match idempotency {
            None => {
                "select * from api.submit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
                  order by number"
            }
            Some(_) => {
                "select * from api.submit_named($13, $14, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
                                                $11, $12)"
            }
        };
        let each = || submissions.iter();
        let keys: Vec<&str> = each().map(|one| one.caller.key.as_str()).collect();
        let secrets: Vec<&[u8]> = each().map(|one| one.caller.secret_sha256.as_slice()).collect();
        let hosts: Vec<i64> = each().map(|one| signed_hash(one.host_hash)).collect();
        let urls: Vec<i64> = each().map(|one| signed_hash(one.url_hash)).collect();
        let crawls: Vec<Option<Uuid>> = each().map(|one| one.crawl).collect();
        let ages: Vec<Option<i32>> = each().map(|one| one.max_age_s).collect();
        let groups: Vec<i16> = each().map(|one| one.link.slot_group).collect();
        let masks: Vec<i32> = each().map(|one| one.link.slot_mask).collect();
        let data: Vec<&[u8]> = each().map(|one| one.link.data.as_slice()).collect();
        let urgent: Vec<Option<&[u8]>> = each().map(|one| one.urgent_data.as_deref()).collect();
        let request = idempotency.map(|key| (key.name.as_str(), key.request_sha256.as_slice()));
        let mut values = vec![
            bind(&standing.store),
            bind(&standing.settings),
            bind(&keys),
            bind(&secrets),
            bind(&crawls),
            bind(&hosts),
            bind(&urls),
            bind(&ages),
            bind(&groups),
            bind(&masks),
            bind(&data),
            bind(&urgent),
        ];
        if let Some((name, request)) = &request {
            values.extend([bind(name), bind(request)]);
        }
        run(&self.work, sql, &values).await
    }
}
