//! The installation's activity: workers, slots, scans, and one crawl's pace.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Router, extract::State, http::Uri, response::Response, routing::get};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use crate::{
    answer,
    caller::Caller,
    closed_lists::{FailureOutcome, JobEvent, ScanStateWord, StageKind},
    parameters::Parameters,
    problem::{Problem, ProblemCode},
    service::Service,
};

/// The maximum speed that a crawl's delays allow.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct PaceDocument {
    /// Number of hosts with a due URL that may be requested now.
    pub(crate) hosts: i64,
    /// Number of hosts that are paused for longer than their delay, or have no due URL yet.
    pub(crate) resting_hosts: i64,
    /// Sum of 1 / (delay + response time in seconds) over the hosts that may be requested now.
    pub(crate) pages_per_second: f64,
    /// Whether only some of very many hosts were counted, so that the crawl may be faster.
    pub(crate) is_least: bool,
    /// The crawl's maximum requests per second. Absent if neither its key nor the operator sets
    /// one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<f64>,
    /// Number of paused origins (scheme, host and port) of these hosts, by the outcome of their
    /// last request. A host is not in `resting_hosts` while another of its origins continues.
    #[schema(value_type = BTreeMap<FailureOutcome, i64>)]
    pub(crate) paused_origins: BTreeMap<String, i64>,
    /// Estimate of the crawl's minimum remaining time, in seconds: for its slowest host, the time
    /// until the next request, plus the time for the pending URLs one after another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seconds_left: Option<f64>,
    /// Name of the slowest host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slowest_host: Option<String>,
}

/// A stage of a scan.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct StageDocument {
    /// The kind of the stage's jobs.
    #[schema(value_type = StageKind)]
    pub(crate) kind: String,
    /// Number of unfinished jobs.
    pub(crate) outstanding: i64,
    /// Number of finished jobs.
    pub(crate) done: i64,
    /// Number of jobs that were given up.
    pub(crate) discarded: i64,
    /// Whether the stage is paused.
    pub(crate) is_paused: bool,
    /// When a worker took this stage's first job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<DateTime<Utc>>,
    /// When this stage's last job finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finished_at: Option<DateTime<Utc>>,
}

/// A scan of an archive.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ScanDocument {
    /// The scan's ID.
    pub(crate) id: Uuid,
    /// The archive's crawl that the scan reads, or LIVE for a live crawl.
    pub(crate) crawl: String,
    /// running, paused, finished, finished_with_discards or cancelled.
    #[schema(value_type = ScanStateWord)]
    pub(crate) state: String,
    /// When the scan started.
    pub(crate) started_at: DateTime<Utc>,
    /// When the scan ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finished_at: Option<DateTime<Utc>>,
    /// Number of workers that hold jobs of the scan.
    pub(crate) workers: i64,
    /// Number of job events in the last five minutes: jobs that failed and are retried (retry),
    /// were given up (discard), were released by their worker (release), or whose lease expired
    /// (expired).
    #[schema(value_type = BTreeMap<JobEvent, i64>)]
    pub(crate) errors: BTreeMap<String, i64>,
    /// The scan's stages, in the order in which they start.
    pub(crate) stages: Vec<StageDocument>,
}

/// The installation's activity.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct OverviewDocument {
    /// The database's current time.
    pub(crate) now: DateTime<Utc>,
    /// Number of workers with the role crawl that were seen in the last 15 seconds.
    pub(crate) live_workers: i64,
    /// Number of slots that workers hold.
    pub(crate) held_slots: i64,
    /// Number of all slots.
    pub(crate) slots: i64,
    /// The requested crawl's pace. Absent if it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pace: Option<PaceDocument>,
    /// At most three scans: running and paused ones first, then the newest.
    pub(crate) scans: Vec<ScanDocument>,
}

#[derive(OpenApi)]
#[openapi(paths(overview))]
pub(crate) struct OverviewDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/v1/overview", get(overview))
}

/// Get the numbers of workers, slots and scans
#[utoipa::path(
    get, path = "/v1/overview", tag = "service",
    operation_id = "overview_get",
    params(("crawl" = Option<Uuid>, Query,
        description = "One of the key's crawls, to include its pace")),
    responses(
        (status = 200, description = "The activity of the installation", body = OverviewDocument),
    )
)]
pub(crate) async fn overview(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let crawl = Parameters::parse(&uri, &["crawl"])?.value("crawl", "a crawl's ID")?;
    let document = service.coordinator.api_overview(&caller, crawl).await?;
    let document: OverviewDocument = serde_json::from_value(document).map_err(|error| {
        tracing::error!(%error, "the overview from Postgres is malformed");
        Problem::new(ProblemCode::Internal)
    })?;
    Ok(answer::ok(&document))
}
