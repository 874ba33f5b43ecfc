//! Every metric: its name, unit, labels and meaning, and the instrument behind it.
//!
//! Invariants: [`TABLE`] and the instruments are one list, which docs/metrics.md repeats (a test
//! compares); labels take their values from closed lists, never from what the web says, so that the
//! number of series is bounded. Where nobody reads metrics, recording one does nothing.
//! Must not know: who reads them.

use std::sync::OnceLock;

use everytab_coordinator::JobKind;
use everytab_fetcher::{
    instruments,
    metrics::{LATENCY_SECONDS, MetricKind, SLOTS},
};
use opentelemetry::{global, metrics::Meter};

pub use everytab_fetcher::metrics::{Metric, label};

/// Seconds of a job.
const JOB_SECONDS: &[f64] =
    &[0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3_600.0, 7_200.0];

instruments! { Metrics RECORDED
    jobs_leased: counter() "everytab.jobs.leased" "{job}" ["kind"]
        "Jobs that this worker leased";
    jobs_ended: counter() "everytab.jobs.ended" "{job}" ["kind" "end"]
        "Leases that ended: recorded, already_recorded, lost, retry, discarded, released, expired, \
         stalled, or unknown where Postgres did not answer";
    jobs_running: gauge() "everytab.jobs.running" "{job}" ["kind"]
        "Jobs that this worker has under way";
    job_duration: histogram(JOB_SECONDS) "everytab.job.duration" "s" ["kind"]
        "From the lease to the end of a job, its completion included";
    items: counter() "everytab.items" "{item}" ["kind" "outcome"]
        "Inputs of completed jobs (rows, pages, icons, tabs) by how they ended";
    database_duration: histogram(LATENCY_SECONDS) "everytab.database.call.duration" "s" ["call"]
        "Calls of the coordinator in Postgres, waiting for a connection included";
    database_errors: counter() "everytab.database.errors" "{error}" ["call"]
        "Calls of the coordinator that failed";
    fleet_workers: gauge() "everytab.fleet.workers" "{worker}" []
        "Workers that hold leases, as the last renewal told this one";
    icons_resting: gauge() "everytab.icons.resting" "{worker}" []
        "1 while this worker takes no icon jobs, because its own network is in trouble";
    log_suppressed: counter() "everytab.log.suppressed" "{line}" []
        "Log lines left out because too many came from one place";
    scan_running: gauge() "everytab.scan.running" "{scan}" []
        "1 while the scan is running, 0 when it is paused or has ended (`scan status --metrics`)";
    scan_jobs: gauge() "everytab.scan.jobs" "{job}" ["kind" "state"]
        "Jobs of the scan by state: outstanding, leased, delayed, done, discarded \
         (`scan status --metrics`)";
    scan_workers: gauge() "everytab.scan.workers" "{worker}" []
        "Workers that hold leases of the scan (`scan status --metrics`)";
    scan_drift: gauge() "everytab.scan.drift" "{stage}" []
        "Stages whose counters and rows disagree, which is a bug (`scan status --metrics`)";
}

/// Processor time of this process.
pub(super) const CPU: Metric = Metric {
    name: "process.cpu.time",
    kind: MetricKind::Counter,
    unit: "s",
    labels: &[],
    meaning: "Processor time of this process, user and system",
};
/// Resident memory of this process.
pub(super) const MEMORY: Metric = Metric {
    name: "process.memory.usage",
    kind: MetricKind::Gauge,
    unit: "By",
    labels: &[],
    meaning: "Resident memory of this process",
};
/// Open files of this process.
pub(super) const FILES: Metric = Metric {
    name: "process.open_file_descriptor.count",
    kind: MetricKind::Gauge,
    unit: "{file_descriptor}",
    labels: &[],
    meaning: "Files and sockets that this process has open",
};
/// Read when somebody asks.
const OBSERVED: [Metric; 4] = [SLOTS, CPU, MEMORY, FILES];
/// How many of [`RECORDED`] docs/metrics.md lists before the fetcher's metrics.
const BEFORE_THE_FETCHERS: usize = 9;

/// Every metric, in the order of the documents.
pub fn table() -> impl Iterator<Item = &'static Metric> {
    let (first, last) = RECORDED.split_at(BEFORE_THE_FETCHERS);
    first.iter().chain(everytab_fetcher::metrics::METRICS).chain(last).chain(&OBSERVED)
}

/// How leases end, as `everytab.jobs.ended` has it.
pub const ENDS: [&str; 9] = [
    "recorded",
    "already_recorded",
    "lost",
    "retry",
    "discarded",
    "released",
    "expired",
    "stalled",
    "unknown",
];
/// The calls of the coordinator that are timed.
pub const CALLS: [&str; 7] =
    ["lease", "renew", "complete", "retry", "discard", "release", "progress"];

static METRICS: OnceLock<Metrics> = OnceLock::new();

/// The instruments. The first call, which [`super::start`] makes, decides who reads them.
pub fn metrics() -> &'static Metrics {
    METRICS.get_or_init(|| Metrics::new(&meter()))
}

pub(super) fn meter() -> Meter {
    global::meter("everytab")
}

/// Counts nothing under every label that may come: a series that is not there before its first
/// event hides that event from whoever asks for its rate.
pub(crate) fn begin_at_zero(kinds: &[JobKind]) {
    let metrics = metrics();
    for kind in kinds {
        let kind = label("kind", kind.as_str());
        metrics.jobs_leased.add(0, std::slice::from_ref(&kind));
        metrics.jobs_running.record(0, std::slice::from_ref(&kind));
        for end in ENDS {
            metrics.jobs_ended.add(0, &[kind.clone(), label("end", end)]);
        }
    }
    for call in CALLS {
        metrics.database_errors.add(0, &[label("call", call)]);
    }
    if kinds.contains(&JobKind::Icon) {
        everytab_fetcher::metrics::begin_at_zero();
        metrics.icons_resting.record(0, &[]);
    }
    metrics.fleet_workers.record(0, &[]);
    metrics.log_suppressed.add(0, &[]);
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fmt::Write as _, path::Path};

    use super::*;

    const BEGIN: &str = "<!-- table: written by the test docs_list_every_metric -->\n";
    const END: &str = "<!-- end of table -->\n";

    fn rows() -> String {
        let head = "| OpenTelemetry | Prometheus | kind | unit | labels | meaning |\n";
        let mut text = format!("\n{head}{}|\n", "| --- ".repeat(6));
        for metric in table() {
            let labels = metric.labels.join(", ");
            let kind = format!("{:?}", metric.kind).to_lowercase();
            let (name, in_prometheus) = (metric.name, metric.prometheus_name());
            let (unit, meaning) = (metric.unit, metric.meaning);
            writeln!(
                text,
                "| `{name}` | `{in_prometheus}` | {kind} | {unit} | {labels} | {meaning} |"
            )
            .unwrap();
        }
        text + "\n"
    }

    #[test]
    fn docs_list_every_metric() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
        let text = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let right = format!("{before}{BEGIN}{}{END}{after}", rows());
        if std::env::var_os("EVERYTAB_WRITE_DOCS").is_some() {
            std::fs::write(&path, &right).unwrap();
            return;
        }
        assert!(
            text == right,
            "docs/metrics.md is not what the code has: `make metrics` writes it"
        );
    }

    #[test]
    fn names_are_unique_and_say_their_unit_as_prometheus_wants() {
        let names: BTreeSet<String> = table().map(Metric::prometheus_name).collect();
        assert_eq!(names.len(), table().count());
        let name_of = |name: &str| {
            table().find(|metric| metric.name == name).map(Metric::prometheus_name).unwrap()
        };
        assert_eq!(name_of("everytab.jobs.ended"), "everytab_jobs_ended_total");
        assert_eq!(name_of("everytab.fetch.duration"), "everytab_fetch_duration_seconds");
        assert_eq!(name_of("process.cpu.time"), "process_cpu_time_seconds_total");
    }
}
