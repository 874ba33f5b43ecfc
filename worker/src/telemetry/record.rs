//! From what happens to metrics, where that takes more than a line.

use std::time::{Duration, Instant};

use everytab_coordinator::JobKind;
use opentelemetry::KeyValue;
use serde_json::Value;

use super::metrics::{label, metrics};

/// Times a call of the coordinator, one of [`CALLS`](super::metrics::CALLS).
pub(crate) async fn call<T, E>(
    name: &'static str,
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let began = Instant::now();
    let answer = call.await;
    let labels = [label("call", name)];
    metrics().database_duration.record(began.elapsed().as_secs_f64(), &labels);
    if answer.is_err() {
        metrics().database_errors.add(1, &labels);
    }
    answer
}

/// A lease ended, as one of [`ENDS`](super::metrics::ENDS).
pub(crate) fn job_ended(kind: JobKind, end: &'static str, took: Duration) {
    let kind = label("kind", kind.as_str());
    metrics().job_duration.record(took.as_secs_f64(), std::slice::from_ref(&kind));
    metrics().jobs_ended.add(1, &[kind, label("end", end)]);
}

/// The outcomes of a job count once it is recorded, and only then.
pub(crate) fn recorded<'a>(kind: JobKind, outcomes: impl Iterator<Item = (&'a str, u64)>) {
    for (outcome, amount) in outcomes {
        // From a closed list of the job's kind.
        let labels = [label("kind", kind.as_str()), KeyValue::new("outcome", outcome.to_owned())];
        metrics().items.add(amount, &labels);
    }
}

/// A scan stands so.
pub(crate) fn scan_status(status: &Value) {
    let metrics = metrics();
    let running = u64::from(status["state"] == "running");
    metrics.scan_running.record(running, &[]);
    let length = |name: &str| status[name].as_array().map_or(0, Vec::len) as u64;
    let workers = status["workers"].as_array().into_iter().flatten();
    let at_work = workers.filter(|worker| worker["leases"].as_u64() > Some(0)).count();
    metrics.scan_workers.record(at_work as u64, &[]);
    metrics.scan_drift.record(length("drift"), &[]);
    for stage in status["stages"].as_array().into_iter().flatten() {
        let Some(kind) = stage["kind"].as_str().and_then(|kind| kind.parse::<JobKind>().ok())
        else {
            continue;
        };
        for state in ["outstanding", "leased", "delayed", "done", "discarded"] {
            let labels = [label("kind", kind.as_str()), label("state", state)];
            metrics.scan_jobs.record(stage[state].as_u64().unwrap_or(0), &labels);
        }
    }
}
