//! The registry of job kinds, and the shape that every job has: load its input (Postgres), run
//! (no database), and hand back rows and counts for the one completion.

mod bundle_shard;
mod icon;
mod icon_archive;
mod index;
mod job;
mod preview;
mod publish;
mod scan_numbers;
mod search;
mod stats;
mod warc;

use everytab_coordinator::{Coordinator, JobKind};
use tracing::Instrument as _;

use self::job::Job;
use crate::context::Context;

pub use job::{Assignment, Done, JobError};
pub use publish::{PublishRequest, publish_site};
pub use scan_numbers::duration_seconds;
pub use search::{MergedRange, merge_range};
pub use stats::Stats;
pub use warc::read_home_pages;

async fn load_and_run<J: Job>(
    coordinator: &Coordinator,
    context: &Context,
    job: &Assignment,
) -> Result<Done, JobError> {
    let input = J::load(coordinator, job).instrument(tracing::info_span!("load")).await?;
    J::run(context, job, input).instrument(tracing::info_span!("run")).await
}

/// Loads and runs a job: one line a kind, in pipeline order.
///
/// # Errors
/// [`JobError`], which says what becomes of the job.
pub async fn perform(
    coordinator: &Coordinator,
    context: &Context,
    job: &Assignment,
) -> Result<Done, JobError> {
    match job.kind {
        JobKind::Index => load_and_run::<index::Index>(coordinator, context, job).await,
        JobKind::Warc => load_and_run::<warc::Warc>(coordinator, context, job).await,
        JobKind::Icon => load_and_run::<icon::Icon>(coordinator, context, job).await,
        JobKind::BundleShard => {
            load_and_run::<bundle_shard::BundleShard>(coordinator, context, job).await
        }
        JobKind::Search => load_and_run::<search::Search>(coordinator, context, job).await,
        JobKind::Publish => load_and_run::<publish::Publish>(coordinator, context, job).await,
    }
}
