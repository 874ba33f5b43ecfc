//! What a key's crawls obey beside the robots.txt of sites. It only tightens.

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
    cursor::ListName,
    list_page::ListPage,
    parameters::Parameters,
    path_text::{PathId, known},
    problem::{Problem, ProblemCode},
    robots_rules::{check_delay, check_rules, check_user_agent, site_of},
    service::Service,
};

/// The list of what a key obeys beside robots.txt, in cursors.
const ROBOTS: &ListName = b"robots..........";

/// What is obeyed beside robots.txt: `user_agent`, `rules`, `delay_ms`, or several of them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RobotsSubmission {
    /// The domain that it is for, with all hosts below it; else every host.
    pub(crate) site: Option<String>,
    /// The token of another robot: where a site's robots.txt has rules for it, they are obeyed too.
    pub(crate) user_agent: Option<String>,
    /// Lines `Disallow`, `Allow` and `Crawl-delay`, as robots.txt has them: obeyed as well as the
    /// site's own. At most 4,096 characters.
    pub(crate) rules: Option<String>,
    /// The least pause between two requests to a host, in milliseconds, up to five minutes.
    #[schema(minimum = 0, maximum = 300_000)]
    pub(crate) delay_ms: Option<i32>,
}

/// What is obeyed beside robots.txt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RobotsOverrideDocument {
    /// Its id.
    pub(crate) id: Uuid,
    /// The domain that it is for; absent where it is for every host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) site: Option<String>,
    /// The token of another robot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_agent: Option<String>,
    /// Further rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rules: Option<String>,
    /// The least pause between two requests to a host, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_ms: Option<i32>,
}

impl RobotsOverrideDocument {
    fn new(row: RobotsOverrideRow) -> Self {
        let RobotsOverrideRow { id, owner: _, site, user_agent, rules, delay_ms } = row;
        Self { id, site, user_agent, rules, delay_ms }
    }
}

/// All of that of a key.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RobotsOverrideList {
    /// What is obeyed beside robots.txt.
    pub(crate) robots: Vec<RobotsOverrideDocument>,
    /// The cursor for `after`, where more follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

#[derive(OpenApi)]
#[openapi(paths(add, list, look, remove))]
pub(crate) struct RobotsDescription;

/// The routes of what is obeyed beside robots.txt.
pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new()
        .route("/v1/url/robots", get(list).post(add))
        .route("/v1/url/robots/{id}", get(look).delete(remove))
}

/// Obey more than robots.txt asks for, in all crawls of the key
#[utoipa::path(
    post, path = "/v1/url/robots", tag = "manners",
    operation_id = "robots_add",
    extensions(("x-problem-codes" = json!(["not_allowed"]))),
    request_body(content = RobotsSubmission, example = json!({
        "site": "example.com", "user_agent": "GPTBot", "rules": "Disallow: /private/",
        "delay_ms": 5000,
    })),
    responses(
        (status = 201, description = "It is obeyed within seconds", body = RobotsOverrideDocument),
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
    /// What is kept, checked.
    fn row(self, service: &Service, caller: &ApiCaller) -> Result<RobotsOverrideRow, Problem> {
        let Self { site, user_agent, rules, delay_ms } = self;
        if user_agent.is_none() && rules.is_none() && delay_ms.is_none() {
            let detail = "give user_agent, rules or delay_ms";
            return Err(Problem::of_field(ProblemCode::InvalidParameter, "rules", detail));
        }
        user_agent.as_deref().map(check_user_agent).transpose()?;
        rules.as_deref().map(check_rules).transpose()?;
        delay_ms.map(check_delay).transpose()?;
        let site = site.map(|site| site_of(&site, &service.parameters)).transpose()?;
        let (id, owner) = (Uuid::now_v7(), format!("key:{}", caller.key));
        Ok(RobotsOverrideRow { id, owner, site, user_agent, rules, delay_ms })
    }
}

/// List what the key's crawls obey beside robots.txt
#[utoipa::path(
    get, path = "/v1/url/robots", tag = "manners",
    operation_id = "robots_list",
    params(
        ("limit" = Option<i32>, Query, minimum = 1, maximum = 100,
         description = "Overrides at most; 100"),
        ("after" = Option<String>, Query, description = "The cursor of the page before"),
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
    // Those for every host come first: no site begins with a space.
    let key = |row: &RobotsOverrideRow| format!("{} {}", row.site.as_deref().unwrap_or(""), row.id);
    let (rows, next) = page.of(rows, key);
    let robots = rows.into_iter().map(RobotsOverrideDocument::new).collect();
    Ok(answer::ok(&RobotsOverrideList { robots, next }))
}

/// Show one override
#[utoipa::path(
    get, path = "/v1/url/robots/{id}", tag = "manners",
    operation_id = "robots_get",
    params(("id" = Uuid, Path, description = "The override's id")),
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
    params(("id" = Uuid, Path, description = "The override's id")),
    responses(
        (status = 204, description = "It was removed"),
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
