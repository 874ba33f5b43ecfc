//! What every job has in common: the assignment, loading and performing it, its result, and its
//! errors.
//!
//! Invariant: while a job is performed, it reaches Postgres only through its assignment's item
//! journal.
//!
//! This does not depend on which kinds of jobs exist.

use everytab_commoncrawl::index::IndexError;
use everytab_coordinator::{Coordinator, JobKind, Lease, Output, ScanInfo};
use everytab_fetcher::{Heartbeat, ItemIsolation};
use everytab_storage::{StorageError, StorageErrorKind};
use uuid::Uuid;

use crate::{
    context::Context,
    outage::{StoreFailure, StoreOutage},
    scan_settings::ScanSettings,
    stats::Stats,
};

/// A job of a scan, with the scan.
#[derive(Debug, Clone)]
pub struct ScanAssignment {
    /// The scan's number in this database.
    pub scan: i32,
    /// The kind of the job.
    pub kind: JobKind,
    /// The number of the shard, the index file or the hostname range.
    pub part: i32,
    /// The lease number. With the token it belongs to the names of objects that are not a pure
    /// function of their inputs.
    pub lease_number: i32,
    /// The lease's token.
    pub lease_token: Uuid,
    /// The scan.
    pub info: ScanInfo,
    /// The scan's settings.
    pub settings: ScanSettings,
    /// Counts the items handled so far.
    pub heartbeat: Heartbeat,
    /// Whether items are handled one at a time, and where the current one is recorded.
    pub isolation: ItemIsolation,
}

impl ScanAssignment {
    /// Loads a lease's scan.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or the scan's settings cannot be parsed.
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
            lease_token: lease.fence.token,
            info,
            settings,
            heartbeat,
            isolation,
        })
    }
}

/// Result of a job that was performed.
#[derive(Debug)]
pub struct PerformedJob {
    /// The rows to record.
    pub output: Output,
    /// The counts; the outcomes add up to the inputs.
    pub stats: Stats,
}

/// Why a job could not be performed. A site's response is an outcome, never an error.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The job may succeed later.
    #[error("{0}")]
    Retry(String),
    /// The job cannot succeed.
    #[error("{0}")]
    Discard(String),
    /// A request to a store failed.
    #[error("{}", .0.reason)]
    Store(StoreFailure),
    /// A store cannot be reached or denies access. The job is released without counting an attempt,
    /// and the worker leases no jobs that need the store until it responds.
    #[error("{0}")]
    Outage(Box<StoreOutage>),
    /// A store of a live crawl is unavailable. The job is released without counting an attempt, and
    /// the worker leases no jobs of this kind for a while.
    #[error("{0}")]
    StoreAway(String),
    /// A disk or store is full, or this process has no free file descriptor. The job is released
    /// without counting an attempt, and the worker leases no jobs of this kind for a while.
    #[error("{0}")]
    NoRoom(String),
    /// Postgres did not respond in time, the connection broke, or a lock was not free in time. The
    /// job is released without counting an attempt, `scan status` shows why, and the worker leases
    /// no jobs of this kind for a while.
    #[error("{0}")]
    DatabaseAway(String),
    /// The database has another schema version. The job is released without counting an attempt,
    /// and the worker leases no jobs of this kind for a while.
    #[error("{0}")]
    OtherSchema(String),
    /// This host or its network failed. The job is released without counting an attempt.
    #[error("{0}")]
    LocalFailure(String),
}

impl From<StorageError> for JobError {
    /// An object that is missing or malformed remains so, and the job is discarded. Denied access
    /// or a broken network can be repaired, after which the job can succeed.
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
    /// Another schema version is not the job's fault: the job is released without counting an
    /// attempt, for a worker of that version. Neither is a database that is slow, locked or away:
    /// the job waits until it responds. A statement that always takes too long for this job alone
    /// cannot be distinguished from that, so this job waits too, and `scan status` shows it. Values
    /// that Postgres rejected once would be rejected again. Any other error may pass, such as a
    /// failing disk of the server, but a job's attempts are counted, so it is not retried forever.
    fn from(error: everytab_coordinator::Error) -> Self {
        if error.is_other_schema() {
            Self::OtherSchema(error.to_string())
        } else if error.is_transient() {
            Self::DatabaseAway(error.to_string())
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

/// Runs `work` on a blocking thread and waits for it. A panic there fails the job, not the worker.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JobError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| JobError::Retry(format!("a blocking task ended early: {error}")))
}

/// One kind of job of a scan.
pub(crate) trait Job {
    /// The data that the job works on.
    type Input: Send;

    /// Loads the input from Postgres.
    async fn load(coordinator: &Coordinator, job: &ScanAssignment)
    -> Result<Self::Input, JobError>;

    /// Performs the job.
    async fn perform(
        context: &Context,
        job: &ScanAssignment,
        input: Self::Input,
    ) -> Result<PerformedJob, JobError>;
}

#[cfg(test)]
mod tests {
    use everytab_coordinator::Error;

    use super::JobError;

    #[test]
    fn a_database_that_is_away_costs_a_job_no_attempt() {
        let refused =
            Error::Connect { place: "host/db".into(), reason: "refused".into(), transient: true };
        for error in [Error::TimedOut, Error::Closed, refused] {
            let (text, failure) = (error.to_string(), JobError::from(error));
            assert!(matches!(failure, JobError::DatabaseAway(_)), "{text}: {failure:?}");
        }
        let unknown = JobError::from(Error::Unexpected("a value".into()));
        assert!(matches!(unknown, JobError::Discard(_)), "{unknown:?}");
    }
}
