//! Handles one lease: loads and performs its job. Every lease expires or is ended by exactly one
//! call to Postgres, even if its job panics or hangs.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::{Completion, Coordinator, Error, JobKind, Lease, VerbResult};
use everytab_fetcher::{Heartbeat, ItemIsolation};
use everytab_job_result::{AssignedJob, JobError, JobSet, PerformedJob};
use everytab_jobs::{Context, ScanAssignment, ScanJobError, StoreOutage, perform_job};
use tracing::{Instrument as _, Span};

use crate::{
    item_journal::PostgresJournal,
    lease_outcome::LeaseOutcome,
    leases::{LeaseEnd, LeaseTrust},
    metrics,
};

/// Maximum time in which an aborted job must stop.
const ABORT_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) enum JobEnd {
    Ended,
    Completed,
    /// A store does not serve the job, which was released. `lease` is the lease's duration.
    Outage {
        outage: Box<StoreOutage>,
        lease: Duration,
    },
    LocalFailure,
    /// The job was released for a reason that this worker cannot change, such as missing resources,
    /// a slow or locked Postgres, or another schema version.
    Released,
    /// The job made no progress, and may be stuck permanently.
    Stalled,
}

fn span_of(lease: &Lease) -> Span {
    let has_shard = lease.kind.works_on_a_shard();
    let is_of_crawl = JobKind::OF_CRAWLS.contains(&lease.kind);
    tracing::info_span!(
        "job",
        kind = %lease.kind,
        job = lease.fence.job_id,
        part = (!has_shard).then_some(lease.part),
        shard = has_shard.then_some(lease.part),
        scan = (!is_of_crawl).then(|| tracing::field::display(lease.subject)),
        crawl = is_of_crawl.then(|| tracing::field::display(lease.subject)),
        lease = lease.fence.lease_number,
        end = tracing::field::Empty,
        otel.status_code = tracing::field::Empty,
    )
}

pub(crate) enum JobSource {
    Scan(Context),
    Set(Arc<dyn JobSet>),
}

enum LoadedJob {
    Scan(Context, Box<ScanAssignment>),
    OfSet(Arc<dyn JobSet>, AssignedJob, Heartbeat),
}

impl JobSource {
    /// If several workers have crashed during a scan's job, this job is performed in isolation.
    async fn load(
        self,
        coordinator: &Coordinator,
        lease: &Lease,
        trusted: LeaseTrust,
        heartbeat: Heartbeat,
    ) -> Result<LoadedJob, JobError> {
        let context = match self {
            Self::Scan(context) => context,
            Self::Set(jobs) => {
                let job = AssignedJob { run: lease.run, kind: lease.kind, part: lease.part };
                return Ok(LoadedJob::OfSet(jobs, job, heartbeat));
            }
        };
        let isolation = if lease.uses_isolation {
            let fence = lease.fence;
            let beating = heartbeat.clone();
            let journal = PostgresJournal::load(coordinator, fence, trusted, beating).await?;
            ItemIsolation::by(Arc::new(journal))
        } else {
            ItemIsolation::default()
        };
        let job = ScanAssignment::load(coordinator, lease, heartbeat, isolation).await?;
        Ok(LoadedJob::Scan(context, Box::new(job)))
    }
}

impl LoadedJob {
    async fn perform(self, coordinator: &Coordinator) -> Result<PerformedJob, ScanJobError> {
        match self {
            Self::Scan(context, job) => perform_job(coordinator, &context, &job).await,
            Self::OfSet(jobs, job, heartbeat) => {
                Ok(jobs.perform(coordinator, job, heartbeat).await?)
            }
        }
    }
}

pub(crate) async fn perform_lease(
    coordinator: &Coordinator,
    source: JobSource,
    lease: Lease,
    mut trusted: LeaseTrust,
    heartbeat: Heartbeat,
) -> JobEnd {
    let kind = lease.kind;
    let span = span_of(&lease);
    let started = Instant::now();
    let work = {
        let coordinator = coordinator.clone();
        let loaded = source.load(&coordinator, &lease, trusted.clone(), heartbeat).await;
        async move { loaded?.perform(&coordinator).await }
    };
    // A panic in the separate task ends only the job, and this function keeps the lease.
    let mut work = tokio::spawn(work.instrument(span.clone()));
    let result = tokio::select! {
        done = &mut work => done.unwrap_or_else(|error| {
            Err(JobError::Retry(format!("the job ended early: {error}")).into())
        }),
        end = trusted.ended() => {
            work.abort();
            // The job must not write after its lease is released. A job that never awaits cannot be
            // aborted.
            let is_stuck = tokio::time::timeout(ABORT_TIMEOUT, work).await.is_err();
            let reason = end.as_str();
            let outcome = end.outcome();
            span.record("end", outcome.as_str());
            span.in_scope(|| tracing::warn!(reason, "the job was aborted"));
            if end == LeaseEnd::Released && !is_stuck {
                let given = coordinator.release(lease, reason, trusted.until());
                let _ = metrics::call("release", given).await;
            }
            metrics::job_ended(kind, outcome, started.elapsed());
            let has_stalled = is_stuck || end == LeaseEnd::Stalled;
            return if has_stalled { JobEnd::Stalled } else { JobEnd::Ended };
        }
    };
    let ending = span.in_scope(|| tracing::info_span!("complete"));
    let EndedLease { call, result, job_end } =
        end_lease(coordinator, lease, result, &trusted, &span).instrument(ending).await;
    let outcome = result.as_ref().map_or(LeaseOutcome::Unknown, |outcome| *outcome);
    metrics::job_ended(kind, outcome, started.elapsed());
    span.record("end", outcome.as_str());
    if outcome.is_failure() {
        span.record("otel.status_code", "ERROR");
    }
    let verb = call;
    span.in_scope(|| match result {
        Ok(outcome) => {
            let outcome = outcome.as_str();
            let seconds = started.elapsed().as_secs_f32();
            tracing::info!(verb, outcome, seconds);
        }
        Err(error) => tracing::error!(verb, %error, "the lease will expire by itself"),
    });
    job_end
}

struct EndedLease {
    call: &'static str,
    result: Result<LeaseOutcome, Error>,
    job_end: JobEnd,
}

async fn end_lease(
    coordinator: &Coordinator,
    lease: Lease,
    result: Result<PerformedJob, ScanJobError>,
    trusted: &LeaseTrust,
    span: &Span,
) -> EndedLease {
    let until = trusted.until();
    let (call, result, job_end) = match result {
        Ok(job) => {
            ("complete", complete(coordinator, lease, job, trusted).await, JobEnd::Completed)
        }
        Err(ScanJobError::Outage(outage)) => {
            span.in_scope(|| tracing::warn!(%outage, "releasing the job"));
            let length = lease.length;
            let released = release(coordinator, lease, &outage.to_string(), until).await;
            ("release", released, JobEnd::Outage { outage, lease: length })
        }
        Err(ScanJobError::Job(error)) => end_failed(coordinator, lease, error, until, span).await,
    };
    EndedLease { call, result, job_end }
}

async fn end_failed(
    coordinator: &Coordinator,
    lease: Lease,
    error: JobError,
    until: Instant,
    span: &Span,
) -> (&'static str, Result<LeaseOutcome, Error>, JobEnd) {
    match error {
        error @ (JobError::Retry(_) | JobError::Store(_)) => {
            let reason = error.to_string();
            span.in_scope(|| tracing::warn!(reason, "the job failed; it will be retried"));
            let call = coordinator.retry(lease, &reason, until);
            let outcome = metrics::call("retry", call).await.map(outcome_of);
            if matches!(outcome, Ok(LeaseOutcome::Discarded)) {
                span.in_scope(|| {
                    tracing::error!(reason, "the job failed too often; discarding it")
                });
            }
            ("retry", outcome, JobEnd::Ended)
        }
        JobError::Discard(reason) => {
            span.in_scope(|| tracing::error!(reason, "discarding the job"));
            let call = coordinator.discard(lease, &reason, until);
            ("discard", metrics::call("discard", call).await.map(outcome_of), JobEnd::Ended)
        }
        JobError::StoreAway(reason) => {
            span.in_scope(|| tracing::warn!(reason, "cannot reach the store; releasing the job"));
            ("release", release(coordinator, lease, &reason, until).await, JobEnd::Released)
        }
        JobError::NoRoom(reason) => {
            span.in_scope(|| tracing::error!(reason, "not enough resources; releasing the job"));
            ("release", release(coordinator, lease, &reason, until).await, JobEnd::Released)
        }
        JobError::DatabaseAway(reason) => {
            // `scan_status.sql` searches for this phrase.
            let reason = format!("waiting for the database: {reason}");
            span.in_scope(|| tracing::warn!(reason, "cannot reach Postgres; releasing the job"));
            ("release", release(coordinator, lease, &reason, until).await, JobEnd::Released)
        }
        JobError::OtherSchema(reason) => {
            span.in_scope(|| tracing::error!(reason, "wrong schema version; releasing the job"));
            ("release", release(coordinator, lease, &reason, until).await, JobEnd::Released)
        }
        JobError::LocalFailure(reason) => {
            span.in_scope(|| tracing::warn!(reason, "local failure; releasing the job"));
            ("release", release(coordinator, lease, &reason, until).await, JobEnd::LocalFailure)
        }
    }
}

async fn release(
    coordinator: &Coordinator,
    lease: Lease,
    reason: &str,
    until: Instant,
) -> Result<LeaseOutcome, Error> {
    metrics::call("release", coordinator.release(lease, reason, until)).await.map(outcome_of)
}

async fn complete(
    coordinator: &Coordinator,
    lease: Lease,
    job: PerformedJob,
    trusted: &LeaseTrust,
) -> Result<LeaseOutcome, Error> {
    if !job.stats.adds_up() {
        tracing::error!(stats = ?job.stats, "outcomes do not add up to inputs");
    }
    let kind = lease.kind;
    let stats = serde_json::to_value(&job.stats)
        .map_err(|error| Error::Unexpected(format!("cannot serialize statistics: {error}")))?;
    let call = coordinator.complete(lease, &job.output, &stats, trusted.until());
    let outcome = match metrics::call("complete", call).await? {
        Completion::Recorded => LeaseOutcome::Recorded,
        Completion::AlreadyRecorded => LeaseOutcome::AlreadyRecorded,
        Completion::Lost => LeaseOutcome::Lost,
    };
    if outcome != LeaseOutcome::Lost {
        metrics::items_recorded(kind, job.stats.outcomes());
    }
    Ok(outcome)
}

fn outcome_of(failure: VerbResult) -> LeaseOutcome {
    match failure {
        VerbResult::Retry => LeaseOutcome::Retry,
        VerbResult::Discarded => LeaseOutcome::Discarded,
        VerbResult::Released => LeaseOutcome::Released,
        VerbResult::Lost => LeaseOutcome::Lost,
    }
}
