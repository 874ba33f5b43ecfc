//! A crawl's feed: each fetch once, in recording order. A client that continues from the cursor of
//! the last page that it has processed gets each later fetch exactly once.

use std::{sync::Arc, time::Duration};

use axum::{Router, extract::State, http::Uri, response::Response, routing::get};
use everytab_coordinator::{ApiCaller, ApiError, FeedPage, FeedPosition, FetchFilter};
use everytab_frontier::{hostname, site_hash};
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use crate::{
    answer,
    caller::Caller,
    captures::Include,
    closed_lists::{CrawlState, FetchOutcome, is_outcome},
    fetch_document::UrlDocument,
    included::{include_of, with_contents},
    parameters::{Parameters, PathId, known},
    problem::{Problem, ProblemCode},
    service::Service,
    tokens::{feed_cursor, feed_position},
    waiters::Question,
};

/// Default fetches per page.
const DEFAULT_FETCHES: i32 = 100;
/// Maximum fetches in a page.
const MAX_FETCHES: i32 = 1_000;

/// Default fetches per page with contents.
const DEFAULT_WITH_CONTENTS: i32 = 20;
/// Maximum fetches in a page with contents, because each is read from the store.
const MAX_WITH_CONTENTS: i32 = 100;

const PARAMETERS: [&str; 8] =
    ["after", "newest", "limit", "wait", "outcome", "host", "status", "include"];

/// A page of a feed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FeedDocument {
    /// URLs, in the order in which they were recorded.
    pub(crate) fetches: Vec<UrlDocument>,
    /// The cursor for `after`, to continue after this page.
    pub(crate) next: String,
    /// Whether more URLs may be available now.
    pub(crate) has_more: bool,
    /// running, paused or ended. The feed is complete if this is ended and `has_more` is false.
    #[schema(value_type = CrawlState)]
    pub(crate) crawl_state: String,
}

#[derive(OpenApi)]
#[openapi(paths(feed))]
pub(crate) struct FeedDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/v1/crawls/{id}/feed", get(feed))
}

/// Get the recorded URLs, each once
#[utoipa::path(
    get, path = "/v1/crawls/{id}/feed", tag = "crawls",
    operation_id = "crawl_feed_get",
    params(
        ("id" = Uuid, Path, description = "The crawl's ID"),
        ("after" = Option<String>, Query,
         description = "`next` from the previous response. Default: from the start"),
        ("newest" = Option<i32>, Query, minimum = 1, maximum = 1000,
         description = "Start with this many of the newest URLs. No other parameter may be given"),
        ("limit" = Option<i32>, Query, minimum = 1, maximum = 1000,
         description = "Maximum number of URLs. Default: 100. With include: up to 100, default 20"),
        ("wait" = Option<f64>, Query, minimum = 0, maximum = 60,
         description = "Seconds to wait if there is nothing new"),
        ("outcome" = Option<FetchOutcome>, Query, description = "Only URLs with this outcome"),
        ("host" = Option<String>, Query, description = "Only URLs on this host"),
        ("status" = Option<i32>, Query, minimum = 100, maximum = 999,
         description = "Only URLs with this HTTP status"),
        ("include" = Option<String>, Query, example = "markdown,links",
         description = "Parts of the pages to include: html, text, markdown and links, separated \
                        by commas. Each stored page counts as one more request of the key"),
    ),
    responses(
        (status = 200, description = "A page", body = FeedDocument),
    )
)]
pub(crate) async fn feed(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    uri: Uri,
) -> Result<Response, Problem> {
    let parameters = Parameters::parse(&uri, &PARAMETERS)?;
    let include = include_of(&parameters)?;
    let (default, most) = match include {
        Some(_) => (DEFAULT_WITH_CONTENTS, MAX_WITH_CONTENTS),
        None => (DEFAULT_FETCHES, MAX_FETCHES),
    };
    let limit = parameters.limit("limit", default, most)?;
    let wait = parameters.wait()?;
    let filter = filter(&parameters)?;
    if parameters.text("newest").is_some() {
        if let Some(other) =
            PARAMETERS.into_iter().find(|name| *name != "newest" && parameters.text(name).is_some())
        {
            let detail = "newest cannot be combined with other parameters";
            return Err(Problem::of_field(ProblemCode::InvalidParameter, other, detail));
        }
        let newest = parameters.limit("newest", DEFAULT_FETCHES, MAX_FETCHES)?;
        let id = known(&service, &caller, id).await?;
        let page = service.coordinator.api_feed_tail(&caller, id, newest).await?;
        return document(&service, &caller, id, (page, None)).await;
    }
    let id = known(&service, &caller, id).await?;
    let after = match parameters.text("after") {
        Some(cursor) => feed_position(&caller.secret_sha256, id, cursor)?,
        None => FeedPosition::default(),
    };
    let mut page = service.coordinator.api_feed(&caller, id, &after, (limit, &filter), 1).await?;
    let is_over = page.crawl_state == "ended";
    if page.fetches.is_empty() && !page.has_more && !is_over && wait > Duration::ZERO {
        let question = Question::Feed(id, page.next.clone());
        let news = service.waiters.wait(&caller, question, wait, &service.stop).await?;
        if news.is_some() {
            let asked = (limit, &filter);
            let now = service.coordinator.api_feed(&caller, id, &page.next, asked, 0).await;
            page = now_or_before(now, page)?;
        }
    }
    document(&service, &caller, id, (page, include)).await
}

fn filter(parameters: &Parameters) -> Result<FetchFilter, Problem> {
    let refused =
        |name: &str, detail: &str| Problem::of_field(ProblemCode::InvalidParameter, name, detail);
    let host = parameters.text("host").map(|text| {
        let detail = "invalid host: expected only a hostname, such as www.example.com";
        hostname(text).ok_or_else(|| refused("host", detail))
    });
    let status = parameters.text("status").map(|text| {
        let status: Option<i16> = text.parse().ok().filter(|status| (100..=999).contains(status));
        let detail = "invalid status: expected an HTTP status from 100 to 999";
        status.ok_or_else(|| refused("status", detail))
    });
    let outcome = parameters.text("outcome");
    if outcome.is_some_and(|outcome| !is_outcome(outcome)) {
        return Err(refused("outcome", "unknown outcome; GET /openapi.json lists all outcomes"));
    }
    Ok(FetchFilter {
        outcome: outcome.map(str::to_owned),
        host_hash: host.transpose()?.map(|host| site_hash(&host)),
        status: status.transpose()?,
    })
}

/// Builds the response from a page. With contents, it has only as many fetches as fit.
async fn document(
    service: &Service,
    caller: &ApiCaller,
    id: Uuid,
    (page, include): (FeedPage, Option<Include>),
) -> Result<Response, Problem> {
    let FeedPage { fetches, positions, mut next, mut has_more, crawl_state } = page;
    let number = fetches.len();
    let fetches = match include {
        Some(include) => with_contents(service, caller, fetches, include).await?,
        None => {
            let secret = &caller.secret_sha256;
            fetches.into_iter().map(|fetch| UrlDocument::new(fetch, secret)).collect()
        }
    };
    if fetches.len() < number {
        let last = fetches.len().checked_sub(1).and_then(|last| positions.into_iter().nth(last));
        next = last.ok_or_else(|| Problem::new(ProblemCode::Internal))?;
        has_more = true;
    }
    let next = feed_cursor(&caller.secret_sha256, id, &next);
    Ok(answer::ok(&FeedDocument { fetches, next, has_more, crawl_state }))
}

/// Returns the page from before the wait if the key is throttled now.
fn now_or_before(now: Result<FeedPage, ApiError>, before: FeedPage) -> Result<FeedPage, Problem> {
    match now {
        Err(error) if error.is_throttled() => Ok(before),
        now => Ok(now?),
    }
}
