//! The document that `coordinator.scan_status` answers, as types.
//!
//! Writing a status gives the same JSON as Postgres gave, so `scan status --json` prints the
//! document unchanged.

use std::{collections::BTreeMap, error::Error as StdError, fmt, str::FromStr};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use tokio_postgres::types::{FromSql, Type};
use uuid::Uuid;

use crate::{error::Error, job::JobKind};

/// How far a scan has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanState {
    /// Workers lease its jobs.
    Running,
    /// Its jobs are not leased until it is resumed.
    Paused,
    /// Every job is completed.
    Finished,
    /// Every job has ended, and some were discarded.
    FinishedWithDiscards,
    /// An operator has ended it.
    Cancelled,
}

impl ScanState {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::Running, Self::Paused, Self::Finished, Self::FinishedWithDiscards, Self::Cancelled];

    /// The state's name in SQL and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Finished => "finished",
            Self::FinishedWithDiscards => "finished_with_discards",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the scan's jobs may still change: it is running or paused.
    pub fn is_open(self) -> bool {
        match self {
            Self::Running | Self::Paused => true,
            Self::Finished | Self::FinishedWithDiscards | Self::Cancelled => false,
        }
    }

    /// Whether every job of the scan has ended by itself, so that its site can be published.
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

/// A time as Postgres writes it into JSON, possibly `infinity`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(String);

impl Timestamp {
    /// The time; none for `infinity`.
    pub fn time(&self) -> Option<DateTime<Utc>> {
        self.0.parse().ok()
    }

    /// The text, as Postgres wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A store for which jobs of a kind were given back, none of which was completed since.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoreTrouble {
    /// When the last of them was given back.
    pub at: Timestamp,
    /// The kind of the jobs.
    pub kind: JobKind,
    /// The worker that gave it back.
    #[serde(rename = "holder")]
    pub worker_id: Option<String>,
    /// Which store, and what it answered.
    pub message: Option<String>,
}

/// All that `scan status` shows of one scan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScanStatus {
    /// The scan's id.
    #[serde(rename = "scan")]
    pub scan_id: Uuid,
    /// The crawl that it reads.
    pub crawl: String,
    /// How far it has come.
    pub state: ScanState,
    /// Its settings, frozen when it was started.
    pub settings: Value,
    /// The fleet's icon requests a second, if limited.
    pub rate: Option<i32>,
    /// The fleet's requests a second to the source, if limited.
    #[serde(default)]
    pub archive_rate: Option<i32>,
    /// Shards, once the hosts are counted.
    pub shards: Option<i32>,
    /// Bundles of each shard, once the hosts are counted.
    pub bundles_per_shard: Option<i32>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it ended; none while it is open.
    pub finished_at: Option<Timestamp>,
    /// The time of this status on Postgres' clock.
    pub now: Timestamp,
    /// Jobs that have not ended.
    pub outstanding: Option<i64>,
    /// Its stages, in pipeline order.
    pub stages: Vec<StageStatus>,
    /// The stores that jobs wait for, newest first.
    #[serde(default)]
    pub troubles: Vec<StoreTrouble>,
    /// Sums over the completed jobs of each stage that has any.
    pub outcomes: BTreeMap<JobKind, StageOutcomes>,
    /// Workers that hold a lease or have ended a job in the last five minutes, by id.
    pub workers: Vec<WorkerStatus>,
    /// Jobs with poison-item isolation, at most ten, those with the most crashes first.
    #[serde(rename = "careful")]
    pub isolated_jobs: Vec<IsolatedJob>,
    /// The last failures, at most ten, newest first.
    pub errors: Vec<JobFailure>,
    /// How many events of each name there were.
    pub events: BTreeMap<String, i64>,
    /// Stages whose counter disagrees with their rows; empty, unless there is a bug.
    pub drift: Vec<StageDrift>,
}

/// One stage of a scan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageStatus {
    /// The kind of its jobs.
    pub kind: JobKind,
    /// Jobs that have not ended.
    pub outstanding: u64,
    /// Jobs completed.
    pub done: u64,
    /// Jobs discarded.
    pub discarded: u64,
    /// Whether its jobs are not leased.
    pub paused: bool,
    /// When its first job was leased.
    pub started_at: Option<Timestamp>,
    /// When its last job ended.
    pub finished_at: Option<Timestamp>,
    /// Jobs leased now.
    pub leased: u64,
    /// Jobs that wait for a time before they can be leased.
    pub delayed: u64,
}

impl StageStatus {
    /// How long the finished stage took, in seconds; none while it is not finished.
    pub fn duration_seconds(&self) -> Option<f64> {
        let duration = self.finished_at.as_ref()?.time()? - self.started_at.as_ref()?.time()?;
        Some(duration.as_seconds_f64().max(0.0))
    }
}

/// Sums over the completed jobs of a stage, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StageOutcomes {
    /// What the jobs were given, such as hosts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, i64>,
    /// How each input ended.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<String, i64>,
    /// What else was counted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, i64>,
}

/// One worker of a scan. Numbers are those of the last five minutes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// The worker's id.
    #[serde(rename = "holder")]
    pub worker_id: String,
    /// Leases that it holds now.
    pub leases: u64,
    /// The kinds of the jobs that it holds.
    pub kinds: Vec<JobKind>,
    /// When the oldest of its leases began.
    pub oldest_lease: Option<Timestamp>,
    /// Jobs completed.
    pub jobs: u64,
    /// Inputs of those jobs.
    pub items: u64,
    /// Inputs of those jobs a second.
    pub items_per_second: Number,
    /// Jobs that failed, were given back or lost their lease; a job counts each time.
    pub errors: u64,
    /// Why the last of them did.
    pub last_error: Option<String>,
}

/// A job with poison-item isolation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IsolatedJob {
    /// The job.
    pub job_id: i64,
    /// Its kind.
    pub kind: JobKind,
    /// Its shard, file or range.
    pub part: i32,
    /// pending or leased.
    pub state: String,
    /// Leases of it that ran out.
    pub crashes: i32,
    /// The worker that holds it, or held it last.
    #[serde(rename = "holder")]
    pub worker_id: Option<String>,
    /// The item that is handled now.
    #[serde(rename = "in_hand")]
    pub current_item: Option<i64>,
    /// When it may be leased.
    pub not_before: Option<Timestamp>,
}

/// A lease that ended without output: its job failed or was given back, or it ran out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFailure {
    /// When.
    pub at: Timestamp,
    /// retry, discard, expired or release.
    pub event: String,
    /// The job's kind.
    pub kind: JobKind,
    /// The job's shard, file or range.
    pub part: i32,
    /// The job.
    pub job_id: i64,
    /// The worker that held it.
    #[serde(rename = "holder")]
    pub worker_id: Option<String>,
    /// Why.
    pub message: Option<String>,
}

/// A stage whose counter disagrees with its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageDrift {
    /// The stage.
    pub kind: JobKind,
    /// Jobs outstanding by its counter.
    pub outstanding: i32,
    /// Jobs not ended by its rows.
    pub unfinished: i32,
}

impl ScanStatus {
    /// A stage's sums; empty before the first of its jobs is completed.
    pub fn outcomes_of(&self, kind: JobKind) -> StageOutcomes {
        self.outcomes.get(&kind).cloned().unwrap_or_default()
    }

    /// How many events of that name there were.
    pub fn events_of(&self, event: &str) -> i64 {
        self.events.get(event).copied().unwrap_or_default()
    }
}
