//! The registry: one line per kind of job, in pipeline order.
//!
//! This does not depend on scheduling.

use everytab_coordinator::{Coordinator, JobKind, Lease};
use everytab_fetcher::{Heartbeat, ItemIsolation};
use tracing::Instrument as _;

use crate::{
    bundle_shard::BundleShard,
    context::Context,
    crawl_close, crawl_index,
    crawl_run::CrawlAssignment,
    icon::Icon,
    index::Index,
    job::{Job, JobError, PerformedJob, ScanAssignment},
    map::DrawMap,
    outage::{ScanStore, StoreOutage},
    publish::Publish,
    search::Search,
    store_tokens,
    warc::Warc,
};

/// A job with its scan or crawl.
#[derive(Debug, Clone)]
pub enum Assignment {
    /// A job of a scan.
    Scan(Box<ScanAssignment>),
    /// A job of a finished live crawl.
    Crawl(CrawlAssignment),
}

impl Assignment {
    /// Loads the scan or crawl of a lease.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or its values are invalid.
    pub async fn load(
        coordinator: &Coordinator,
        lease: &Lease,
        heartbeat: Heartbeat,
        isolation: ItemIsolation,
    ) -> Result<Self, JobError> {
        if JobKind::OF_CRAWLS.contains(&lease.kind) {
            let job = CrawlAssignment::load(coordinator, lease, heartbeat).await?;
            return Ok(Self::Crawl(job));
        }
        let job = ScanAssignment::load(coordinator, lease, heartbeat, isolation).await?;
        Ok(Self::Scan(Box::new(job)))
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

/// Loads the input of a job from Postgres, and performs it without a database.
///
/// # Errors
/// Returns a [`JobError`], which determines the next step for the job.
pub async fn perform_job(
    coordinator: &Coordinator,
    context: &Context,
    job: &Assignment,
) -> Result<PerformedJob, JobError> {
    match job {
        Assignment::Scan(job) => perform_scan_job(coordinator, context, job).await,
        Assignment::Crawl(job) => {
            let performed = perform_crawl_job(coordinator, context, job).await;
            performed.map_err(|error| match error {
                // Denied access is retried a few times, and then reported as the reason for the
                // job's failure.
                JobError::Store(failed) if failed.is_refused => JobError::Retry(failed.reason),
                JobError::Store(failed) => JobError::StoreAway(failed.reason),
                error => error,
            })
        }
    }
}

async fn perform_scan_job(
    coordinator: &Coordinator,
    context: &Context,
    job: &ScanAssignment,
) -> Result<PerformedJob, JobError> {
    match perform_in_its_stores(coordinator, context, job).await {
        Err(JobError::Store(failed)) => {
            let outage = StoreOutage::of(&failed, job.kind, &job.info, &job.settings);
            Err(match outage.is_confirmed(&failed, context).await {
                true => JobError::Outage(Box::new(outage)),
                false => JobError::Retry(failed.reason),
            })
        }
        performed => performed,
    }
}

/// Performs a job, and checks the scan's tokens before and afterwards. If a disk is unmounted in
/// between, the job has written to the directory below the mount point.
async fn perform_in_its_stores(
    coordinator: &Coordinator,
    context: &Context,
    job: &ScanAssignment,
) -> Result<PerformedJob, JobError> {
    recognise_stores(context, job, |_| true).await?;
    let performed = perform_by_kind(coordinator, context, job).await?;
    recognise_stores(context, job, |url| !url.starts_with("s3://")).await?;
    Ok(performed)
}

/// Checks that the stores that a job needs, and whose URL `is_checked`, hold the scan's tokens.
///
/// # Errors
/// Returns an outage if a store has no token, and an error if it cannot be reached.
async fn recognise_stores(
    context: &Context,
    job: &ScanAssignment,
    is_checked: impl Fn(&str) -> bool,
) -> Result<(), JobError> {
    let ScanAssignment { kind, info, settings, .. } = job;
    for store in ScanStore::ALL.into_iter().filter(|store| store.kinds().contains(kind)) {
        let Some(url) = store.written_url(settings).filter(|url| is_checked(url)) else {
            continue;
        };
        let opened = context.store(url).await?;
        if let Some(reason) = store_tokens::fault(&*opened, info.scan_id).await? {
            let outage = StoreOutage::of_other_store(store, reason, info, settings);
            return Err(JobError::Outage(Box::new(outage)));
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

async fn perform_crawl_job(
    coordinator: &Coordinator,
    context: &Context,
    job: &CrawlAssignment,
) -> Result<PerformedJob, JobError> {
    let (loading, performing) = (tracing::info_span!("load"), tracing::info_span!("perform"));
    match job.kind {
        JobKind::CrawlIndex => {
            let input = crawl_index::load(coordinator, context, job).instrument(loading).await?;
            crawl_index::perform(context, job, input).instrument(performing).await
        }
        JobKind::CrawlClose => {
            let input = crawl_close::load(coordinator, job).instrument(loading).await?;
            crawl_close::perform(context, job, input).instrument(performing).await
        }
        _ => Err(JobError::Discard(format!("a live crawl has no job of kind {}", job.kind))),
    }
}
