//! Lists of URLs: all that are accepted are submitted in one transaction.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::StatusCode,
    response::Response,
    routing::post,
};
use everytab_coordinator::{ApiTarget, FetchId, LinksRow};
use everytab_crawler::Seed;
use everytab_frontier::{MAX_PRIORITY, site_hash};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use crate::{
    answer,
    body::{self, BodyKind},
    caller::Caller,
    idempotency,
    parameters::{Parameters, given_once},
    problem::{Problem, ProblemCode, ProblemItem},
    service::Service,
    submitted_urls::SubmittedUrls,
    url_id::url_id,
};

/// URLs to fetch.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchSubmission {
    /// URLs, or hostnames, which get `https://`, or `http://` too where https cannot be reached; at
    /// most 10,000.
    #[schema(min_items = 1, max_items = 10000)]
    pub(crate) urls: Vec<String>,
    /// One of the key's crawls; without it, the crawl that all single URLs of a day go to.
    pub(crate) crawl: Option<Uuid>,
    /// 0 to 7: what is greater is asked first among the URLs of a host.
    #[schema(maximum = 7)]
    pub(crate) priority: Option<u8>,
}

/// A URL that was accepted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AcceptedUrl {
    /// Its line, or its place in the list, from 1.
    pub(crate) line: u64,
    /// Its id.
    pub(crate) id: String,
    /// The URL, normalized.
    pub(crate) url: String,
}

/// What became of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchDocument {
    /// The crawl that has the URLs.
    pub(crate) crawl: Uuid,
    /// Those that will be fetched.
    pub(crate) accepted: Vec<AcceptedUrl>,
    /// Why the others will not.
    pub(crate) refused: Vec<ProblemItem>,
}

#[derive(OpenApi)]
#[openapi(paths(submit_batch))]
pub(crate) struct BatchesDescription;

/// The route of lists.
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
         description = "One of the key's crawls; here or in the body"),
        ("priority" = Option<u8>, Query, maximum = 7,
         description = "0 to 7; here or in the body"),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
         description = "The same request within 24 hours adds nothing and gets the same answer"),
    ),
    request_body(
        description = "JSON, or one URL a line; lines that are empty or begin with # are skipped",
        content(
            (BatchSubmission = "application/json",
             example = json!({ "urls": ["https://example.com/", "example.org"] })),
            (String = "text/plain", example = "https://example.com/\nexample.org\n"),
        )
    ),
    responses(
        (status = 202, description = "Those that are accepted will be fetched",
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
    let crawl: Option<Uuid> = parameters.value("crawl", "the id of a crawl")?;
    let priority: Option<u8> = parameters.value("priority", PRIORITY)?;
    let bytes = body::read(&service, &caller, body).await?;
    let idempotency = idempotency::of(&parts, &bytes)?;
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

/// What a priority is.
pub(super) const PRIORITY: &str = "a number from 0 to 7";

/// Checks a priority.
///
/// # Errors
/// When there is none so great.
pub(super) fn check_priority(priority: u8) -> Result<(), Problem> {
    if priority <= MAX_PRIORITY {
        return Ok(());
    }
    let detail = format!("{priority} is not {PRIORITY}");
    Err(Problem::of_field(ProblemCode::InvalidParameter, "priority", detail))
}

/// URLs and the rows of their links.
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

/// The ids of URLs that were accepted by a crawl.
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

/// Does what takes long without waiting for anything, so that no other request waits for it.
pub(super) async fn in_background<T: Send + 'static>(
    service: &Arc<Service>,
    work: impl FnOnce(&Service) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let service = Arc::clone(service);
    let done = tokio::task::spawn_blocking(move || work(&service)).await;
    done.unwrap_or_else(|error| {
        tracing::error!(%error, "a request's work ended early");
        Err(Problem::new(ProblemCode::Internal))
    })
}
