//! A key's filters, which decide what its crawls fetch and keep.
//!
//! Invariant: a stored filter can be compiled. A crawl keeps the version of its filter with which
//! it was started.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, Uri},
    response::Response,
    routing::get,
};
use chrono::{DateTime, Utc};
use everytab_coordinator::StoredFilter;
use everytab_filters::check_filter_name;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use super::batches::in_background;
use crate::{
    answer, body,
    caller::Caller,
    filter_body::FilterBody,
    list_page::ListPage,
    parameters::{Parameters, PathId, idempotency_key, known},
    problem::{Problem, ProblemCode},
    service::Service,
    tokens::ListName,
};

const FILTERS: &ListName = b"filters.........";

/// A filter to store.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterSubmission {
    /// Name of the filter, unique for the key: 1 to 100 of a-z, A-Z, 0-9, `-`, `_` and `.`.
    pub(crate) name: String,
    /// The filter.
    pub(crate) filter: FilterBody,
}

/// A new version of a filter.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterChange {
    /// The filter.
    pub(crate) filter: FilterBody,
}

/// A stored filter.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FilterDocument {
    /// The filter's ID.
    pub(crate) id: Uuid,
    /// Name of the filter, for `settings.filter` of a crawl.
    pub(crate) name: String,
    /// Number of times this filter was written.
    pub(crate) version: i32,
    /// The filter. Absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) filter: Option<FilterBody>,
    /// When this version was written.
    pub(crate) changed_at: DateTime<Utc>,
}

impl FilterDocument {
    fn new(stored: StoredFilter) -> Self {
        let StoredFilter { id, owner: _, name, version, body, changed_at } = stored;
        Self { id, name, version, filter: FilterBody::of(body), changed_at }
    }
}

/// A key's filters.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FilterDocuments {
    /// The filters, by name.
    pub(crate) filters: Vec<FilterDocument>,
    /// The cursor for `after`. Absent if there are no more filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

#[derive(OpenApi)]
#[openapi(paths(add, list, look, change, remove))]
pub(crate) struct FiltersDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new()
        .route("/v1/url/filter", get(list).post(add))
        .route("/v1/url/filter/{id}", get(look).put(change).delete(remove))
}

/// Store a filter
#[utoipa::path(
    post, path = "/v1/url/filter", tag = "filters",
    operation_id = "filters_add",
    extensions(("x-problem-codes" = json!(["invalid_pattern", "not_allowed", "name_taken"]))),
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
        description = "Within 24 hours the same request does not store another filter")),
    request_body(content = FilterSubmission, example = json!({
        "name": "no-shops",
        "filter": { "rules": [{ "pattern": "*/shop/*", "verdict": "drop" }],
                    "languages": { "keep": ["de", "en"] } },
    })),
    responses(
        (status = 201, description = "Stored", body = FilterDocument),
        (status = 200, description = "The same request stored it before", body = FilterDocument),
    )
)]
pub(crate) async fn add(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, bytes) = body::json_request(&service, &caller, request).await?;
    let idempotency = idempotency_key(&parts, &bytes)?;
    let FilterSubmission { name, filter } = body::from_json(&bytes)?;
    check_filter_name(&name)
        .map_err(|detail| Problem::of_field(ProblemCode::InvalidParameter, "name", detail))?;
    service.coordinator.api_admit(&caller).await?;
    let filter = checked(&service, filter).await?;
    let (stored, is_repeated) =
        service.coordinator.api_add_filter(&caller, &name, &filter, idempotency.as_ref()).await?;
    let place = format!("/v1/url/filter/{}", stored.id);
    let status = if is_repeated { StatusCode::OK } else { StatusCode::CREATED };
    Ok(answer::at(&place, answer::json(status, &FilterDocument::new(stored))))
}

/// List the key's filters by name
#[utoipa::path(
    get, path = "/v1/url/filter", tag = "filters",
    operation_id = "filters_list",
    params(
        ("limit" = Option<i32>, Query, minimum = 1, maximum = 100,
         description = "Maximum number of filters. Default: 100"),
        ("after" = Option<String>, Query, description = "`next` from the previous response"),
    ),
    responses(
        (status = 200, description = "Filters", body = FilterDocuments),
    )
)]
pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let page = ListPage::parse(&uri, &caller, FILTERS)?;
    let stored = service.coordinator.api_filters(&caller, None, None).await?;
    let (stored, next) = page.of(stored, |stored| stored.name.clone());
    let filters = stored.into_iter().map(FilterDocument::new).collect();
    Ok(answer::ok(&FilterDocuments { filters, next }))
}

/// Get a filter's current version
#[utoipa::path(
    get, path = "/v1/url/filter/{id}", tag = "filters",
    operation_id = "filters_get",
    params(("id" = Uuid, Path, description = "The filter's ID")),
    responses(
        (status = 200, description = "The filter", body = FilterDocument),
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
    let found = service.coordinator.api_filters(&caller, Some(id), None).await?;
    let stored = found.into_iter().next().ok_or_else(|| Problem::new(ProblemCode::NotFound))?;
    Ok(answer::ok(&FilterDocument::new(stored)))
}

/// Replace a filter; crawls that were started keep their version
#[utoipa::path(
    put, path = "/v1/url/filter/{id}", tag = "filters",
    operation_id = "filters_replace",
    extensions(("x-problem-codes" = json!(["invalid_pattern", "not_allowed"]))),
    params(("id" = Uuid, Path, description = "The filter's ID")),
    request_body(content = FilterChange, example = json!({
        "filter": { "rules": [{ "pattern": "*/basket/*", "verdict": "drop" }] },
    })),
    responses(
        (status = 200, description = "The new version of the filter", body = FilterDocument),
    )
)]
pub(crate) async fn change(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    request: Request,
) -> Result<Response, Problem> {
    let (_, bytes) = body::json_request(&service, &caller, request).await?;
    let FilterChange { filter } = body::from_json(&bytes)?;
    let id = known(&service, &caller, id).await?;
    service.coordinator.api_admit(&caller).await?;
    let filter = checked(&service, filter).await?;
    let stored = service.coordinator.api_change_filter(&caller, id, &filter).await?;
    Ok(answer::ok(&FilterDocument::new(stored)))
}

/// Remove a filter; crawls that were started keep their version
#[utoipa::path(
    delete, path = "/v1/url/filter/{id}", tag = "filters",
    operation_id = "filters_remove",
    params(("id" = Uuid, Path, description = "The filter's ID")),
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
    service.coordinator.api_remove_filter(&caller, id).await?;
    Ok(answer::nothing())
}

/// Checks a filter, and returns it in the stored form. Compiling a filter takes a while.
async fn checked(service: &Arc<Service>, filter: FilterBody) -> Result<Value, Problem> {
    in_background(service, move |_| {
        let settings = filter.settings()?;
        serde_json::to_value(settings)
            .map_err(|error| Problem::of_field(ProblemCode::InvalidParameter, "filter", error))
    })
    .await
}
