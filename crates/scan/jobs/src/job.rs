//! The types that all jobs of a scan share. While a job runs, it reaches Postgres only through its
//! assignment's item journal.

use everytab_coordinator::{Coordinator, JobKind, Lease, ScanInfo};
use everytab_fetcher::{Heartbeat, ItemIsolation};
use everytab_job_result::{JobError, PerformedJob};
use uuid::Uuid;

use crate::{context::Context, scan_settings::ScanSettings};

/// A leased job, with its scan.
#[derive(Debug, Clone)]
pub struct ScanAssignment {
    /// The scan's number in this database.
    pub scan: i32,
    /// The job's kind.
    pub kind: JobKind,
    /// The number of the job's shard, index file, hostname range or map region.
    pub part: i32,
    /// The lease number. With the token, it distinguishes the names of objects that are not a pure
    /// function of their inputs.
    pub lease_number: i32,
    /// The lease's token.
    pub lease_token: Uuid,
    /// The scan that this job belongs to.
    pub info: ScanInfo,
    /// The scan's settings.
    pub settings: ScanSettings,
    /// Counts the items handled so far, which shows that this job makes progress.
    pub heartbeat: Heartbeat,
    /// Whether items are handled one at a time, and where the current one is recorded.
    pub isolation: ItemIsolation,
}

impl ScanAssignment {
    /// Loads a lease's scan.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or the scan's settings cannot be parsed.
    pub async fn load(
        coordinator: &Coordinator,
        lease: &Lease,
        heartbeat: Heartbeat,
        isolation: ItemIsolation,
    ) -> Result<Self, JobError> {
        let info = coordinator.load_scan(lease.run).await?;
        let settings = serde_json::from_value(info.settings.clone()).map_err(|error| {
            JobError::Discard(format!("cannot parse the scan's settings: {error}"))
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

pub(crate) trait Job {
    type Input: Send;

    async fn load(coordinator: &Coordinator, job: &ScanAssignment)
    -> Result<Self::Input, JobError>;

    async fn perform(
        context: &Context,
        job: &ScanAssignment,
        input: Self::Input,
    ) -> Result<PerformedJob, JobError>;
}
