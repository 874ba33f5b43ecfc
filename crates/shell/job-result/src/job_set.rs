//! The jobs of a product that the runner does not know.

use std::fmt::Debug;

use async_trait::async_trait;
use everytab_coordinator::{Coordinator, JobKind};
use everytab_fetcher::Heartbeat;

use crate::{job_error::JobError, performed_job::PerformedJob};

/// A job that a worker has leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssignedJob {
    /// The run's number in this database.
    pub run: i32,
    /// The kind of the job.
    pub kind: JobKind,
    /// The job's number among those of its kind in the run.
    pub part: i32,
}

/// A set of job kinds, with the code that performs them. A program passes it to the runner.
#[async_trait]
pub trait JobSet: Debug + Send + Sync {
    /// Returns how many jobs of a kind a worker may perform concurrently. 0 if the kind is not in
    /// the set.
    fn concurrent_jobs(&self, kind: JobKind) -> usize;

    /// Loads the input of a job from Postgres, and performs it. The job beats `heartbeat` while it
    /// makes progress.
    ///
    /// # Errors
    /// Returns a [`JobError`], which determines the next step for the job.
    async fn perform(
        &self,
        coordinator: &Coordinator,
        job: AssignedJob,
        heartbeat: Heartbeat,
    ) -> Result<PerformedJob, JobError>;
}
