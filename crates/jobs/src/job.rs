//! What every job has in common: an assignment, how it is loaded and performed, what it hands back,
//! and why it may fail.
//!
//! Invariant: while it is performed, a job reaches Postgres only through the item journal of its
//! assignment.
//! Must not know: which kinds of jobs there are.

use everytab_commoncrawl::index::IndexError;
use everytab_coordinator::{Coordinator, JobKind, Lease, Output, ScanInfo};
use everytab_fetcher::{Heartbeat, ItemIsolation, Trouble};
use everytab_storage::{StorageError, StorageErrorKind};

use crate::{
    context::Context,
    outage::{StoreFailure, StoreOutage},
    scan_settings::ScanSettings,
    stats::Stats,
};

/// A job of a scan with what it is about.
#[derive(Debug, Clone)]
pub struct ScanAssignment {
    /// The scan's number in this database.
    pub scan: i32,
    /// The kind of the job.
    pub kind: JobKind,
    /// The number of the shard, the index file or the hostname range.
    pub part: i32,
    /// The number of the lease, which is part of the names of objects that are not a pure function
    /// of their inputs.
    pub lease_number: i32,
    /// The scan.
    pub info: ScanInfo,
    /// The scan's settings.
    pub settings: ScanSettings,
    /// Grows with every item that was handled.
    pub heartbeat: Heartbeat,
    /// Whether items are handled one at a time, and where the current one is recorded.
    pub isolation: ItemIsolation,
}

impl ScanAssignment {
    /// Loads the scan of a lease.
    ///
    /// # Errors
    /// When Postgres cannot be asked, or the scan's settings are not understood.
    pub(crate) async fn load(
        coordinator: &Coordinator,
        lease: &Lease,
        heartbeat: Heartbeat,
        isolation: ItemIsolation,
    ) -> Result<Self, JobError> {
        let info = coordinator.load_scan(lease.run).await?;
        let settings = serde_json::from_value(info.settings.clone()).map_err(|error| {
            JobError::Discard(format!("the scan's settings are not understood: {error}"))
        })?;
        Ok(Self {
            scan: lease.run,
            kind: lease.kind,
            part: lease.part,
            lease_number: lease.fence.lease_number,
            info,
            settings,
            heartbeat,
            isolation,
        })
    }
}

/// What a job hands back after it was performed.
#[derive(Debug)]
pub struct PerformedJob {
    /// The rows to record.
    pub output: Output,
    /// The counts; outcomes add up to inputs.
    pub stats: Stats,
}

/// Why a job could not be performed. What a site answers is an outcome, never an error.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The same job may succeed later.
    #[error("{0}")]
    Retry(String),
    /// The job cannot succeed.
    #[error("{0}")]
    Discard(String),
    /// A store did not do what the job asked of it.
    #[error("{}", .0.reason)]
    Store(StoreFailure),
    /// A store cannot be reached or refuses. The job is given back without counting an attempt, and
    /// the worker takes no jobs that need the store until it answers.
    #[error("{0}")]
    Outage(Box<StoreOutage>),
    /// A store of a live crawl does not serve the job. The job is given back without counting an
    /// attempt, and the worker takes no jobs of the kind for a while.
    #[error("{0}")]
    StoreAway(String),
    /// A disk or a store has no room, or this process has no free file descriptor. The job is given
    /// back without counting an attempt, and the worker takes no jobs of the kind for a while.
    #[error("{0}")]
    NoRoom(String),
    /// The database has a schema of another version. The job is given back without counting an
    /// attempt, and the worker takes no jobs of the kind for a while.
    #[error("{0}")]
    OtherSchema(String),
    /// This machine or its network failed. The job is given back without counting an attempt.
    #[error("{trouble}")]
    Trouble {
        /// What failed.
        trouble: Trouble,
        /// Hostnames of the shard: when the resolver answers for them, the network is back.
        canaries: Vec<String>,
    },
}

impl From<StorageError> for JobError {
    /// An object that is missing or malformed stays so: the job is discarded. A refusal or a broken
    /// network can be repaired, and then the same job succeeds.
    fn from(error: StorageError) -> Self {
        match error.kind() {
            StorageErrorKind::NotFound | StorageErrorKind::Invalid => {
                Self::Discard(error.to_string())
            }
            StorageErrorKind::NoSpace => Self::NoRoom(error.to_string()),
            StorageErrorKind::Denied | StorageErrorKind::Unreachable => Self::Store(StoreFailure {
                place: error.place().to_owned(),
                reason: error.to_string(),
                is_refused: error.kind() == StorageErrorKind::Denied,
                is_of_the_store: error.is_overload(),
            }),
            _ => Self::Retry(error.to_string()),
        }
    }
}

impl From<everytab_coordinator::Error> for JobError {
    /// A schema of another version is no fault of the job: the job is given back uncounted, for a
    /// worker of that version. Values that Postgres refused it refuses again. Any other error may
    /// pass, be it a lost connection or a disk of the server that cannot be read: the attempts of a
    /// job are counted, so it is not tried for ever.
    fn from(error: everytab_coordinator::Error) -> Self {
        if error.is_other_schema() {
            Self::OtherSchema(error.to_string())
        } else if error.is_fault_of_values() {
            Self::Discard(error.to_string())
        } else {
            Self::Retry(error.to_string())
        }
    }
}

impl From<IndexError> for JobError {
    fn from(error: IndexError) -> Self {
        Self::Discard(error.to_string())
    }
}

/// Does work on a blocking thread, and waits for it. A panic there fails the job, not the worker.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JobError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| JobError::Retry(format!("a blocking task ended early: {error}")))
}

/// One kind of job of a scan.
pub(crate) trait Job {
    /// What the job works on.
    type Input: Send;

    /// Reads the input from Postgres.
    async fn load(coordinator: &Coordinator, job: &ScanAssignment)
    -> Result<Self::Input, JobError>;

    /// Performs the job.
    async fn perform(
        context: &Context,
        job: &ScanAssignment,
        input: Self::Input,
    ) -> Result<PerformedJob, JobError>;
}
