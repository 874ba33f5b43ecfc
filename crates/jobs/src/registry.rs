//! The registry: one line per kind of job, in pipeline order.
//!
//! Must not know: scheduling.

use everytab_coordinator::{Coordinator, JobKind};
use tracing::Instrument as _;

use crate::{
    bundle_shard::BundleShard,
    context::Context,
    icon::Icon,
    index::Index,
    job::{Assignment, Job, JobError, PerformedJob},
    map::DrawMap,
    outage::StoreOutage,
    publish::Publish,
    search::Search,
    warc::Warc,
};

async fn load_and_perform<J: Job>(
    coordinator: &Coordinator,
    context: &Context,
    job: &Assignment,
) -> Result<PerformedJob, JobError> {
    let input = J::load(coordinator, job).instrument(tracing::info_span!("load")).await?;
    J::perform(context, job, input).instrument(tracing::info_span!("perform")).await
}

/// Loads the input of a job from Postgres, and performs it without a database.
///
/// # Errors
/// [`JobError`], which says what becomes of the job.
pub async fn perform_job(
    coordinator: &Coordinator,
    context: &Context,
    job: &Assignment,
) -> Result<PerformedJob, JobError> {
    let performed = match job.kind {
        JobKind::Index => load_and_perform::<Index>(coordinator, context, job).await,
        JobKind::Warc => load_and_perform::<Warc>(coordinator, context, job).await,
        JobKind::Icon => load_and_perform::<Icon>(coordinator, context, job).await,
        JobKind::BundleShard => load_and_perform::<BundleShard>(coordinator, context, job).await,
        JobKind::Search => load_and_perform::<Search>(coordinator, context, job).await,
        JobKind::Map => load_and_perform::<DrawMap>(coordinator, context, job).await,
        JobKind::Publish => load_and_perform::<Publish>(coordinator, context, job).await,
    };
    match performed {
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
