//! Submits single URLs, and returns their results.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, Uri},
    response::Response,
    routing::{get, post},
};
use everytab_coordinator::{
    ApiAccepted, ApiCaller, ApiFetch, ApiSubmission, FetchId, IdempotencyKey, LinksRow,
};
use everytab_crawl_settings::{CrawlSettings, Seed, parse_seed};
use everytab_crawl_start::{SeedBatch, new_crawl};
use everytab_frontier::{MAX_PRIORITY, site_hash};
use serde::Deserialize;
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use crate::{
    answer, body,
    caller::Caller,
    crawl_settings::{MediaWord, SettingsOfCrawl},
    fetch_document::{UrlDocument, is_settled},
    included::{include_of, with_contents},
    metrics,
    parameters::{Parameters, PathText, idempotency_key, known},
    problem::{Problem, ProblemCode},
    service::Service,
    submitted_urls::code_of,
    tokens::{parse_url_id, url_id},
    waiters::{News, Question},
};

/// Maximum value of `max_age_s`, in seconds: ten years.
const MAX_AGE_S: u32 = 10 * 365 * 86_400;

/// A URL to fetch.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "url": "https://example.com/" }))]
pub(crate) struct UrlSubmission {
    /// The URL or a hostname. A hostname gets `https://`, or `http://` if https cannot be reached.
    pub(crate) url: String,
    /// One of the key's crawls. Default: the key's crawl for today's single URLs.
    pub(crate) crawl: Option<Uuid>,
    /// Priority from 0 to 7. A host's URLs with higher priority are fetched first.
    #[schema(maximum = 7)]
    pub(crate) priority: Option<u8>,
    /// Which requisites of the page to keep. A value other than none opens a separate crawl.
    pub(crate) media: Option<MediaWord>,
    /// Maximum number of links from the URL to a page, within its site. A value above 0 opens a
    /// separate crawl.
    #[schema(maximum = 1000)]
    pub(crate) depth: Option<u16>,
    /// Maximum capture age in seconds. If the key has a capture of this URL that is not older, this
    /// capture is returned. Otherwise the URL is fetched, even if the crawl has already fetched it.
    /// Without `max_age_s`, or if `crawl` is given, a URL that the crawl has settled is not fetched
    /// again.
    #[schema(maximum = 315_360_000)]
    pub(crate) max_age_s: Option<u32>,
}

#[derive(OpenApi)]
#[openapi(paths(submit, find))]
pub(crate) struct UrlsDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/v1/url", post(submit)).route("/v1/url/{id}", get(find))
}

/// Submit a URL
#[utoipa::path(
    post, path = "/v1/url", tag = "urls",
    operation_id = "url_submit",
    extensions(("x-problem-codes" = json!([
        "invalid_url", "port_not_allowed", "invalid_setting", "not_found", "crawl_ended",
        "quota_crawls", "quota_urls", "quota_pages", "quota_bytes"
    ]))),
    params(
        ("wait" = Option<f64>, Query, minimum = 0, maximum = 60,
         description = "Seconds to wait until the URL is no longer due. The status is then 200"),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
         description = "Within 24 hours, a repeated request does nothing and gets the same \
                        response"),
    ),
    request_body(content = UrlSubmission, example = json!({ "url": "https://example.com/" })),
    responses(
        (status = 202, description = "The URL will be fetched", body = UrlDocument),
        (status = 200, description = "The key has a recent capture, the crawl had already settled \
         the URL, or the URL was settled while the request waited", body = UrlDocument),
    )
)]
pub(crate) async fn submit(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, bytes, parameters) =
        body::json_request_with(&service, &caller, request, &["wait"]).await?;
    let wait = parameters.wait()?;
    let asked: UrlSubmission = body::from_json(&bytes)?;
    asked.check()?;
    let mut ports = service.ports_of(&caller).await?;
    let seed = parse_seed(&asked.url, &service.parameters)
        .and_then(|seed| ports.check(&seed).map(|()| seed))
        .map_err(|reason| Problem::of_field(code_of(reason), "url", reason))?;
    let (host_hash, url_hash) = (site_hash(seed.url.host()), seed.url.hash().0);
    let key = seed.url.key().to_owned();
    let due = async |crawl, crawl_id| {
        let id = FetchId { crawl, host_hash, url_hash };
        // The URL is already submitted, so ignore an error such as too many waiting requests.
        if let Ok(Some(settled)) = settled(&service, &caller, id, wait).await {
            return answer::ok(&UrlDocument::new(settled, &caller.secret_sha256));
        }
        let id = url_id(id, &caller.secret_sha256);
        answer::json(StatusCode::ACCEPTED, &UrlDocument::due(id, Some(key), crawl_id))
    };
    let idempotency = idempotency_key(&parts, &bytes)?;
    if asked.opens_crawl() {
        let settings = asked.settings()?;
        let links = packed(&service, seed, false, 0)?;
        let owner = format!("key:{}", caller.key);
        let crawl = new_crawl(&settings, &owner, &service.settings.store, chrono::Utc::now())
            .map_err(|error| Problem::with(ProblemCode::InvalidSetting, error))?;
        let started = service
            .coordinator
            .api_start_crawl(&caller, &crawl, idempotency.as_ref(), &[links], true)
            .await?;
        return Ok(due(started.crawl, started.crawl_id).await);
    }
    let priority = asked.priority.unwrap_or_default();
    let submission = ApiSubmission {
        caller: caller.clone(),
        crawl: asked.crawl,
        host_hash,
        url_hash,
        max_age_s: asked.max_age_s.map(|age| i32::try_from(age).unwrap_or(i32::MAX)),
        urgent_data: Some(packed(&service, seed.clone(), true, priority)?.data),
        link: packed(&service, seed, false, priority)?,
    };
    let accepted = match &idempotency {
        None => service.submissions.submit(submission).await?,
        Some(idempotency) => submit_named(&service, &submission, idempotency).await?,
    };
    match accepted.capture {
        Some(capture) => Ok(answer::ok(&UrlDocument::new(capture, &caller.secret_sha256))),
        None => Ok(due(accepted.crawl, accepted.crawl_id).await),
    }
}

/// A submission with an idempotency key has its own transaction, because it waits for an earlier
/// one with the same key.
async fn submit_named(
    service: &Service,
    submission: &ApiSubmission,
    idempotency: &IdempotencyKey,
) -> Result<ApiAccepted, Problem> {
    let submitted =
        service.coordinator.api_submit_named(&service.standing, submission, idempotency).await;
    metrics::submitted(1, submitted.is_ok());
    Ok(submitted?)
}

/// Waits at most `wait` until a URL is settled. `None` if it is still due.
async fn settled(
    service: &Service,
    caller: &ApiCaller,
    id: FetchId,
    wait: Duration,
) -> Result<Option<ApiFetch>, Problem> {
    if wait.is_zero() {
        return Ok(None);
    }
    let news = service.waiters.wait(caller, Question::Url(id), wait, &service.stop).await?;
    Ok(match news {
        Some(News::Url(settled)) => Some(*settled),
        Some(News::Something) => match service.coordinator.api_fetch(caller, id).await {
            Ok(fetch) => Some(fetch).filter(is_settled),
            // The key is throttled, so the caller returns the earlier state.
            Err(error) if error.is_throttled() => None,
            Err(error) => return Err(error.into()),
        },
        None => None,
    })
}

impl UrlSubmission {
    fn opens_crawl(&self) -> bool {
        self.depth.is_some_and(|depth| depth > 0)
            || self.media.is_some_and(|media| media != MediaWord::None)
    }

    fn check(&self) -> Result<(), Problem> {
        let wrong = |field, detail: String| {
            Err(Problem::of_field(ProblemCode::InvalidParameter, field, detail))
        };
        if let Some(priority) = self.priority.filter(|priority| *priority > MAX_PRIORITY) {
            let detail = format!("invalid priority {priority}: expected 0 to {MAX_PRIORITY}");
            return wrong("priority", detail);
        }
        if let Some(age) = self.max_age_s.filter(|age| *age > MAX_AGE_S) {
            let detail = format!("invalid max_age_s {age}: expected 0 to {MAX_AGE_S}");
            return wrong("max_age_s", detail);
        }
        let own = ["depth", "media"];
        let own = if self.depth.is_some_and(|depth| depth > 0) { own[0] } else { own[1] };
        if self.opens_crawl() && self.crawl.is_some() {
            let detail = "opens a separate crawl, so crawl is not allowed";
            return wrong(own, format!("{own} {detail}"));
        }
        if self.opens_crawl() && (self.max_age_s.is_some() || self.priority.is_some()) {
            let detail = "opens a separate crawl, so max_age_s and priority are not allowed";
            return wrong(own, format!("{own} {detail}"));
        }
        Ok(())
    }

    fn settings(&self) -> Result<CrawlSettings, Problem> {
        let settings = SettingsOfCrawl {
            depth: Some(self.depth.unwrap_or_default()),
            media: self.media,
            ..SettingsOfCrawl::default()
        };
        settings.settings()
    }
}

fn packed(
    service: &Service,
    seed: Seed,
    is_urgent: bool,
    priority: u8,
) -> Result<LinksRow, Problem> {
    let mut batch = SeedBatch::new(&service.suffixes, is_urgent);
    batch.push_with_priority(seed, priority);
    batch.take().pop().ok_or_else(|| Problem::new(ProblemCode::Internal))
}

/// Get the result of a URL
#[utoipa::path(
    get, path = "/v1/url/{id}", tag = "urls",
    operation_id = "url_get",
    params(
        ("id" = String, Path, description = "The URL's ID"),
        ("wait" = Option<f64>, Query, minimum = 0, maximum = 60,
         description = "Seconds to wait until the URL is no longer due"),
        ("include" = Option<String>, Query, example = "markdown,links",
         description = "Parts of the page to include: html, text, markdown and links, separated \
                        by commas. A stored page counts as one more request of the key"),
    ),
    responses(
        (status = 200, description = "The state of the URL", body = UrlDocument),
    )
)]
pub(crate) async fn find(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathText(id): PathText,
    uri: Uri,
) -> Result<Response, Problem> {
    let parameters = Parameters::parse(&uri, &["wait", "include"])?;
    let wait = parameters.wait()?;
    let include = include_of(&parameters)?;
    let id = known(&service, &caller, parse_url_id(&id, &caller.secret_sha256)).await?;
    let mut found: ApiFetch = service.coordinator.api_fetch(&caller, id).await?;
    if !is_settled(&found)
        && let Some(settled) = settled(&service, &caller, id, wait).await?
    {
        found = settled;
    }
    if let Some(include) = include {
        let documents = with_contents(&service, &caller, vec![found], include).await?;
        let document = documents.into_iter().next();
        return document
            .map(|document| answer::ok(&document))
            .ok_or_else(|| Problem::new(ProblemCode::Internal));
    }
    Ok(answer::ok(&UrlDocument::new(found, &caller.secret_sha256)))
}
