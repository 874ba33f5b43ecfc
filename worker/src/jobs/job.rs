//! What every job has in common: an assignment, how it is loaded and run, what it hands back, and
//! why it may fail.
//!
//! Invariant: a run reaches Postgres through the item journal of its assignment only.
//! Must not know: which kinds of jobs there are.

use everytab_commoncrawl::index::IndexError;
use everytab_coordinator::{Coordinator, JobKind, Lease, Output, ScanInfo};
use everytab_fetcher::{Heartbeat, ItemIsolation, Trouble};
use everytab_storage::{StorageError, StorageErrorKind};

use super::stats::Stats;
use crate::{context::Context, scan_settings::ScanSettings};

/// A job as its run sees it.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The scan's number in this database.
    pub scan: i32,
    /// What to do.
    pub kind: JobKind,
    /// Shard, index file or hostname range.
    pub part: i32,
    /// Names objects that are not a pure function of their inputs.
    pub lease_number: i32,
    /// The scan.
    pub info: ScanInfo,
    /// The scan's settings.
    pub settings: ScanSettings,
    /// Beats with every item that was handled.
    pub heartbeat: Heartbeat,
    /// Whether items are handled one at a time, and where the current one is recorded. It is the
    /// only way from a run to Postgres.
    pub isolation: ItemIsolation,
}

impl Assignment {
    /// What a lease is about, with its scan.
    ///
    /// # Errors
    /// When Postgres cannot be asked, or the scan's settings are not understood.
    pub async fn load(
        coordinator: &Coordinator,
        lease: &Lease,
        heartbeat: Heartbeat,
        isolation: ItemIsolation,
    ) -> Result<Self, JobError> {
        let info = coordinator.load_scan(lease.scan).await?;
        let settings = serde_json::from_value(info.settings.clone()).map_err(|error| {
            JobError::Discard(format!("the scan's settings are not understood: {error}"))
        })?;
        Ok(Self {
            scan: lease.scan,
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

/// What a run hands back.
#[derive(Debug)]
pub struct Done {
    /// Rows to record.
    pub output: Output,
    /// Counts; outcomes add up to inputs.
    pub stats: Stats,
}

/// Why a run did not end well. The web's refusals are outcomes, never errors.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// May go better another time.
    #[error("{0}")]
    Retry(String),
    /// Cannot go better.
    #[error("{0}")]
    Discard(String),
    /// A disk or a store has no room, or this process no file left: given back uncounted, and the
    /// worker leaves jobs of the kind alone for a while.
    #[error("{0}")]
    NoRoom(String),
    /// Our own trouble: given back uncounted. The names may tell when the network is back.
    #[error("{trouble}")]
    Trouble {
        /// What is wrong with us.
        trouble: Trouble,
        /// Hostnames of the shard, to ask the resolver about.
        canaries: Vec<String>,
    },
}

impl From<StorageError> for JobError {
    /// What is not there or makes no sense stays so. A refusal or a broken network is somebody's to
    /// mend, and then the same job goes well.
    fn from(error: StorageError) -> Self {
        match error.kind() {
            StorageErrorKind::NotFound | StorageErrorKind::Invalid => {
                Self::Discard(error.to_string())
            }
            StorageErrorKind::NoSpace => Self::NoRoom(error.to_string()),
            _ => Self::Retry(error.to_string()),
        }
    }
}

impl From<everytab_coordinator::Error> for JobError {
    fn from(error: everytab_coordinator::Error) -> Self {
        Self::Retry(error.to_string())
    }
}

impl From<IndexError> for JobError {
    fn from(error: IndexError) -> Self {
        Self::Discard(error.to_string())
    }
}

/// Waits for work on a blocking thread; a panic there fails the run, not the worker.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JobError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| JobError::Retry(format!("a blocking task ended early: {error}")))
}

/// One kind of job.
pub(super) trait Job {
    /// What it works on.
    type Input: Send;

    /// Reads the input from Postgres.
    async fn load(coordinator: &Coordinator, job: &Assignment) -> Result<Self::Input, JobError>;

    /// Does the work. It reaches Postgres through the item journal of the assignment only.
    async fn run(context: &Context, job: &Assignment, input: Self::Input)
    -> Result<Done, JobError>;
}
