//! The runner's OpenTelemetry instruments. Labels take their values from closed lists, so that the
//! number of series is bounded.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use everytab_coordinator::JobKind;
use everytab_fetcher::PurposeKind;
use everytab_jobs::ScanStore;
pub(crate) use everytab_metrics::label;
use everytab_metrics::{LATENCY_SECONDS, instruments};
use opentelemetry::{KeyValue, global};

use crate::lease_outcome::LeaseOutcome;

/// Bucket bounds for the job histograms, in seconds.
const JOB_SECONDS: &[f64] =
    &[0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3_600.0, 7_200.0];

instruments! { Instruments METRICS
    jobs_leased: counter() "everytab.jobs.leased" "{job}" ["kind"]
        "Jobs that this worker leased";
    jobs_ended: counter() "everytab.jobs.ended" "{job}" ["kind" "result"]
        "Ended leases: recorded, already_recorded, lost, retry, discarded, released, expired, \
         stalled, or unknown if Postgres did not respond";
    jobs_running: gauge() "everytab.jobs.running" "{job}" ["kind"]
        "Jobs that this worker is running";
    job_duration: histogram(JOB_SECONDS) "everytab.job.duration" "s" ["kind"]
        "From the lease to the end of a job, including its completion";
    items: counter() "everytab.items" "{item}" ["kind" "outcome"]
        "Inputs of completed jobs (rows, pages, icons, tabs) by outcome";
    database_duration: histogram(LATENCY_SECONDS) "everytab.database.call.duration" "s" ["call"]
        "Coordinator calls to Postgres, including the wait for a connection";
    database_errors: counter() "everytab.database.errors" "{error}" ["call"]
        "Coordinator calls that failed";
    fleet_workers: gauge() "everytab.fleet.workers" "{worker}" []
        "Workers that hold leases, as of the last renewal";
    icons_paused: gauge() "everytab.icons.paused" "{worker}" []
        "1 while this worker takes no icon jobs, because its network or resolver fails";
    stores_paused: gauge() "everytab.stores.paused" "{worker}" ["store"]
        "1 while this worker takes no jobs that need a store, because the store is unreachable or \
         rejects requests";
}

const CALLS: [&str; 7] = ["lease", "renew", "complete", "retry", "discard", "release", "progress"];

static INSTRUMENTS: OnceLock<Instruments> = OnceLock::new();

/// The first call uses the global meter provider set by then.
pub(crate) fn instruments() -> &'static Instruments {
    INSTRUMENTS.get_or_init(|| Instruments::new(&global::meter("everytab")))
}

/// If a counter series did not exist before its first event, rate queries would miss this event.
pub(crate) fn begin_at_zero(kinds: &[JobKind]) {
    let instruments = instruments();
    for kind in kinds {
        let kind = label("kind", kind.as_str());
        instruments.jobs_leased.add(0, std::slice::from_ref(&kind));
        instruments.jobs_running.record(0, std::slice::from_ref(&kind));
        for outcome in LeaseOutcome::ALL {
            instruments.jobs_ended.add(0, &[kind.clone(), label("result", outcome.as_str())]);
        }
    }
    for call in CALLS {
        instruments.database_errors.add(0, &[label("call", call)]);
    }
    if kinds.contains(&JobKind::Icon) {
        everytab_fetcher::metrics::begin_at_zero(&[PurposeKind::Icon]);
        instruments.icons_paused.record(0, &[]);
    }
    for store in ScanStore::ALL {
        instruments.stores_paused.record(0, &[label("store", store.as_str())]);
    }
    instruments.fleet_workers.record(0, &[]);
}

pub(crate) async fn call<T, E>(
    name: &'static str,
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let began = Instant::now();
    let answer = call.await;
    let labels = [label("call", name)];
    instruments().database_duration.record(began.elapsed().as_secs_f64(), &labels);
    if answer.is_err() {
        instruments().database_errors.add(1, &labels);
    }
    answer
}

pub(crate) fn job_ended(kind: JobKind, outcome: LeaseOutcome, took: Duration) {
    let kind = label("kind", kind.as_str());
    instruments().job_duration.record(took.as_secs_f64(), std::slice::from_ref(&kind));
    instruments().jobs_ended.add(1, &[kind, label("result", outcome.as_str())]);
}

pub(crate) fn items_recorded<'a>(kind: JobKind, outcomes: impl Iterator<Item = (&'a str, u64)>) {
    for (outcome, amount) in outcomes {
        let labels = [label("kind", kind.as_str()), KeyValue::new("outcome", outcome.to_owned())];
        instruments().items.add(amount, &labels);
    }
}
