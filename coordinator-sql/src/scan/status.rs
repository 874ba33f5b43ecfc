//! The JSON object that `coordinator.scan_status` returns, as types.
//!
//! `scan status --json` prints it unchanged, except that the earlier scan is added.

use std::{collections::BTreeMap, error::Error as StdError, fmt, str::FromStr};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use tokio_postgres::types::{FromSql, Type};
use uuid::Uuid;

use crate::{error::Error, queue::job::JobKind};

/// A scan's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanState {
    /// Workers lease the scan's jobs.
    Running,
    /// The scan's jobs are not leased until the scan is resumed.
    Paused,
    /// Every job was completed.
    Finished,
    /// Every job has finished, and some were discarded.
    FinishedWithDiscards,
    /// An operator cancelled the scan.
    Cancelled,
}

impl ScanState {
    /// All states.
    pub const ALL: [Self; 5] =
        [Self::Running, Self::Paused, Self::Finished, Self::FinishedWithDiscards, Self::Cancelled];

    /// Returns the state's name in SQL and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Finished => "finished",
            Self::FinishedWithDiscards => "finished_with_discards",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns whether the scan is running or paused.
    pub fn is_open(self) -> bool {
        match self {
            Self::Running | Self::Paused => true,
            Self::Finished | Self::FinishedWithDiscards | Self::Cancelled => false,
        }
    }

    /// Returns whether all jobs were completed or discarded, so that the site can be published.
    pub fn is_publishable(self) -> bool {
        match self {
            Self::Finished | Self::FinishedWithDiscards => true,
            Self::Running | Self::Paused | Self::Cancelled => false,
        }
    }
}

impl fmt::Display for ScanState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for ScanState {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let state = Self::ALL.into_iter().find(|state| state.as_str() == name);
        state.ok_or_else(|| Error::Unexpected(format!("the scan state {name:?}")))
    }
}

impl<'a> FromSql<'a> for ScanState {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(<&str>::from_sql(kind, raw)?.parse()?)
    }

    fn accepts(kind: &Type) -> bool {
        <&str as FromSql>::accepts(kind)
    }
}

/// A time as Postgres writes it in JSON, possibly `infinity`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(String);

impl Timestamp {
    /// Returns the time. `None` for `infinity`.
    pub fn time(&self) -> Option<DateTime<Utc>> {
        self.0.parse().ok()
    }

    /// Returns the time as the string that Postgres wrote.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A failure of a store, database or resolver that made workers release jobs. It is listed until a
/// later job of the same kind completes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoreTrouble {
    /// Last release time.
    pub at: Timestamp,
    /// The jobs' kind.
    pub kind: JobKind,
    /// The worker that released the job.
    #[serde(rename = "holder")]
    pub worker_id: Option<String>,
    /// The unavailable dependency, and the reason.
    pub message: Option<String>,
}

/// A scan's status, as shown by `scan status`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScanStatus {
    /// The scan's id.
    #[serde(rename = "scan")]
    pub scan_id: Uuid,
    /// The Common Crawl crawl that the scan reads.
    pub crawl: String,
    /// The scan's state.
    pub state: ScanState,
    /// The scan's settings, fixed at its start.
    pub settings: Value,
    /// The fleet's icon requests per second. `None` if unlimited.
    pub rate: Option<i32>,
    /// The fleet's source requests per second. `None` if unlimited.
    #[serde(default)]
    pub archive_rate: Option<i32>,
    /// Number of shards. `None` until the hosts are counted.
    pub shards: Option<i32>,
    /// Number of bundles per shard. `None` until the hosts are counted.
    pub bundles_per_shard: Option<i32>,
    /// Start time.
    pub started_at: Timestamp,
    /// End time. `None` until the scan finishes.
    pub finished_at: Option<Timestamp>,
    /// Postgres' time when this status was read.
    pub now: Timestamp,
    /// Unfinished jobs.
    pub outstanding: Option<i64>,
    /// The scan's stages, in pipeline order.
    pub stages: Vec<StageStatus>,
    /// Unavailable dependencies for which jobs are waiting, newest first.
    #[serde(default)]
    pub troubles: Vec<StoreTrouble>,
    /// Each stage's sums over its completed jobs.
    pub outcomes: BTreeMap<JobKind, StageOutcomes>,
    /// Workers that hold a lease, or for which a job ended in the last five minutes.
    pub workers: Vec<WorkerStatus>,
    /// At most ten jobs under poison-item isolation.
    #[serde(rename = "careful")]
    pub isolated_jobs: Vec<IsolatedJob>,
    /// The last failures, at most ten, newest first.
    pub errors: Vec<JobFailure>,
    /// Number of events by name.
    pub events: BTreeMap<String, i64>,
    /// Stages whose counter disagrees with their rows, which is a bug.
    pub drift: Vec<StageDrift>,
    /// The earlier scan, if the caller loaded it with `Coordinator::earlier_outcomes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<EarlierOutcomes>,
}

/// The outcomes of the last published scan before this one, if possible with the same site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierOutcomes {
    /// The earlier scan's id.
    #[serde(rename = "scan")]
    pub scan_id: Uuid,
    /// The outcomes of the earlier scan's inputs, by stage.
    pub outcomes: BTreeMap<JobKind, BTreeMap<String, i64>>,
}

/// A stage in a scan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageStatus {
    /// The kind of the stage's jobs.
    pub kind: JobKind,
    /// Unfinished jobs.
    pub outstanding: u64,
    /// Completed jobs.
    pub done: u64,
    /// Discarded jobs.
    pub discarded: u64,
    /// Whether leasing this stage's jobs is paused.
    pub paused: bool,
    /// When the stage's first job was leased.
    pub started_at: Option<Timestamp>,
    /// When the stage's last job finished.
    pub finished_at: Option<Timestamp>,
    /// Jobs that are leased now.
    pub leased: u64,
    /// Jobs that wait for a back-off to end.
    pub delayed: u64,
}

impl StageStatus {
    /// Returns how long the stage took, in seconds. `None` until it has finished.
    pub fn duration_seconds(&self) -> Option<f64> {
        let duration = self.finished_at.as_ref()?.time()? - self.started_at.as_ref()?.time()?;
        Some(duration.as_seconds_f64().max(0.0))
    }
}

/// A stage's sums over its completed jobs, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StageOutcomes {
    /// The jobs' inputs, such as hosts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, i64>,
    /// The inputs' outcomes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<String, i64>,
    /// Other counts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, i64>,
}

/// A scan's worker, with counts for the last five minutes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// The worker's id.
    #[serde(rename = "holder")]
    pub worker_id: String,
    /// Leases that the worker holds now.
    pub leases: u64,
    /// The kinds of jobs that the worker holds.
    pub kinds: Vec<JobKind>,
    /// When the worker's oldest lease started.
    pub oldest_lease: Option<Timestamp>,
    /// Jobs completed.
    pub jobs: u64,
    /// Number of inputs in these jobs.
    pub items: u64,
    /// Inputs per second in these jobs.
    pub items_per_second: Number,
    /// Jobs that failed or were released, and leases that expired.
    pub errors: u64,
    /// The reason for the last failure.
    pub last_error: Option<String>,
}

/// A job under poison-item isolation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IsolatedJob {
    /// The job.
    pub job_id: i64,
    /// The job's kind.
    pub kind: JobKind,
    /// The job's index in its stage.
    pub part: i32,
    /// `pending` or `leased`.
    pub state: String,
    /// Number of leases that expired.
    pub crashes: i32,
    /// The job's current or last worker.
    #[serde(rename = "holder")]
    pub worker_id: Option<String>,
    /// The item that the worker is processing.
    #[serde(rename = "in_hand")]
    pub current_item: Option<i64>,
    /// When the job can be leased.
    pub not_before: Option<Timestamp>,
}

/// A lease that ended without output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFailure {
    /// Event time.
    pub at: Timestamp,
    /// `retry`, `discard`, `expired` or `release`.
    pub event: String,
    /// The job's kind.
    pub kind: JobKind,
    /// The job's index in its stage.
    pub part: i32,
    /// The job.
    pub job_id: i64,
    /// The worker that held the lease.
    #[serde(rename = "holder")]
    pub worker_id: Option<String>,
    /// The reason.
    pub message: Option<String>,
}

/// A stage whose counter differs from its unfinished rows, which is a bug.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageDrift {
    /// The stage.
    pub kind: JobKind,
    /// Outstanding jobs according to the counter.
    pub outstanding: i32,
    /// Unfinished jobs according to the rows.
    pub unfinished: i32,
}

impl ScanStatus {
    /// Returns a stage's sums, empty before its first job has completed.
    pub fn outcomes_of(&self, kind: JobKind) -> StageOutcomes {
        self.outcomes.get(&kind).cloned().unwrap_or_default()
    }

    /// Returns the number of events with this name.
    pub fn events_of(&self, event: &str) -> i64 {
        self.events.get(event).copied().unwrap_or_default()
    }
}
