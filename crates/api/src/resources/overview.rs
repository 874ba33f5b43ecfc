//! What the installation does, in numbers: workers, slots, scans, and the pace of one crawl.

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

/// How fast politeness allows a crawl to be.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct PaceDocument {
    /// Hosts of which something is due and that may be asked.
    pub(crate) hosts: i64,
    /// Hosts that are left alone for longer than their delay, or of which nothing is due yet.
    pub(crate) resting_hosts: i64,
    /// The sum, over the hosts that may be asked, of 1 / (delay + time the host takes to answer).
    pub(crate) pages_per_second: f64,
    /// Whether only a part of very many hosts was counted, so that politeness allows more.
    pub(crate) is_least: bool,
    /// Requests a second that are allowed to the crawl, where its key or operator limits them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<f64>,
    /// How many origins (scheme, host and port) of these hosts are paused, by the outcome of their
    /// last request. A host whose other origins go on does not rest.
    #[schema(value_type = BTreeMap<FailureOutcome, i64>)]
    pub(crate) paused_origins: BTreeMap<String, i64>,
    /// Seconds that one host takes for its pending URLs, one after the other, of all these hosts
    /// the longest: the crawl takes at least as long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seconds_left: Option<f64>,
    /// That host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slowest_host: Option<String>,
}

/// A stage of a scan.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct StageDocument {
    /// The kind of its jobs.
    #[schema(value_type = StageKind)]
    pub(crate) kind: String,
    /// Jobs that have not ended.
    pub(crate) outstanding: i64,
    /// Jobs that are done.
    pub(crate) done: i64,
    /// Jobs that were given up.
    pub(crate) discarded: i64,
    /// Whether it is paused.
    pub(crate) is_paused: bool,
    /// When its first job was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<DateTime<Utc>>,
    /// When its last job had ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finished_at: Option<DateTime<Utc>>,
}

/// A scan of an archive.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ScanDocument {
    /// Its id.
    pub(crate) id: Uuid,
    /// The archive's crawl that it reads; LIVE: a live crawl.
    pub(crate) crawl: String,
    /// running, paused, finished, finished_with_discards or cancelled.
    #[schema(value_type = ScanStateWord)]
    pub(crate) state: String,
    /// When it was started.
    pub(crate) started_at: DateTime<Utc>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finished_at: Option<DateTime<Utc>>,
    /// Workers that hold jobs of it.
    pub(crate) workers: i64,
    /// Jobs of the last five minutes that failed and are performed again (retry), were given up
    /// (discard) or given back (release), or whose worker was not heard of (expired).
    #[schema(value_type = BTreeMap<JobEvent, i64>)]
    pub(crate) errors: BTreeMap<String, i64>,
    /// Its stages, in the order in which they begin.
    pub(crate) stages: Vec<StageDocument>,
}

/// What the installation does.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct OverviewDocument {
    /// The time by the database's clock.
    pub(crate) now: DateTime<Utc>,
    /// Workers of role crawl that were seen in the last 15 seconds.
    pub(crate) live_workers: i64,
    /// Slots of the web that workers hold.
    pub(crate) held_slots: i64,
    /// All slots.
    pub(crate) slots: i64,
    /// The pace of the crawl that was asked for, unless it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pace: Option<PaceDocument>,
    /// Scans: those under way first, the newest first, at most three.
    pub(crate) scans: Vec<ScanDocument>,
}

#[derive(OpenApi)]
#[openapi(paths(overview))]
pub(crate) struct OverviewDescription;

/// The route of the overview.
pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/v1/overview", get(overview))
}

/// Workers, slots and scans in numbers
#[utoipa::path(
    get, path = "/v1/overview", tag = "service",
    operation_id = "overview_get",
    params(("crawl" = Option<Uuid>, Query,
        description = "One of the key's crawls, to learn how fast politeness allows it to be")),
    responses(
        (status = 200, description = "What the installation does", body = OverviewDocument),
    )
)]
pub(crate) async fn overview(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let crawl = Parameters::parse(&uri, &["crawl"])?.value("crawl", "the id of a crawl")?;
    let document = service.coordinator.api_overview(&caller, crawl).await?;
    let document: OverviewDocument = serde_json::from_value(document).map_err(|error| {
        tracing::error!(%error, "the overview is not as it is described");
        Problem::new(ProblemCode::Internal)
    })?;
    Ok(answer::ok(&document))
}
