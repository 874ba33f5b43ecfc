//! Pauses, resumes and cancels crawls, adds URLs to them, and lists their hosts.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, Uri},
    response::Response,
    routing::{get, post},
};
use chrono::{DateTime, Utc};
use everytab_coordinator::{ApiCaller, ApiCrawlState, CrawlHost, CrawlVerb};
use everytab_frontier::site_hash;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use super::batches::{BatchDocument, PRIORITY, accepted, check_priority, in_background, packed};
use crate::{
    answer,
    body::{self, BodyKind},
    caller::Caller,
    closed_lists::{CrawlEnd, CrawlState, FetchOutcome},
    parameters::{Parameters, PathId, given_once, idempotency_key, known},
    problem::{Problem, ProblemCode},
    service::Service,
    submitted_urls::SubmittedUrls,
    tokens::{host_cursor, host_place},
};

/// Default hosts per response.
const DEFAULT_HOSTS: i32 = 100;
/// Maximum hosts in a response.
const MAX_HOSTS: i32 = 1_000;

/// A crawl's state after it was paused, resumed or cancelled.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MovedCrawl {
    /// The crawl's ID.
    pub(crate) id: Uuid,
    /// running, paused or ended.
    #[schema(value_type = CrawlState)]
    pub(crate) state: String,
    /// What ended the crawl.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CrawlEnd>)]
    pub(crate) ended_by: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// URLs for a crawl that has not ended.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MoreUrls {
    /// URLs or hostnames, at most 10,000. A hostname gets `https://`, or `http://` if https cannot
    /// be reached.
    #[schema(max_items = 10000)]
    #[serde(default)]
    pub(crate) urls: Vec<String>,
    /// Priority from 0 to 7. A host's URLs with higher priority are fetched first.
    #[schema(maximum = 7)]
    pub(crate) priority: Option<u8>,
    /// Whether these are the last URLs, so the crawl may end when no URLs are pending.
    pub(crate) last: Option<bool>,
}

/// A host with pending URLs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HostDocument {
    /// The hostname.
    pub(crate) hostname: String,
    /// Number of the crawl's URLs on the host.
    pub(crate) known: i32,
    /// Number of URLs that are not fetched yet.
    pub(crate) pending: i32,
    /// When the next URL is due.
    pub(crate) next_due: DateTime<Utc>,
    /// When the next request may be sent to the host.
    pub(crate) free_at: DateTime<Utc>,
    /// Pause between two requests that the host's 429 and 503 responses caused, in milliseconds. 0
    /// if only the crawl's settings and robots.txt apply.
    pub(crate) delay_ms: i32,
    /// Smoothed response time in milliseconds.
    pub(crate) response_ms: i32,
    /// Crawl-delay of the host's robots.txt, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crawl_delay_ms: Option<i32>,
    /// Consecutive failures of the origin that has the most.
    pub(crate) failures: i32,
    /// The host's origins that are paused, or have only failed since their pause. The others
    /// continue.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) origins: Vec<OriginDocument>,
}

/// A host's paused origin (scheme, host and port).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct OriginDocument {
    /// Scheme, host and port. The scheme's default port is omitted.
    pub(crate) origin: String,
    /// When the origin first failed, or requested a pause.
    pub(crate) since: DateTime<Utc>,
    /// When the next request may be sent to the origin.
    pub(crate) until: DateTime<Utc>,
    /// Number of consecutive failures.
    pub(crate) failures: i32,
    /// Outcome of the last request.
    #[schema(value_type = FetchOutcome)]
    pub(crate) outcome: String,
}

/// A crawl's hosts with pending URLs, soonest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HostList {
    /// The hosts.
    pub(crate) hosts: Vec<HostDocument>,
    /// The cursor for `after`. Absent if the response has fewer hosts than `limit`. The last cursor
    /// may lead to an empty response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

#[derive(OpenApi)]
#[openapi(paths(pause, resume, cancel, add_urls, hosts))]
pub(crate) struct CrawlMovesDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new()
        .route("/v1/crawls/{id}/pause", post(pause))
        .route("/v1/crawls/{id}/resume", post(resume))
        .route("/v1/crawls/{id}/cancel", post(cancel))
        .route("/v1/crawls/{id}/urls", post(add_urls))
        .route("/v1/crawls/{id}/hosts", get(hosts))
}

/// Pause a crawl: send no more requests, keep its state
#[utoipa::path(
    post, path = "/v1/crawls/{id}/pause", tag = "crawls",
    operation_id = "crawls_pause",
    extensions(("x-problem-codes" = json!(["invalid_json", "body_too_large", "crawl_ended"]))),
    params(("id" = Uuid, Path, description = "The crawl's ID")),
    responses(
        (status = 200, description = "The state of the crawl", body = MovedCrawl),
    )
)]
pub(crate) async fn pause(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    request: Request,
) -> Result<Response, Problem> {
    moved(&service, &caller, id, CrawlVerb::Pause, request).await
}

/// Resume a paused crawl
#[utoipa::path(
    post, path = "/v1/crawls/{id}/resume", tag = "crawls",
    operation_id = "crawls_resume",
    extensions(("x-problem-codes" = json!(["invalid_json", "body_too_large", "crawl_ended"]))),
    params(("id" = Uuid, Path, description = "The crawl's ID")),
    responses(
        (status = 200, description = "The state of the crawl", body = MovedCrawl),
    )
)]
pub(crate) async fn resume(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    request: Request,
) -> Result<Response, Problem> {
    moved(&service, &caller, id, CrawlVerb::Resume, request).await
}

/// Cancel a crawl and keep its captures
#[utoipa::path(
    post, path = "/v1/crawls/{id}/cancel", tag = "crawls",
    operation_id = "crawls_cancel",
    extensions(("x-problem-codes" = json!(["invalid_json", "body_too_large", "crawl_ended"]))),
    params(("id" = Uuid, Path, description = "The crawl's ID")),
    responses(
        (status = 200, description = "The state of the crawl", body = MovedCrawl),
    )
)]
pub(crate) async fn cancel(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    request: Request,
) -> Result<Response, Problem> {
    moved(&service, &caller, id, CrawlVerb::Cancel, request).await
}

async fn moved(
    service: &Service,
    caller: &ApiCaller,
    id: Option<Uuid>,
    verb: CrawlVerb,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    Parameters::parse(&parts.uri, &[])?;
    let bytes = body::read(service, caller, body).await?;
    if !bytes.is_empty() {
        let Nothing {} = body::from_json(&bytes)?;
    }
    let id = known(service, caller, id).await?;
    let ApiCrawlState { state, ended_by } =
        service.coordinator.api_move_crawl(caller, id, verb).await?;
    // Cancelling a cancelled crawl changes nothing, and is not an error.
    let is_cancelled = verb == CrawlVerb::Cancel && ended_by.as_deref() == Some("cancel");
    if state == "ended" && !is_cancelled {
        let detail = format!("the crawl has ended (ended_by {})", ended_by.unwrap_or_default());
        return Err(Problem::with(ProblemCode::CrawlEnded, detail));
    }
    Ok(answer::ok(&MovedCrawl { id, state, ended_by }))
}

/// Add URLs to a crawl that has not ended
#[utoipa::path(
    post, path = "/v1/crawls/{id}/urls", tag = "crawls",
    operation_id = "crawl_urls_add",
    extensions(("x-problem-codes" = json!([
        "too_many_urls", "nothing_to_crawl", "crawl_ended", "quota_urls", "quota_pages",
        "quota_bytes"
    ]))),
    params(
        ("id" = Uuid, Path, description = "The crawl's ID"),
        ("priority" = Option<u8>, Query, maximum = 7,
         description = "Priority from 0 to 7. Give it here or in the body"),
        ("last" = Option<bool>, Query,
         description = "Whether these are the last URLs. Give it here or in the body"),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
         description = "Within 24 hours, a repeated request does nothing and gets the same \
                        response"),
    ),
    request_body(
        description = "JSON, or one URL per line; empty lines and comments with # are skipped",
        content(
            (MoreUrls = "application/json", example = json!({ "urls": ["https://example.com/a"] })),
            (String = "text/plain", example = "https://example.com/b\n"),
        )
    ),
    responses(
        (status = 202, description = "The accepted URLs will be fetched",
         body = BatchDocument),
    )
)]
pub(crate) async fn add_urls(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let kind = body::kind_of(&parts.headers)?;
    let parameters = Parameters::parse(&parts.uri, &["priority", "last"])?;
    let priority: Option<u8> = parameters.value("priority", PRIORITY)?;
    let last: Option<bool> = parameters.value("last", "true or false")?;
    let bytes = body::read(&service, &caller, body).await?;
    let idempotency = idempotency_key(&parts, &bytes)?;
    let mut ports = service.ports_of(&caller).await?;
    let (urls, priority, last) = in_background(&service, move |service| match kind {
        BodyKind::Lines => {
            Ok((SubmittedUrls::of_lines(service, &mut ports, &bytes)?, priority, last))
        }
        BodyKind::Json => {
            let asked: MoreUrls = body::from_json(&bytes)?;
            let priority = given_once("priority", priority, asked.priority)?;
            let last = given_once("last", last, asked.last)?;
            Ok((SubmittedUrls::of_list(service, &mut ports, &asked.urls)?, priority, last))
        }
    })
    .await?;
    let (priority, last) = (priority.unwrap_or_default(), last.unwrap_or_default());
    check_priority(priority)?;
    // A request with `last` may have no URLs.
    let urls = if last && urls.refused.is_empty() { urls } else { urls.some()? };
    let id = known(&service, &caller, id).await?;
    let (urls, rows) = packed(&service, urls, priority).await?;
    let target = (Some(id), &service.standing);
    let added =
        service.coordinator.api_add_links(&caller, target, idempotency.as_ref(), &rows, last);
    let target = added.await?;
    let accepted = accepted(target.crawl, &urls.accepted, &caller.secret_sha256);
    let document = BatchDocument { crawl: target.crawl_id, accepted, refused: urls.refused };
    Ok(answer::json(StatusCode::ACCEPTED, &document))
}

/// List the hosts with pending URLs, soonest first
#[utoipa::path(
    get, path = "/v1/crawls/{id}/hosts", tag = "crawls",
    operation_id = "crawl_hosts_list",
    params(
        ("id" = Uuid, Path, description = "The crawl's ID"),
        ("limit" = Option<i32>, Query, minimum = 1, maximum = 1000,
         description = "Maximum number of hosts. Default: 100"),
        ("after" = Option<String>, Query,
         description = "`next` from the previous response. Hosts requested since then appear \
                        again"),
    ),
    responses(
        (status = 200, description = "Hosts", body = HostList),
    )
)]
pub(crate) async fn hosts(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    uri: Uri,
) -> Result<Response, Problem> {
    let parameters = Parameters::parse(&uri, &["limit", "after"])?;
    let limit = parameters.limit("limit", DEFAULT_HOSTS, MAX_HOSTS)?;
    let id = known(&service, &caller, id).await?;
    let after = parameters.text("after");
    let after = after.map(|cursor| host_place(&caller.secret_sha256, id, cursor)).transpose()?;
    let hosts = service.coordinator.api_crawl_hosts(&caller, id, limit, after).await?;
    let is_full = hosts.len() >= usize::try_from(limit).unwrap_or_default();
    let last = hosts.last().filter(|_| is_full);
    let place = last.map(|last| (last.next_due, site_hash(&last.hostname)));
    let next = place.map(|place| host_cursor(&caller.secret_sha256, id, place));
    Ok(answer::ok(&HostList { hosts: hosts.into_iter().map(host_document).collect(), next }))
}

/// Skips origins that cannot be read because a newer worker wrote them.
fn origin_documents(origins: Value) -> Vec<OriginDocument> {
    let Value::Array(origins) = origins else { return Vec::new() };
    origins.into_iter().filter_map(|origin| serde_json::from_value(origin).ok()).collect()
}

fn host_document(host: CrawlHost) -> HostDocument {
    HostDocument {
        hostname: host.hostname,
        known: host.known,
        pending: host.pending,
        next_due: host.next_due,
        free_at: host.free_at,
        delay_ms: host.delay_ms,
        response_ms: host.response_ms,
        crawl_delay_ms: host.crawl_delay_ms,
        failures: host.failures,
        origins: host.origins.map(origin_documents).unwrap_or_default(),
    }
}
