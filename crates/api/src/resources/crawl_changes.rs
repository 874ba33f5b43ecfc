//! What a crawl follows, changed while it runs.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::Response,
};
use everytab_coordinator::{CrawlStatus, PatternChange, PatternsChanged};
use everytab_crawler::CrawlSettings;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use super::batches::in_background;
use crate::{
    answer, body,
    caller::Caller,
    crawl_settings::setting_problem,
    path_text::{PathId, known},
    problem::{Problem, ProblemCode},
    service::Service,
    short_text::check_no_nul,
};

/// How often a change is made anew because another one came first.
const TRIES: u32 = 5;

/// What is to hold from now on. What is not given stays.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CrawlChanges {
    /// Patterns of which one must match, if there is any, in the place of those before.
    pub(crate) include: Option<Vec<String>>,
    /// Patterns of which none may match, in the place of those before.
    pub(crate) exclude: Option<Vec<String>>,
}

/// What holds from now on.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChangedCrawl {
    /// The crawl's id.
    pub(crate) id: Uuid,
    /// Version of its patterns, from 1; `GET /v1/crawls/{id}` has all.
    pub(crate) version: i32,
    /// Patterns of which one must match, if there is any.
    pub(crate) include: Vec<String>,
    /// Patterns of which none may match.
    pub(crate) exclude: Vec<String>,
}

impl CrawlChanges {
    /// The includes and excludes of a crawl with these changes, checked.
    fn applied_to(self, crawl: &CrawlStatus) -> Result<CrawlSettings, Problem> {
        check_no_nul(&self.include, "include", ProblemCode::InvalidPattern)?;
        check_no_nul(&self.exclude, "exclude", ProblemCode::InvalidPattern)?;
        let before = serde_json::from_value::<CrawlSettings>(crawl.settings.clone());
        let before = before.map_err(|error| {
            tracing::error!(crawl = crawl.name, %error, "its settings cannot be read");
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

/// Change what a crawl follows
///
/// Workers obey it within seconds, also for URLs that are pending: those that no longer pass are
/// left, as `excluded` or `not_included`. What was left stays so.
#[utoipa::path(
    patch, path = "/v1/crawls/{id}", tag = "crawls",
    operation_id = "crawls_change",
    extensions(("x-problem-codes" = json!([
        "invalid_setting", "invalid_pattern", "not_allowed", "crawl_ended"
    ]))),
    params(("id" = Uuid, Path, description = "The crawl's id")),
    request_body(content = CrawlChanges, example = json!({
        "exclude": ["*.example.com/calendar/*"],
    })),
    responses(
        (status = 200, description = "Workers obey it within seconds", body = ChangedCrawl),
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
        let detail = "give include, exclude or both";
        return Err(Problem::of_field(ProblemCode::InvalidParameter, "exclude", detail));
    }
    for _ in 0..TRIES {
        let found = service.coordinator.api_crawls(&caller, Some(id), 1, None).await?;
        let crawl = found.into_iter().next().ok_or_else(|| Problem::new(ProblemCode::NotFound))?;
        let (version, changes) = (crawl.patterns_version(), changes.clone());
        // Compiling many patterns takes long.
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
    Err(Problem::unavailable("other requests change the crawl at the same time", 1))
}
