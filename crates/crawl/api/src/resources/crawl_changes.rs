//! Changes the patterns of a crawl that has not ended.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::Response,
};
use everytab_coordinator::{CrawlStatus, PatternChange, PatternsChanged};
use everytab_crawl_settings::CrawlSettings;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use super::batches::in_background;
use crate::{
    answer, body,
    caller::Caller,
    crawl_settings::setting_problem,
    parameters::{PathId, check_no_nul, known},
    problem::{Problem, ProblemCode},
    service::Service,
};

/// Maximum attempts, if other requests change the crawl at the same time. After this many, the
/// client should retry.
const TRIES: u32 = 5;

/// Changes to a crawl. Missing fields keep their values.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CrawlChanges {
    /// New include patterns, which replace the old ones. If there are any, a page's URL must match
    /// one of them, unless it was submitted.
    pub(crate) include: Option<Vec<String>>,
    /// New exclude patterns, which replace the old ones. A URL must match none of them.
    pub(crate) exclude: Option<Vec<String>>,
}

/// A crawl's patterns after a change.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChangedCrawl {
    /// The crawl's ID.
    pub(crate) id: Uuid,
    /// The patterns' version, from 1. `GET /v1/crawls/{id}` returns all versions.
    pub(crate) version: i32,
    /// If there are any, a page's URL must match one of these patterns, unless it was submitted.
    pub(crate) include: Vec<String>,
    /// A URL must match none of these patterns.
    pub(crate) exclude: Vec<String>,
}

impl CrawlChanges {
    fn applied_to(self, crawl: &CrawlStatus) -> Result<CrawlSettings, Problem> {
        check_no_nul(&self.include, "include", ProblemCode::InvalidPattern)?;
        check_no_nul(&self.exclude, "exclude", ProblemCode::InvalidPattern)?;
        let before = serde_json::from_value::<CrawlSettings>(crawl.settings.clone());
        let before = before.map_err(|error| {
            tracing::error!(crawl = crawl.name, %error, "cannot read the crawl's settings");
            Problem::new(ProblemCode::Internal)
        })?;
        let settings = CrawlSettings {
            include: self.include.unwrap_or(before.include),
            exclude: self.exclude.unwrap_or(before.exclude),
            ..CrawlSettings::default()
        };
        settings.check().map_err(|error| setting_problem("", &error))?;
        Ok(settings)
    }
}

#[derive(OpenApi)]
#[openapi(paths(change))]
pub(crate) struct CrawlChangesDescription;

/// Change a crawl's patterns
///
/// Workers apply the new patterns within seconds, also to pending URLs. A pending URL that no
/// longer matches is left, with the outcome `excluded` or `not_included`. URLs that were left
/// before the change are not added again.
#[utoipa::path(
    patch, path = "/v1/crawls/{id}", tag = "crawls",
    operation_id = "crawls_change",
    extensions(("x-problem-codes" = json!([
        "invalid_setting", "invalid_pattern", "not_allowed", "crawl_ended"
    ]))),
    params(("id" = Uuid, Path, description = "The crawl's ID")),
    request_body(content = CrawlChanges, example = json!({
        "exclude": ["*.example.com/calendar/*"],
    })),
    responses(
        (status = 200, description = "Workers apply it within seconds", body = ChangedCrawl),
    )
)]
pub(crate) async fn change(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    request: Request,
) -> Result<Response, Problem> {
    let id = known(&service, &caller, id).await?;
    let (_, bytes) = body::json_request(&service, &caller, request).await?;
    let changes: CrawlChanges = body::from_json(&bytes)?;
    if changes.include.is_none() && changes.exclude.is_none() {
        let detail = "expected include, exclude or both";
        return Err(Problem::of_field(ProblemCode::InvalidParameter, "exclude", detail));
    }
    for _ in 0..TRIES {
        let found = service.coordinator.api_crawls(&caller, Some(id), 1, None).await?;
        let crawl = found.into_iter().next().ok_or_else(|| Problem::new(ProblemCode::NotFound))?;
        let version = crawl.patterns_version();
        let changes = changes.clone();
        let settings = in_background(&service, move |_| changes.applied_to(&crawl));
        let CrawlSettings { include, exclude, .. } = settings.await?;
        let change = PatternChange { version, include: json!(include), exclude: json!(exclude) };
        let version = match service.coordinator.api_change_patterns(&caller, id, &change).await? {
            PatternsChanged::Moved => continue,
            PatternsChanged::Changed => version + 1,
            _ => version,
        };
        return Ok(answer::ok(&ChangedCrawl { id, version, include, exclude }));
    }
    Err(Problem::unavailable("other requests are changing the crawl; retry", 1))
}
