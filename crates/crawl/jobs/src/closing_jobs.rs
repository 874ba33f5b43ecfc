//! The closing jobs that the runner performs.

use std::path::PathBuf;

use async_trait::async_trait;
use everytab_coordinator::{Coordinator, JobKind};
use everytab_fetcher::Heartbeat;
use everytab_job_result::{AssignedJob, JobError, JobSet, PerformedJob};
use everytab_storage::StoreSettings;
use tracing::Instrument as _;

use crate::{context::Context, crawl_close, crawl_index, crawl_run::CrawlAssignment};

/// The jobs that finish live crawls.
#[derive(Debug)]
pub struct ClosingJobs {
    context: Context,
}

impl ClosingJobs {
    /// Creates the set. Temporary files are written into `temporary`.
    #[must_use]
    pub fn new(settings: StoreSettings, temporary: PathBuf) -> Self {
        Self { context: Context::new(settings, temporary) }
    }

    async fn load_and_perform(
        &self,
        coordinator: &Coordinator,
        job: AssignedJob,
        heartbeat: Heartbeat,
    ) -> Result<PerformedJob, JobError> {
        let (loading, performing) = (tracing::info_span!("load"), tracing::info_span!("perform"));
        let context = &self.context;
        let job = Box::pin(CrawlAssignment::load(coordinator, job, heartbeat)).await?;
        // Box each job's future, because the compiler limits how deep futures may be nested.
        match job.kind {
            JobKind::CrawlIndex => {
                let load = Box::pin(crawl_index::load(coordinator, context, &job));
                let input = load.instrument(loading).await?;
                let perform = Box::pin(crawl_index::perform(context, &job, input));
                perform.instrument(performing).await
            }
            JobKind::CrawlClose => {
                let load = Box::pin(crawl_close::load(coordinator, &job));
                let input = load.instrument(loading).await?;
                let perform = Box::pin(crawl_close::perform(context, &job, input));
                perform.instrument(performing).await
            }
            _ => {
                Err(JobError::Discard(format!("unexpected job kind in a live crawl: {}", job.kind)))
            }
        }
    }
}

#[async_trait]
impl JobSet for ClosingJobs {
    fn concurrent_jobs(&self, kind: JobKind) -> usize {
        match kind {
            JobKind::CrawlIndex => crawl_index::CONCURRENT_JOBS,
            JobKind::CrawlClose => 1,
            _ => 0,
        }
    }

    async fn perform(
        &self,
        coordinator: &Coordinator,
        job: AssignedJob,
        heartbeat: Heartbeat,
    ) -> Result<PerformedJob, JobError> {
        let performed = self.load_and_perform(coordinator, job, heartbeat).await;
        performed.map_err(|error| match error {
            // A denied request is retried a few times, so that the denial is then reported as the
            // reason for the job's failure.
            JobError::Store(failed) if failed.is_refused => JobError::Retry(failed.reason),
            JobError::Store(failed) => JobError::StoreAway(failed.reason),
            error => error,
        })
    }
}
