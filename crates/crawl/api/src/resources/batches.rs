//! Submits URL lists. All accepted URLs are submitted in one transaction.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::StatusCode,
    response::Response,
    routing::post,
};
use everytab_coordinator::{ApiTarget, FetchId, LinksRow};
use everytab_crawl_settings::Seed;
use everytab_frontier::{MAX_PRIORITY, site_hash};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use crate::{
    answer,
    body::{self, BodyKind},
    caller::Caller,
    parameters::{Parameters, given_once, idempotency_key},
    problem::{Problem, ProblemCode, ProblemItem},
    service::Service,
    submitted_urls::SubmittedUrls,
    tokens::url_id,
};

/// URLs to fetch.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchSubmission {
    /// URLs or hostnames, at most 10,000. A hostname gets `https://`, or `http://` if https cannot
    /// be reached.
    #[schema(min_items = 1, max_items = 10000)]
    pub(crate) urls: Vec<String>,
    /// One of the key's crawls. Default: the key's crawl for today's single URLs.
    pub(crate) crawl: Option<Uuid>,
    /// Priority from 0 to 7. A host's URLs with higher priority are fetched first.
    #[schema(maximum = 7)]
    pub(crate) priority: Option<u8>,
}

/// A URL that was accepted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AcceptedUrl {
    /// The URL's line, or its position in the list, from 1.
    pub(crate) line: u64,
    /// The URL's ID.
    pub(crate) id: String,
    /// The URL, normalized.
    pub(crate) url: String,
}

/// The result of submitting a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchDocument {
    /// The crawl to which the URLs belong.
    pub(crate) crawl: Uuid,
    /// URLs that will be fetched.
    pub(crate) accepted: Vec<AcceptedUrl>,
    /// Errors for the other URLs.
    pub(crate) refused: Vec<ProblemItem>,
}

#[derive(OpenApi)]
#[openapi(paths(submit_batch))]
pub(crate) struct BatchesDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/v1/url/batch", post(submit_batch))
}

/// Submit many URLs
#[utoipa::path(
    post, path = "/v1/url/batch", tag = "urls",
    operation_id = "batch_submit",
    extensions(("x-problem-codes" = json!([
        "too_many_urls", "nothing_to_crawl", "crawl_ended", "quota_urls", "quota_pages",
        "quota_bytes"
    ]))),
    params(
        ("crawl" = Option<Uuid>, Query,
         description = "One of the key's crawls. Give it here or in the body"),
        ("priority" = Option<u8>, Query, maximum = 7,
         description = "Priority from 0 to 7. Give it here or in the body"),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
         description = "Within 24 hours, a repeated request does nothing and gets the same \
                        response"),
    ),
    request_body(
        description = "JSON, or one URL per line; empty lines and comments with # are skipped",
        content(
            (BatchSubmission = "application/json",
             example = json!({ "urls": ["https://example.com/", "example.org"] })),
            (String = "text/plain", example = "https://example.com/\nexample.org\n"),
        )
    ),
    responses(
        (status = 202, description = "The accepted URLs will be fetched",
         body = BatchDocument),
    )
)]
pub(crate) async fn submit_batch(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let kind = body::kind_of(&parts.headers)?;
    let parameters = Parameters::parse(&parts.uri, &["crawl", "priority"])?;
    let crawl: Option<Uuid> = parameters.value("crawl", "a crawl's ID")?;
    let priority: Option<u8> = parameters.value("priority", PRIORITY)?;
    let bytes = body::read(&service, &caller, body).await?;
    let idempotency = idempotency_key(&parts, &bytes)?;
    let mut ports = service.ports_of(&caller).await?;
    let (crawl, priority, urls) = in_background(&service, move |service| match kind {
        BodyKind::Lines => {
            Ok((crawl, priority, SubmittedUrls::of_lines(service, &mut ports, &bytes)?))
        }
        BodyKind::Json => {
            let asked: BatchSubmission = body::from_json(&bytes)?;
            let crawl = given_once("crawl", crawl, asked.crawl)?;
            let priority = given_once("priority", priority, asked.priority)?;
            Ok((crawl, priority, SubmittedUrls::of_list(service, &mut ports, &asked.urls)?))
        }
    })
    .await?;
    let priority = priority.unwrap_or_default();
    check_priority(priority)?;
    let (urls, rows) = packed(&service, urls.some()?, priority).await?;
    let target = (crawl, &service.standing);
    let added =
        service.coordinator.api_add_links(&caller, target, idempotency.as_ref(), &rows, false);
    let target = added.await?;
    let ApiTarget { crawl: number, crawl_id, .. } = target;
    let accepted = accepted(number, &urls.accepted, &caller.secret_sha256);
    let document = BatchDocument { crawl: crawl_id, accepted, refused: urls.refused };
    Ok(answer::json(StatusCode::ACCEPTED, &document))
}

pub(super) const PRIORITY: &str = "a number from 0 to 7";

pub(super) fn check_priority(priority: u8) -> Result<(), Problem> {
    if priority <= MAX_PRIORITY {
        return Ok(());
    }
    let detail = format!("invalid priority {priority}: expected {PRIORITY}");
    Err(Problem::of_field(ProblemCode::InvalidParameter, "priority", detail))
}

pub(crate) async fn packed(
    service: &Arc<Service>,
    urls: SubmittedUrls,
    priority: u8,
) -> Result<(SubmittedUrls, Vec<LinksRow>), Problem> {
    in_background(service, move |service| {
        let rows = urls.batch(service, priority).take();
        Ok((urls, rows))
    })
    .await
}

pub(super) fn accepted(
    crawl: i32,
    urls: &[(u64, Seed)],
    secret_sha256: &[u8; 32],
) -> Vec<AcceptedUrl> {
    let one = |(line, Seed { url, .. }): &(u64, Seed)| {
        let (host_hash, url_hash) = (site_hash(url.host()), url.hash().0);
        let id = url_id(FetchId { crawl, host_hash, url_hash }, secret_sha256);
        AcceptedUrl { line: *line, id, url: url.key().to_owned() }
    };
    urls.iter().map(one).collect()
}

/// Runs CPU-bound work in a blocking thread, so that it does not delay other requests.
pub(super) async fn in_background<T: Send + 'static>(
    service: &Arc<Service>,
    work: impl FnOnce(&Service) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let service = Arc::clone(service);
    let done = tokio::task::spawn_blocking(move || work(&service)).await;
    done.unwrap_or_else(|error| {
        tracing::error!(%error, "a request's background task failed");
        Err(Problem::new(ProblemCode::Internal))
    })
}
