//! Schedules, which start crawls regularly.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, Uri},
    response::Response,
    routing::get,
};
use chrono::{DateTime, Utc};
use everytab_coordinator::{NewSchedule, ScheduleRow};
use everytab_crawl_settings::CrawlSettings;
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use super::batches::{in_background, packed};
use crate::{
    answer,
    asked_crawl::AskedCrawl,
    body,
    caller::Caller,
    crawl_settings::SettingsOfCrawl,
    list_page::ListPage,
    parameters::{Parameters, PathId, check_name, idempotency_key, known},
    problem::{Problem, ProblemCode, ProblemItem},
    schedule_times::{DayWord, TimesInWords},
    service::Service,
    tokens::ListName,
};

const SCHEDULES: &ListName = b"schedules.......";

/// A schedule to add: `every`, or `at` with optional `days`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleSubmission {
    /// Name of the schedule, unique for the key, of 1 to 100 characters. Default: its ID.
    pub(crate) name: Option<String>,
    /// Period between two crawls, 60s to 365d: `90m`, `24h` or `7d`. The first crawl starts after
    /// one period.
    pub(crate) every: Option<String>,
    /// Time of day in UTC, such as `03:00`.
    pub(crate) at: Option<String>,
    /// Weekdays for that time in UTC. Default: every day.
    pub(crate) days: Option<Vec<DayWord>>,
    /// URLs or hostnames, at most 10,000. A hostname gets `https://`, or `http://` if https cannot
    /// be reached.
    #[schema(max_items = 10000)]
    pub(crate) urls: Vec<String>,
    /// Each crawl's settings.
    #[serde(default)]
    pub(crate) settings: SettingsOfCrawl,
}

/// A schedule that was added.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AddedSchedule {
    /// The schedule's ID.
    pub(crate) id: Uuid,
    /// The schedule's name.
    pub(crate) name: String,
    /// When this schedule starts its first crawl.
    pub(crate) next_at: DateTime<Utc>,
    /// Number of URLs with which this schedule's crawls start.
    pub(crate) seeds: usize,
    /// Errors for the other URLs.
    pub(crate) refused: Vec<ProblemItem>,
}

/// A schedule.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ScheduleDocument {
    /// The schedule's ID.
    pub(crate) id: Uuid,
    /// The schedule's name.
    pub(crate) name: String,
    /// Period between two crawls, in the largest unit that divides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) every: Option<String>,
    /// Time of day in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<String>,
    /// Weekdays for this time. Absent if crawls start every day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) days: Option<Vec<DayWord>>,
    /// Settings for this schedule's crawls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settings: Option<SettingsOfCrawl>,
    /// Number of URLs with which this schedule's crawls start.
    pub(crate) seeds: i64,
    /// When this schedule was added.
    pub(crate) created_at: DateTime<Utc>,
    /// When this schedule starts its next crawl.
    pub(crate) next_at: DateTime<Utc>,
    /// Number of crawls that this schedule has started.
    pub(crate) fired: i64,
    /// Number of times this schedule was skipped, because its last crawl had not ended or the next
    /// one could not be started.
    pub(crate) skipped: i64,
    /// ID of the last crawl that this schedule started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_crawl: Option<Uuid>,
    /// The error of this schedule's last failed start. Absent if a later start succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_error: Option<ProblemCode>,
}

impl ScheduleDocument {
    fn new(row: ScheduleRow) -> Self {
        let TimesInWords { every, at, days } =
            TimesInWords::show(row.every_s, row.at_s, row.weekdays);
        let settings = serde_json::from_value::<CrawlSettings>(row.settings);
        // Any other value is an error message from the database, which is only for the operator.
        let code = |text: String| ProblemCode::parse(&text).unwrap_or(ProblemCode::Internal);
        Self {
            id: row.id,
            name: row.name,
            every,
            at,
            days,
            settings: settings.ok().map(SettingsOfCrawl::of),
            seeds: row.seeds,
            created_at: row.created_at,
            next_at: row.next_at,
            fired: row.fired,
            skipped: row.skipped,
            last_crawl: row.last_crawl,
            last_error: row.last_error.map(code),
        }
    }
}

/// A key's schedules.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ScheduleList {
    /// The schedules, the next one first.
    pub(crate) schedules: Vec<ScheduleDocument>,
    /// The cursor for `after`. Absent if there are no more schedules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

#[derive(OpenApi)]
#[openapi(paths(add, list, look, remove))]
pub(crate) struct SchedulesDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new()
        .route("/v1/url/schedule", get(list).post(add))
        .route("/v1/url/schedule/{id}", get(look).delete(remove))
}

/// Start crawls on a schedule
#[utoipa::path(
    post, path = "/v1/url/schedule", tag = "schedules",
    operation_id = "schedules_add",
    extensions(("x-problem-codes" = json!([
        "too_many_urls", "nothing_to_crawl", "invalid_setting", "invalid_pattern",
        "not_found", "not_allowed", "crawl_open", "name_taken"
    ]))),
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
        description = "Within 24 hours the same request does not add another schedule")),
    request_body(content = ScheduleSubmission, example = json!({
        "name": "news of the night", "at": "03:00", "days": ["mon", "thu"],
        "urls": ["https://example.com/news/"], "settings": { "scope": "host", "depth": 1 },
    })),
    responses(
        (status = 201, description = "Added", body = AddedSchedule),
        (status = 200, description = "The same request added it before", body = AddedSchedule),
    )
)]
pub(crate) async fn add(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, bytes) = body::json_request(&service, &caller, request).await?;
    let idempotency = idempotency_key(&parts, &bytes)?;
    let is_repeated = service.coordinator.api_admit_named(&caller, idempotency.as_ref()).await?;
    let ports = service.ports_of(&caller).await?;
    let (name, times, asked) = in_background(&service, move |service| {
        let ScheduleSubmission { name, every, at, days, urls, settings } = body::from_json(&bytes)?;
        name.as_deref().map(check_name).transpose()?;
        let times = TimesInWords { every, at, days }.read()?;
        Ok((name, times, AskedCrawl::read(service, settings, (&urls, ports))?))
    })
    .await?;
    let AskedCrawl { settings, urls, .. } =
        asked.with_filter(&service, &caller, is_repeated).await?;
    let (urls, links) = packed(&service, urls.some()?, 0).await?;
    let id = Uuid::now_v7();
    let schedule = NewSchedule {
        id,
        owner: format!("key:{}", caller.key),
        name: name.clone().unwrap_or_else(|| id.to_string()),
        times,
        store: service.settings.store.clone(),
        settings: serde_json::to_value(&settings)
            .map_err(|error| Problem::with(ProblemCode::InvalidSetting, error))?,
        links,
    };
    let added =
        service.coordinator.api_add_schedule(&caller, &schedule, idempotency.as_ref()).await?;
    let document = AddedSchedule {
        id: added.id,
        name: name.unwrap_or_else(|| added.id.to_string()),
        next_at: added.next_at,
        seeds: urls.accepted.len(),
        refused: urls.refused,
    };
    let is_new = !added.is_repeated;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let place = format!("/v1/url/schedule/{}", added.id);
    Ok(answer::at(&place, answer::json(status, &document)))
}

/// List the key's schedules, the next one first
#[utoipa::path(
    get, path = "/v1/url/schedule", tag = "schedules",
    operation_id = "schedules_list",
    params(
        ("limit" = Option<i32>, Query, minimum = 1, maximum = 100,
         description = "Maximum number of schedules. Default: 100"),
        ("after" = Option<String>, Query,
         description = "`next` from the previous response. Schedules that fired since then appear \
                        again"),
    ),
    responses(
        (status = 200, description = "Schedules", body = ScheduleList),
    )
)]
pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let page = ListPage::parse(&uri, &caller, SCHEDULES)?;
    let rows = service.coordinator.api_list_schedules(&caller, None).await?;
    let key = |row: &ScheduleRow| format!("{:020} {}", row.next_at.timestamp_micros(), row.id);
    let (rows, next) = page.of(rows, key);
    let schedules = rows.into_iter().map(ScheduleDocument::new).collect();
    Ok(answer::ok(&ScheduleList { schedules, next }))
}

/// Get a schedule's next time and results
#[utoipa::path(
    get, path = "/v1/url/schedule/{id}", tag = "schedules",
    operation_id = "schedules_get",
    params(("id" = Uuid, Path, description = "The schedule's ID")),
    responses(
        (status = 200, description = "The schedule", body = ScheduleDocument),
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
    let found = service.coordinator.api_list_schedules(&caller, Some(id)).await?;
    let row = found.into_iter().next().ok_or_else(|| Problem::new(ProblemCode::NotFound))?;
    Ok(answer::ok(&ScheduleDocument::new(row)))
}

/// Remove a schedule and keep the crawls that it started
#[utoipa::path(
    delete, path = "/v1/url/schedule/{id}", tag = "schedules",
    operation_id = "schedules_remove",
    params(("id" = Uuid, Path, description = "The schedule's ID")),
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
    service.coordinator.api_drop_schedule(&caller, id).await?;
    Ok(answer::nothing())
}
