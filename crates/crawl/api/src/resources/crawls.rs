//! Starts, lists and shows crawls.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, Uri},
    response::Response,
    routing::get,
};
use chrono::{DateTime, Utc};
use everytab_coordinator::{ApiError, CrawlStatus};
use everytab_crawl_settings::CrawlSettings;
use everytab_crawl_start::new_crawl;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use super::{
    batches::{AcceptedUrl, accepted, in_background, packed},
    crawl_changes::change,
};
use crate::{
    answer,
    asked_crawl::AskedCrawl,
    body,
    caller::Caller,
    closed_lists::{CrawlEnd, CrawlState, FailureOutcome, LeftReason, LinkRefusal, RefusalReason},
    crawl_settings::SettingsOfCrawl,
    failed_seeds::{FailedSeeds, OnlyWord},
    parameters::{Parameters, PathId, idempotency_key, known},
    problem::{Problem, ProblemCode, ProblemItem},
    service::Service,
    submitted_urls::SubmittedUrls,
    tokens::{crawls_before, crawls_cursor},
    waiters::Question,
};

/// Default crawls per response.
const DEFAULT_CRAWLS: i32 = 20;
/// Maximum crawls in a response. The counters of each crawl are in 256 rows.
const MAX_CRAWLS: i32 = 100;

/// A crawl to start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CrawlSubmission {
    /// URLs or hostnames, at most 10,000. A hostname gets `https://`, or `http://` if https cannot
    /// be reached. Empty if `only` is given.
    #[schema(max_items = 10000)]
    #[serde(default)]
    pub(crate) urls: Vec<String>,
    /// The crawl's settings.
    #[serde(default)]
    pub(crate) settings: SettingsOfCrawl,
    /// Whether more URLs will be added with POST `/v1/crawls/{id}/urls`. Until one of these
    /// requests has `last`, the crawl does not end when no URLs are pending.
    #[serde(default)]
    pub(crate) more: bool,
    /// Which URLs of the crawl in `settings.again` are submitted, instead of `urls`. Their links
    /// are not followed unless `settings.depth` is given.
    pub(crate) only: Option<OnlyWord>,
}

/// A crawl that was started.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StartedCrawl {
    /// The crawl's ID.
    pub(crate) id: Uuid,
    /// Name of the crawl, which is part of its archives' names.
    pub(crate) name: String,
    /// URLs that will be fetched. Empty if `only` was given: the feed returns these URLs after they
    /// are fetched.
    pub(crate) accepted: Vec<AcceptedUrl>,
    /// Errors for the other URLs.
    pub(crate) refused: Vec<ProblemItem>,
}

/// A crawl and its counters: known = pending + captured + failed + refused + left.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CrawlDocument {
    /// The crawl's ID.
    pub(crate) id: Uuid,
    /// The crawl's name.
    pub(crate) name: String,
    /// running, paused or ended.
    #[schema(value_type = CrawlState)]
    pub(crate) state: String,
    /// What ended the crawl: empty, limit, cancel, time or store.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CrawlEnd>)]
    pub(crate) ended_by: Option<String>,
    /// Whether the crawl expects more submitted URLs, so that it does not end when no URLs are
    /// pending.
    pub(crate) seeding: bool,
    /// The crawl's settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settings: Option<SettingsOfCrawl>,
    /// When this crawl was started.
    pub(crate) started_at: DateTime<Utc>,
    /// When this crawl ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finished_at: Option<DateTime<Utc>>,
    /// Number of pages that the limit still allows, not counting pages that workers have reserved.
    /// Absent if there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) budget_left: Option<i64>,
    /// Number of submitted URLs.
    pub(crate) seeds: i64,
    /// Number of links that are not processed yet.
    pub(crate) unread: i64,
    /// Number of URLs in the crawl.
    pub(crate) known: i64,
    /// Number of URLs that are not fetched yet.
    pub(crate) pending: i64,
    /// Number of URLs that were fetched and stored.
    pub(crate) captured: i64,
    /// Number of URLs that failed.
    pub(crate) failed: i64,
    /// Number of failed URLs, by outcome.
    #[schema(value_type = BTreeMap<FailureOutcome, i64>)]
    pub(crate) failures: Value,
    /// Number of refused URLs, by reason.
    #[schema(value_type = BTreeMap<RefusalReason, i64>)]
    pub(crate) refused: Value,
    /// Number of URLs that were given up, by reason.
    #[schema(value_type = BTreeMap<LeftReason, i64>)]
    pub(crate) left: Value,
    /// Number of links that were not added to the crawl, by reason.
    #[schema(value_type = BTreeMap<LinkRefusal, i64>)]
    pub(crate) links_refused: Value,
    /// Number of stored bytes.
    pub(crate) stored_bytes: i64,
    /// Versions of the patterns, oldest first. Present only if the response is for a single crawl
    /// whose patterns have changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<PatternVersion>>)]
    pub(crate) patterns: Option<Value>,
}

/// A version of a crawl's patterns.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PatternVersion {
    /// Number of the version. The crawl was started with version 1.
    pub(crate) version: i32,
    /// When the patterns were changed.
    pub(crate) changed_at: DateTime<Utc>,
    /// If there are any, a page's URL must match one of these patterns, unless it was submitted.
    pub(crate) include: Vec<String>,
    /// A URL must match none of these patterns.
    pub(crate) exclude: Vec<String>,
}

impl CrawlDocument {
    fn new(crawl: CrawlStatus) -> Self {
        let settings = serde_json::from_value::<CrawlSettings>(crawl.settings);
        Self {
            id: crawl.id,
            name: crawl.name,
            state: crawl.state,
            ended_by: crawl.ended_by,
            seeding: crawl.seeding,
            settings: settings.ok().map(SettingsOfCrawl::of),
            started_at: crawl.started_at,
            finished_at: crawl.finished_at,
            budget_left: crawl.budget_left,
            seeds: crawl.seeds,
            unread: (crawl.seeds + crawl.sent - crawl.read).max(0),
            known: crawl.known,
            pending: crawl.pending,
            captured: crawl.captured,
            failed: crawl.failed,
            failures: crawl.failures,
            refused: crawl.refused,
            left: crawl.left,
            links_refused: crawl.links_refused,
            stored_bytes: crawl.stored_bytes,
            patterns: crawl.patterns,
        }
    }
}

/// A page of a key's crawls, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CrawlList {
    /// The crawls.
    pub(crate) crawls: Vec<CrawlDocument>,
    /// The cursor for `after`. Absent if the response has fewer crawls than `limit`. The last
    /// cursor may lead to an empty response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

#[derive(OpenApi)]
#[openapi(paths(start, list, look))]
pub(crate) struct CrawlsDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new()
        .route("/v1/crawls", get(list).post(start))
        .route("/v1/crawls/{id}", get(look).patch(change))
}

/// Start a crawl
#[utoipa::path(
    post, path = "/v1/crawls", tag = "crawls",
    operation_id = "crawls_start",
    extensions(("x-problem-codes" = json!([
        "too_many_urls", "nothing_to_crawl", "invalid_setting", "invalid_pattern",
        "not_found", "not_allowed", "crawl_open", "quota_crawls", "quota_urls",
        "quota_pages", "quota_bytes"
    ]))),
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
        description = "Within 24 hours the same request does not start another crawl")),
    request_body(content = CrawlSubmission, example = json!({
        "urls": ["https://example.com/"],
        "settings": { "scope": "host", "depth": 2, "limit": 100 },
    })),
    responses(
        (status = 201, description = "Started", body = StartedCrawl),
        (status = 200, description = "The same request started it before", body = StartedCrawl),
    )
)]
pub(crate) async fn start(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, bytes) = body::json_request(&service, &caller, request).await?;
    let idempotency = idempotency_key(&parts, &bytes)?;
    let is_repeated = service.coordinator.api_admit_named(&caller, idempotency.as_ref()).await?;
    let ports = service.ports_of(&caller).await?;
    let (asked, more, mut failed) = in_background(&service, move |service| {
        let CrawlSubmission { urls, mut settings, more, only } = body::from_json(&bytes)?;
        let has_urls = more || !urls.is_empty();
        let failed = FailedSeeds::of(only, (&settings, has_urls), &ports)?;
        if failed.is_some() {
            settings.depth = settings.depth.or(Some(0));
        }
        Ok((AskedCrawl::read(service, settings, (&urls, ports))?, more, failed))
    })
    .await?;
    let AskedCrawl { settings, urls, .. } =
        asked.with_filter(&service, &caller, is_repeated).await?;
    let urls = match &mut failed {
        Some(failed) if !is_repeated => failed.next(&service, &caller).await?,
        Some(_) => urls,
        // A crawl may start without URLs if the client adds more.
        None if more && urls.refused.is_empty() => urls,
        None => urls.some()?,
    };
    let (mut urls, rows) = packed(&service, urls, 0).await?;
    let more = more || failed.as_ref().is_some_and(|failed| !failed.is_last());
    let owner = format!("key:{}", caller.key);
    let crawl = new_crawl(&settings, &owner, &service.settings.store, Utc::now())
        .map_err(|error| Problem::with(ProblemCode::InvalidSetting, error))?;
    let started = service
        .coordinator
        .api_start_crawl(&caller, &crawl, idempotency.as_ref(), &rows, !more)
        .await?;
    if let Some(failed) = failed {
        urls = SubmittedUrls::default();
        if !started.is_repeated {
            failed.add_rest(&service, &caller, started.crawl_id).await?;
        }
    }
    let document = StartedCrawl {
        id: started.crawl_id,
        name: started.crawl_name,
        accepted: accepted(started.crawl, &urls.accepted, &caller.secret_sha256),
        refused: urls.refused,
    };
    let is_new = !started.is_repeated;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let place = format!("/v1/crawls/{}", document.id);
    Ok(answer::at(&place, answer::json(status, &document)))
}

/// List the key's crawls, newest first
#[utoipa::path(
    get, path = "/v1/crawls", tag = "crawls",
    operation_id = "crawls_list",
    params(
        ("limit" = Option<i32>, Query, minimum = 1, maximum = 100,
         description = "Maximum number of crawls. Default: 20"),
        ("after" = Option<String>, Query, description = "`next` from the previous response"),
        ("before" = Option<String>, Query, description = "Former name of `after`"),
    ),
    responses(
        (status = 200, description = "Crawls", body = CrawlList),
    )
)]
pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let parameters = Parameters::parse(&uri, &["limit", "after", "before"])?;
    let limit = parameters.limit("limit", DEFAULT_CRAWLS, MAX_CRAWLS)?;
    let given = |name| parameters.text(name).map(|cursor| (name, cursor));
    if let (Some(_), Some((name, _))) = (given("after"), given("before")) {
        let detail = "before is the former name of after; give only after";
        return Err(Problem::of_field(ProblemCode::InvalidParameter, name, detail));
    }
    let before = given("after").or_else(|| given("before"));
    let before = before.map(|cursor| crawls_before(&caller.secret_sha256, cursor)).transpose()?;
    let found = service.coordinator.api_crawls(&caller, None, limit, before).await?;
    let is_full = i32::try_from(found.len()).is_ok_and(|count| count >= limit);
    let last = found.last().filter(|_| is_full);
    let next = last.map(|crawl| crawls_cursor(&caller.secret_sha256, crawl.crawl));
    let crawls = found.into_iter().map(CrawlDocument::new).collect();
    Ok(answer::ok(&CrawlList { crawls, next }))
}

/// Get a crawl's state
#[utoipa::path(
    get, path = "/v1/crawls/{id}", tag = "crawls",
    operation_id = "crawls_get",
    params(
        ("id" = Uuid, Path, description = "The crawl's ID"),
        ("wait" = Option<f64>, Query, minimum = 0, maximum = 60,
         description = "Seconds to wait for the state to change"),
    ),
    responses(
        (status = 200, description = "The crawl", body = CrawlDocument),
    )
)]
pub(crate) async fn look(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    uri: Uri,
) -> Result<Response, Problem> {
    let wait = Parameters::parse(&uri, &["wait"])?.wait()?;
    let id = known(&service, &caller, id).await?;
    let found = || async {
        let crawl = service.coordinator.api_crawls(&caller, Some(id), 1, None).await?;
        Ok::<_, ApiError>(crawl.into_iter().next())
    };
    let mut crawl = found().await?.ok_or_else(|| Problem::new(ProblemCode::NotFound))?;
    if crawl.state != "ended" && wait > Duration::ZERO {
        let question = Question::Crawl(id, crawl.state.clone());
        let news = service.waiters.wait(&caller, question, wait, &service.stop).await?;
        if news.is_some() {
            match found().await {
                Ok(now) => crawl = now.unwrap_or(crawl),
                // The key is throttled, so return the earlier state.
                Err(error) if error.is_throttled() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(answer::ok(&CrawlDocument::new(crawl)))
}
