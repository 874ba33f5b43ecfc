//! One lease from load to end: the run, and the verb that its end calls for.
//!
//! Invariant: whatever a run does, its lease is ended by exactly one verb or runs out by itself.
//! Must not know: which jobs run beside it.

use std::{sync::Arc, time::Instant};

use everytab_coordinator::{Completion, Coordinator, Error, Failure, JobKind, Lease};
use everytab_fetcher::{Heartbeat, ItemIsolation};
use tracing::{Instrument as _, Span};

use super::{
    item_journal::PostgresJournal,
    leases::{End, Trusted},
};
use crate::{
    context::Context,
    jobs::{self, Assignment, Done, JobError},
    limits, telemetry,
};

/// How a run of a job ended, for the loop.
pub(super) enum Ended {
    /// By itself, or because its lease did.
    Over,
    /// By trouble of our own; hostnames to ask the resolver about.
    Trouble { canaries: Vec<String> },
    /// There was no room for it.
    NoRoom,
    /// It got nowhere and was left to itself.
    Stalled,
}

/// The job of a lease, on each line that it writes and on its trace.
fn span_of(lease: &Lease) -> Span {
    let has_shard = matches!(lease.kind, JobKind::Warc | JobKind::Icon | JobKind::BundleShard);
    tracing::info_span!(
        "job",
        kind = %lease.kind,
        job = lease.fence.job_id,
        part = (!has_shard).then_some(lease.part),
        shard = has_shard.then_some(lease.part),
        scan = %lease.scan_id,
        lease = lease.fence.lease_number,
        end = tracing::field::Empty,
        otel.status_code = tracing::field::Empty,
    )
}

/// Loads what the run of a lease needs to know. After a few deaths of a process the run is
/// isolated.
async fn load(
    coordinator: &Coordinator,
    lease: &Lease,
    trusted: Trusted,
    heartbeat: Heartbeat,
) -> Result<Assignment, JobError> {
    let isolation = match lease.uses_isolation {
        true => {
            let (fence, beating) = (lease.fence, heartbeat.clone());
            let journal = PostgresJournal::load(coordinator, fence, trusted, beating).await?;
            ItemIsolation::by(Arc::new(journal))
        }
        false => ItemIsolation::default(),
    };
    Assignment::load(coordinator, lease, heartbeat, isolation).await
}

/// Runs a job and ends its lease in the way that the run calls for.
pub(super) async fn finish(
    coordinator: &Coordinator,
    context: &Context,
    lease: Lease,
    mut trusted: Trusted,
    heartbeat: Heartbeat,
) -> Ended {
    let kind = lease.kind;
    let span = span_of(&lease);
    let started = Instant::now();
    let work = {
        let (coordinator, context) = (coordinator.clone(), context.clone());
        let loading = load(&coordinator, &lease, trusted.clone(), heartbeat).await;
        async move { jobs::perform(&coordinator, &context, &loading?).await }
    };
    // A task of its own: a panic ends the run, not the worker, and the lease is still here.
    let mut work = tokio::spawn(work.instrument(span.clone()));
    let result = tokio::select! {
        done = &mut work => done.unwrap_or_else(|error| {
            Err(JobError::Retry(format!("the run ended early: {error}")))
        }),
        end = trusted.ended() => {
            work.abort();
            // Nothing of it may still be writing when the lease is given back; but what hangs
            // without ever waiting cannot be ended.
            let is_stuck = tokio::time::timeout(limits::ABORT, work).await.is_err();
            let reason = end.as_str();
            span.record("end", end.label());
            span.in_scope(|| tracing::warn!(reason, "the run was ended"));
            if end == End::Released && !is_stuck {
                let given = coordinator.release(lease, reason, trusted.until());
                let _ = telemetry::call("release", given).await;
            }
            telemetry::job_ended(kind, end.label(), started.elapsed());
            let has_stalled = is_stuck || end == End::Stalled;
            return if has_stalled { Ended::Stalled } else { Ended::Over };
        }
    };
    let ending = span.in_scope(|| tracing::info_span!("complete"));
    let (verb, outcome, ended) =
        end(coordinator, lease, result, &trusted, &span).instrument(ending).await;
    let label = outcome.as_ref().map_or("unknown", |end| *end);
    telemetry::job_ended(kind, label, started.elapsed());
    span.record("end", label);
    if !matches!(label, "recorded" | "already_recorded" | "released") {
        span.record("otel.status_code", "ERROR");
    }
    span.in_scope(|| match outcome {
        Ok(outcome) => tracing::info!(verb, outcome, seconds = started.elapsed().as_secs_f32()),
        Err(error) => tracing::error!(verb, %error, "the lease will run out by itself"),
    });
    ended
}

type HowItEnded = (&'static str, Result<&'static str, Error>, Ended);

/// Ends a lease by the verb that the run's result calls for.
async fn end(
    coordinator: &Coordinator,
    lease: Lease,
    result: Result<Done, JobError>,
    trusted: &Trusted,
    span: &Span,
) -> HowItEnded {
    let until = trusted.until();
    match result {
        Ok(done) => ("complete", complete(coordinator, lease, done, trusted).await, Ended::Over),
        Err(JobError::Retry(reason)) => {
            span.in_scope(|| tracing::warn!(reason, "the run failed; it will be tried again"));
            let asked = coordinator.retry(lease, &reason, until);
            let failure = telemetry::call("retry", asked).await;
            if matches!(failure, Ok(Failure::Discarded)) {
                span.in_scope(|| tracing::error!(reason, "the job failed too often: discarded"));
            }
            ("retry", text(failure), Ended::Over)
        }
        Err(JobError::Discard(reason)) => {
            span.in_scope(|| tracing::error!(reason, "the job is discarded"));
            let asked = coordinator.discard(lease, &reason, until);
            ("discard", text(telemetry::call("discard", asked).await), Ended::Over)
        }
        Err(JobError::NoRoom(reason)) => {
            span.in_scope(|| tracing::error!(reason, "no room; the job is given back"));
            let asked = coordinator.release(lease, &reason, until);
            ("release", text(telemetry::call("release", asked).await), Ended::NoRoom)
        }
        Err(JobError::Trouble { trouble, canaries }) => {
            span.in_scope(|| tracing::warn!(%trouble, "trouble of our own; the job is given back"));
            let reason = trouble.to_string();
            let asked = coordinator.release(lease, &reason, until);
            ("release", text(telemetry::call("release", asked).await), Ended::Trouble { canaries })
        }
    }
}

async fn complete(
    coordinator: &Coordinator,
    lease: Lease,
    done: Done,
    trusted: &Trusted,
) -> Result<&'static str, Error> {
    if !done.stats.adds_up() {
        tracing::error!(stats = ?done.stats, "outcomes do not add up to inputs");
    }
    let kind = lease.kind;
    let stats = serde_json::to_value(&done.stats)
        .map_err(|error| Error::Unexpected(format!("statistics without JSON: {error}")))?;
    let asked = coordinator.complete(lease, &done.output, &stats, trusted.until());
    Ok(match telemetry::call("complete", asked).await? {
        Completion::Recorded => {
            telemetry::recorded(kind, done.stats.outcomes());
            "recorded"
        }
        Completion::AlreadyRecorded => {
            telemetry::recorded(kind, done.stats.outcomes());
            "already_recorded"
        }
        Completion::Lost => "lost",
    })
}

fn text(failure: Result<Failure, Error>) -> Result<&'static str, Error> {
    failure.map(|failure| match failure {
        Failure::Retry => "retry",
        Failure::Discarded => "discarded",
        Failure::Released => "released",
        Failure::Lost => "lost",
    })
}
