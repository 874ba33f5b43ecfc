//! Why a job failed, with the effect on the job.

use everytab_commoncrawl::index::IndexError;
use everytab_storage::{StorageError, StorageErrorKind};

/// A store request that was denied, or that failed because the store is unreachable or overloaded.
#[derive(Debug)]
pub struct StoreFailure {
    /// The URL or path of the object or store.
    pub place: String,
    /// The error message.
    pub reason: String,
    /// Whether a reachable store denied access.
    pub is_refused: bool,
    /// Whether the store is known to be at fault, because it is overloaded or denies most requests.
    pub is_of_the_store: bool,
}

/// Why a job failed. A site's error response is an outcome and never a job error.
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
    /// A store of a live crawl is unavailable. The job is released without counting an attempt.
    #[error("{0}")]
    StoreAway(String),
    /// A disk or store is full, or this process has no free file descriptor. The job is released
    /// without counting an attempt.
    #[error("{0}")]
    NoRoom(String),
    /// Postgres did not respond in time, the connection broke, or a lock was not free in time. The
    /// job is released without counting an attempt, and `scan status` shows why.
    #[error("{0}")]
    DatabaseAway(String),
    /// The database has another schema version. The job is released without counting an attempt.
    #[error("{0}")]
    OtherSchema(String),
    /// This host or its network failed. The job is released without counting an attempt.
    #[error("{0}")]
    LocalFailure(String),
}

impl From<StorageError> for JobError {
    /// A missing or malformed object will not appear or change, so the job is discarded.
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
    /// A slow, locked or unreachable database is not the job's fault, so the job waits. Postgres
    /// would reject the same values again, so such a job is discarded. Any other error may be
    /// temporary, so the job is retried and its attempts are counted.
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

/// Runs `work` on a blocking thread. A panic there fails the job, not the worker.
///
/// # Errors
/// Returns an error if `work` panicked.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JobError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| JobError::Retry(format!("a blocking task failed: {error}")))
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
            let text = error.to_string();
            let failure = JobError::from(error);
            assert!(matches!(failure, JobError::DatabaseAway(_)), "{text}: {failure:?}");
        }
        let unknown = JobError::from(Error::Unexpected("a value".into()));
        assert!(matches!(unknown, JobError::Discard(_)), "{unknown:?}");
    }
}
