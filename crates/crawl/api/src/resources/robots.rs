//! Overrides that a key's crawls obey in addition to sites' robots.txt. They can only tighten it.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::Uri,
    response::Response,
    routing::get,
};
use everytab_coordinator::{ApiCaller, RobotsOverrideRow};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use crate::{
    answer, body,
    caller::Caller,
    list_page::ListPage,
    parameters::{Parameters, PathId, known},
    problem::{Problem, ProblemCode},
    robots_rules::{check_delay, check_rules, check_user_agent, site_of},
    service::Service,
    tokens::ListName,
};

const ROBOTS: &ListName = b"robots..........";

/// An override of robots.txt: at least one of `user_agent`, `rules` and `delay_ms`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RobotsSubmission {
    /// The domain to which this override applies, with all hosts below it. Default: every host.
    pub(crate) site: Option<String>,
    /// Another robot's token. If a site's robots.txt has rules for this token, they are obeyed too.
    pub(crate) user_agent: Option<String>,
    /// Lines with `Disallow`, `Allow` and `Crawl-delay`, as in robots.txt, which are obeyed in
    /// addition to the site's own rules. At most 4,096 characters.
    pub(crate) rules: Option<String>,
    /// Minimum pause between two requests to a host, in milliseconds. Up to five minutes.
    #[schema(minimum = 0, maximum = 300_000)]
    pub(crate) delay_ms: Option<i32>,
}

/// An override of robots.txt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RobotsOverrideDocument {
    /// The override's ID.
    pub(crate) id: Uuid,
    /// The domain to which this override applies, with all hosts below it. Absent if it applies to
    /// every host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) site: Option<String>,
    /// Another robot's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_agent: Option<String>,
    /// Additional rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rules: Option<String>,
    /// Minimum pause between two requests to a host, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_ms: Option<i32>,
}

impl RobotsOverrideDocument {
    fn new(row: RobotsOverrideRow) -> Self {
        let RobotsOverrideRow { id, owner: _, site, user_agent, rules, delay_ms } = row;
        Self { id, site, user_agent, rules, delay_ms }
    }
}

/// A page of a key's overrides.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RobotsOverrideList {
    /// The overrides.
    pub(crate) robots: Vec<RobotsOverrideDocument>,
    /// The cursor for `after`. Absent if there are no more overrides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

#[derive(OpenApi)]
#[openapi(paths(add, list, look, remove))]
pub(crate) struct RobotsDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new()
        .route("/v1/url/robots", get(list).post(add))
        .route("/v1/url/robots/{id}", get(look).delete(remove))
}

/// Add an override of robots.txt, for all crawls of the key
#[utoipa::path(
    post, path = "/v1/url/robots", tag = "manners",
    operation_id = "robots_add",
    extensions(("x-problem-codes" = json!(["not_allowed"]))),
    request_body(content = RobotsSubmission, example = json!({
        "site": "example.com", "user_agent": "GPTBot", "rules": "Disallow: /private/",
        "delay_ms": 5000,
    })),
    responses(
        (status = 201, description = "Workers apply it within seconds",
         body = RobotsOverrideDocument),
    )
)]
pub(crate) async fn add(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let (_, bytes) = body::json_request(&service, &caller, request).await?;
    let row = body::from_json::<RobotsSubmission>(&bytes)?.row(&service, &caller)?;
    service.coordinator.api_add_robots(&caller, &row).await?;
    let place = format!("/v1/url/robots/{}", row.id);
    Ok(answer::created(&place, &RobotsOverrideDocument::new(row)))
}

impl RobotsSubmission {
    fn row(self, service: &Service, caller: &ApiCaller) -> Result<RobotsOverrideRow, Problem> {
        let Self { site, user_agent, rules, delay_ms } = self;
        if user_agent.is_none() && rules.is_none() && delay_ms.is_none() {
            let detail = "expected user_agent, rules or delay_ms";
            return Err(Problem::of_field(ProblemCode::InvalidParameter, "rules", detail));
        }
        user_agent.as_deref().map(check_user_agent).transpose()?;
        rules.as_deref().map(check_rules).transpose()?;
        delay_ms.map(check_delay).transpose()?;
        let site = site.map(|site| site_of(&site, &service.parameters)).transpose()?;
        let id = Uuid::now_v7();
        let owner = format!("key:{}", caller.key);
        Ok(RobotsOverrideRow { id, owner, site, user_agent, rules, delay_ms })
    }
}

/// List the key's overrides of robots.txt
#[utoipa::path(
    get, path = "/v1/url/robots", tag = "manners",
    operation_id = "robots_list",
    params(
        ("limit" = Option<i32>, Query, minimum = 1, maximum = 100,
         description = "Maximum number of overrides. Default: 100"),
        ("after" = Option<String>, Query, description = "`next` from the previous response"),
    ),
    responses(
        (status = 200, description = "The overrides", body = RobotsOverrideList),
    )
)]
pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let page = ListPage::parse(&uri, &caller, ROBOTS)?;
    let rows = service.coordinator.api_list_robots(&caller).await?;
    // Overrides for every host sort first, because no site begins with a space.
    let key = |row: &RobotsOverrideRow| format!("{} {}", row.site.as_deref().unwrap_or(""), row.id);
    let (rows, next) = page.of(rows, key);
    let robots = rows.into_iter().map(RobotsOverrideDocument::new).collect();
    Ok(answer::ok(&RobotsOverrideList { robots, next }))
}

/// Get an override
#[utoipa::path(
    get, path = "/v1/url/robots/{id}", tag = "manners",
    operation_id = "robots_get",
    params(("id" = Uuid, Path, description = "The override's ID")),
    responses(
        (status = 200, description = "The override", body = RobotsOverrideDocument),
    )
)]
pub(crate) async fn look(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    uri: Uri,
) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
    let id = known(&service, &caller, id).await?;
    let rows = service.coordinator.api_list_robots(&caller).await?;
    let row = rows.into_iter().find(|row| row.id == id);
    let row = row.ok_or_else(|| Problem::new(ProblemCode::NotFound))?;
    Ok(answer::ok(&RobotsOverrideDocument::new(row)))
}

/// Remove an override
#[utoipa::path(
    delete, path = "/v1/url/robots/{id}", tag = "manners",
    operation_id = "robots_remove",
    params(("id" = Uuid, Path, description = "The override's ID")),
    responses(
        (status = 204, description = "Removed"),
    )
)]
pub(crate) async fn remove(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    uri: Uri,
) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
    let id = known(&service, &caller, id).await?;
    service.coordinator.api_drop_robots(&caller, id).await?;
    Ok(answer::nothing())
}
