//! The interface between the runner and a product's jobs.

use std::fmt::Debug;

use async_trait::async_trait;
use everytab_coordinator::{Coordinator, JobKind};
use everytab_fetcher::Heartbeat;

use crate::{job_error::JobError, performed_job::PerformedJob};

/// A job that a worker has leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssignedJob {
    /// The run's id in this database.
    pub run: i32,
    /// The kind of the job.
    pub kind: JobKind,
    /// The job's index among the run's jobs of this kind.
    pub part: i32,
}

/// A set of job kinds, with the code that performs the jobs.
#[async_trait]
pub trait JobSet: Debug + Send + Sync {
    /// Returns how many jobs of a kind a worker may run concurrently.
    fn concurrent_jobs(&self, kind: JobKind) -> usize;

    /// Loads the input of a job from Postgres, and performs the job. The job beats `heartbeat`
    /// while it makes progress.
    ///
    /// # Errors
    /// Returns a [`JobError`], which determines whether the job is retried, released or discarded.
    async fn perform(
        &self,
        coordinator: &Coordinator,
        job: AssignedJob,
        heartbeat: Heartbeat,
    ) -> Result<PerformedJob, JobError>;
}
