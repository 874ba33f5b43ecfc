//! The registry: one line per job kind, in pipeline order.

use everytab_coordinator::{Coordinator, JobKind};
use everytab_job_result::{JobError, PerformedJob};
use everytab_storage::StorageError;
use tracing::Instrument as _;

use crate::{
    bundle_shard::BundleShard,
    context::Context,
    icon::Icon,
    index::Index,
    job::{Job, ScanAssignment},
    map::DrawMap,
    outage::{ScanStore, StoreOutage},
    publish::Publish,
    search::Search,
    store_tokens,
    warc::Warc,
};

/// Why a scan's job could not be performed.
#[derive(Debug, thiserror::Error)]
pub enum ScanJobError {
    /// The job failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A store cannot be reached, denies access or is not the scan's. The job is released without
    /// counting an attempt, and the worker leases no jobs that need this store until it responds.
    #[error("{0}")]
    Outage(Box<StoreOutage>),
}

impl From<StorageError> for ScanJobError {
    fn from(error: StorageError) -> Self {
        Self::Job(error.into())
    }
}

async fn load_and_perform<J: Job>(
    coordinator: &Coordinator,
    context: &Context,
    job: &ScanAssignment,
) -> Result<PerformedJob, JobError> {
    let input = J::load(coordinator, job).instrument(tracing::info_span!("load")).await?;
    J::perform(context, job, input).instrument(tracing::info_span!("perform")).await
}

/// Loads a job's input from Postgres, and performs the job without a database.
///
/// # Errors
/// Returns a [`ScanJobError`], which determines what the worker does with the job.
pub async fn perform_job(
    coordinator: &Coordinator,
    context: &Context,
    job: &ScanAssignment,
) -> Result<PerformedJob, ScanJobError> {
    match perform_in_its_stores(coordinator, context, job).await {
        Err(ScanJobError::Job(JobError::Store(failed))) => {
            let outage = StoreOutage::of(&failed, job.kind, &job.info, &job.settings);
            Err(if outage.is_confirmed(&failed, context).await {
                ScanJobError::Outage(Box::new(outage))
            } else {
                JobError::Retry(failed.reason).into()
            })
        }
        performed => performed,
    }
}

/// Checks the tokens again after the job, because if a disk was unmounted, the job has written
/// below the mount point.
async fn perform_in_its_stores(
    coordinator: &Coordinator,
    context: &Context,
    job: &ScanAssignment,
) -> Result<PerformedJob, ScanJobError> {
    recognise_stores(context, job, |_| true).await?;
    let performed = perform_by_kind(coordinator, context, job).await?;
    recognise_stores(context, job, |url| !url.starts_with("s3://")).await?;
    Ok(performed)
}

async fn recognise_stores(
    context: &Context,
    job: &ScanAssignment,
    is_checked: impl Fn(&str) -> bool,
) -> Result<(), ScanJobError> {
    let ScanAssignment { kind, info, settings, .. } = job;
    for store in ScanStore::ALL.into_iter().filter(|store| store.kinds().contains(kind)) {
        let Some(url) = store.written_url(settings).filter(|url| is_checked(url)) else {
            continue;
        };
        let opened = context.store(url).await?;
        if let Some(reason) = store_tokens::fault(&*opened, info.scan_id).await? {
            let outage = StoreOutage::of_other_store(store, reason, info, settings);
            return Err(ScanJobError::Outage(Box::new(outage)));
        }
    }
    Ok(())
}

async fn perform_by_kind(
    coordinator: &Coordinator,
    context: &Context,
    job: &ScanAssignment,
) -> Result<PerformedJob, JobError> {
    match job.kind {
        JobKind::Index => load_and_perform::<Index>(coordinator, context, job).await,
        JobKind::Warc => load_and_perform::<Warc>(coordinator, context, job).await,
        JobKind::Icon => load_and_perform::<Icon>(coordinator, context, job).await,
        JobKind::BundleShard => load_and_perform::<BundleShard>(coordinator, context, job).await,
        JobKind::Search => load_and_perform::<Search>(coordinator, context, job).await,
        JobKind::Map => load_and_perform::<DrawMap>(coordinator, context, job).await,
        JobKind::Publish => load_and_perform::<Publish>(coordinator, context, job).await,
        JobKind::CrawlIndex | JobKind::CrawlClose => {
            Err(JobError::Discard(format!("a scan has no job of kind {}", job.kind)))
        }
    }
}
