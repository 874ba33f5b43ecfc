//! Tests a filter on URLs, before a crawl uses it. Nothing is fetched.
//!
//! Invariant: the decision on a URL is the same as for a link or seed of a crawl with the newest
//! versions of the imported lists. The response names the lists that were not used.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{Request, State},
    response::Response,
    routing::post,
};
use everytab_coordinator::ApiCaller;
use everytab_crawl_settings::FrozenList;
use everytab_crawl_start::frozen_list;
use everytab_filters::{
    Filter, FilterSet, FilterSettings, LoadedList, TestedUrl, check_filter_name,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;
use utoipa::{OpenApi, ToSchema};

use super::batches::in_background;
use crate::{
    answer, body,
    caller::Caller,
    filter_body::{FilterBody, VerdictWord},
    problem::{Problem, ProblemCode},
    service::Service,
    submitted_urls::MAX_URLS,
};

/// Maximum time for which a request tests URLs. A URL takes at most 20 µs with patterns
/// (docs/decisions/0069), so the time is checked often enough.
const MAX_TRIAL: Duration = Duration::from_secs(2);
/// Maximum time for which a request waits for lists that this process does not have yet.
const LIST_TIME: Duration = Duration::from_secs(10);
/// Maximum time for which a request with loaded lists waits for a permit to test URLs.
const TURN_TIME: Duration = Duration::from_secs(10);

/// URLs, and the filter to test: either `filter` or `name`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterTrial {
    /// A filter, which need not be stored.
    pub(crate) filter: Option<FilterBody>,
    /// Name of one of the key's filters.
    pub(crate) name: Option<String>,
    /// Absolute URLs. At most 10,000.
    #[schema(max_items = 10000)]
    pub(crate) urls: Vec<String>,
    /// Whether to treat the URLs as submitted ones instead of links. Lists with the mode keep, and
    /// countries to keep, do not apply to submitted URLs.
    #[serde(default)]
    pub(crate) seeds: bool,
}

/// The decision on a URL.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TriedUrl {
    /// The URL as given.
    pub(crate) url: String,
    /// The URL, normalized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// The verdict. Absent if the URL cannot be crawled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<VerdictWord>,
    /// The part of the filter that decided, such as `rules[0]`. Absent if no part did, which keeps
    /// the URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    /// Why the URL cannot be crawled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// A filter's decisions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FilterTrialDocument {
    /// The URLs, in the request's order.
    pub(crate) urls: Vec<TriedUrl>,
    /// The filter's imported lists that were not used: address lists, because hostnames are not
    /// resolved, and lists that could not be read. A crawl may therefore drop more URLs.
    pub(crate) lists_not_asked: Vec<String>,
}

#[derive(OpenApi)]
#[openapi(paths(test))]
pub(crate) struct FilterTrialDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/v1/url/filter/test", post(test))
}

/// Test which part of a filter decides each URL
#[utoipa::path(
    post, path = "/v1/url/filter/test", tag = "filters",
    operation_id = "filters_test",
    extensions(("x-problem-codes" = json!([
        "invalid_pattern", "too_many_urls", "not_found", "quota_urls"
    ]))),
    request_body(content = FilterTrial, example = json!({
        "filter": { "rules": [{ "pattern": "*/shop/*", "verdict": "drop" }] },
        "urls": ["https://example.com/shop/1", "https://example.com/news/1"],
    })),
    responses(
        (status = 200, description = "The decision on each URL", body = FilterTrialDocument),
    )
)]
pub(crate) async fn test(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let (_, bytes) = body::json_request(&service, &caller, request).await?;
    let FilterTrial { filter, name, urls, seeds } = body::from_json(&bytes)?;
    if urls.len() > MAX_URLS {
        let detail = format!("the request has more than {MAX_URLS} URLs; send several");
        return Err(Problem::with(ProblemCode::TooManyUrls, detail));
    }
    let wrong = |field: &str, detail: String| {
        Problem::of_field(ProblemCode::InvalidParameter, field, detail)
    };
    service.coordinator.api_admit_urls(&caller, urls.len()).await?;
    let filter = match (filter, name) {
        (Some(filter), None) => TriedFilter::Given(Box::new(filter)),
        (None, Some(name)) => {
            check_filter_name(&name).map_err(|detail| wrong("name", detail))?;
            let found = service.coordinator.api_filters(&caller, None, Some(&[&name])).await?;
            let stored = found.into_iter().next();
            let stored = stored.ok_or_else(|| Problem::new(ProblemCode::NotFound))?;
            TriedFilter::Kept(stored.body)
        }
        _ => return Err(wrong("filter", "expected either filter or name".to_owned())),
    };
    let of_key = service.trials.of_key(&caller.key)?;
    let permit = service.trials.permit()?;
    let settings = in_background(&service, move |_| filter.settings()).await?;
    let (lists, permit) = if settings.lists.is_empty() {
        (HashMap::new(), permit)
    } else {
        // Release the permit while the lists are copied, so that other requests can run tests.
        drop(permit);
        let _seat = service.trials.seat()?;
        let lists = lists_of(&service, &caller, &settings).await?;
        let permit = timeout(TURN_TIME, service.trials.next_permit()).await;
        (lists, permit.unwrap_or_else(|_| service.trials.permit())?)
    };
    let document = in_background(&service, move |service| {
        let document = tried(service, &settings, &lists, urls, seeds);
        drop((permit, of_key));
        document
    });
    Ok(answer::ok(&document.await?))
}

/// Skips lists that cannot be loaded.
async fn lists_of(
    service: &Service,
    caller: &ApiCaller,
    settings: &FilterSettings,
) -> Result<HashMap<String, LoadedList>, Problem> {
    let names: Vec<&str> = settings.lists.iter().map(|list| list.name.as_str()).collect();
    let stored = service.coordinator.api_filter_lists(caller, Some(&names)).await?;
    let frozen: Vec<FrozenList> = stored.iter().map(frozen_list).collect();
    let stores = &service.settings.stores;
    let until = tokio::time::Instant::now() + LIST_TIME;
    let found = service.lists.load_all("test", &frozen, stores, Some(until)).await;
    Ok(found.into_iter().map(|(name, list)| (name.to_owned(), list)).collect())
}

enum TriedFilter {
    Given(Box<FilterBody>),
    Kept(Value),
}

impl TriedFilter {
    fn settings(self) -> Result<FilterSettings, Problem> {
        match self {
            Self::Given(body) => body.settings(),
            Self::Kept(value) => FilterSettings::of_value(value)
                .map_err(|error| Problem::of_field(ProblemCode::InvalidParameter, "name", error)),
        }
    }
}

fn tried(
    service: &Service,
    settings: &FilterSettings,
    lists: &HashMap<String, LoadedList>,
    urls: Vec<String>,
    is_exempt: bool,
) -> Result<FilterTrialDocument, Problem> {
    let filter = Filter::compile(settings, |name| lists.get(name).cloned());
    let set = filter
        .and_then(|filter| FilterSet::new(vec![filter]))
        .map_err(|error| Problem::of_field(ProblemCode::InvalidParameter, "filter", error))?;
    let began = Instant::now();
    let one = |url: String| {
        // Many lists make a test slow, and it continues even if the client has disconnected.
        if began.elapsed() > MAX_TRIAL {
            let detail = format!("the test took over {} s; send fewer URLs", MAX_TRIAL.as_secs());
            return Err(Problem::with(ProblemCode::TooManyUrls, detail));
        }
        let mut tested = set.test(&[&url], is_exempt, &service.parameters);
        let Some(TestedUrl { key, decision, error }) = tested.pop() else {
            return Err(Problem::new(ProblemCode::Internal));
        };
        let verdict = decision.map_or(VerdictWord::Keep, |found| found.verdict.into());
        let by = decision.map(|found| found.by.to_string());
        Ok(TriedUrl { url, verdict: key.is_some().then_some(verdict), key, by, error })
    };
    let names = settings.list_names().into_iter().filter(|name| !lists.contains_key(*name));
    let lists_not_asked = names.map(str::to_owned).collect();
    Ok(FilterTrialDocument {
        urls: urls.into_iter().map(one).collect::<Result<_, _>>()?,
        lists_not_asked,
    })
}
