//! All metrics, and the instruments that record them.
//!
//! [`table`] also produces docs/metrics.md. Labels take their values from closed lists, never from
//! web data, so that the number of series is bounded.

use std::sync::OnceLock;

use everytab_coordinator::{CrawlStatus, ScanState, ScanStatus};
use everytab_fetcher::metrics::PERMITS;
pub use everytab_metrics::{Metric, label};
use everytab_metrics::{MetricKind, instruments};
use opentelemetry::{global, metrics::Meter};
use serde_json::Value;

instruments! { Metrics RECORDED
    log_suppressed: counter() "everytab.log.suppressed" "{line}" []
        "Log lines suppressed because too many came from one call site";
    scan_running: gauge() "everytab.scan.running" "{scan}" []
        "1 while the scan is running, 0 when it is paused or has ended (`scan status --metrics`)";
    scan_jobs: gauge() "everytab.scan.jobs" "{job}" ["kind" "state"]
        "Jobs of the scan by state: outstanding, leased, delayed, done, discarded \
         (`scan status --metrics`)";
    scan_workers: gauge() "everytab.scan.workers" "{worker}" []
        "Workers that hold leases of the scan (`scan status --metrics`)";
    scan_drift: gauge() "everytab.scan.drift" "{stage}" []
        "Stages whose counters and rows disagree, which is a bug (`scan status --metrics`)";
    crawl_running: gauge() "everytab.crawl.running" "{crawl}" []
        "1 while the crawl is running, 0 when it is paused or has ended (`crawl status --metrics`)";
    crawl_urls: gauge() "everytab.crawl.urls" "{url}" ["state"]
        "URLs that the crawl knows, by state: pending, captured, failed, refused, left \
         (`crawl status --metrics`)";
    crawl_unread: gauge() "everytab.crawl.links.unread" "{link}" []
        "Links of the crawl that no slot has read yet (`crawl status --metrics`)";
}

pub(super) const CPU: Metric = Metric {
    name: "process.cpu.time",
    kind: MetricKind::Counter,
    unit: "s",
    labels: &[],
    meaning: "Processor time of this process, user and system",
};
pub(super) const MEMORY: Metric = Metric {
    name: "process.memory.usage",
    kind: MetricKind::Gauge,
    unit: "By",
    labels: &[],
    meaning: "Resident memory of this process",
};
pub(super) const FILES: Metric = Metric {
    name: "process.open_file_descriptor.count",
    kind: MetricKind::Gauge,
    unit: "{file_descriptor}",
    labels: &[],
    meaning: "Files and sockets that this process has open",
};
/// Metrics that are computed at each export.
const OBSERVED: [Metric; 4] = [PERMITS, CPU, MEMORY, FILES];

#[cfg(feature = "crawl")]
const OF_CRAWLS: [&[Metric]; 2] =
    [everytab_crawler::metrics::METRICS, everytab_api::metrics::METRICS];
#[cfg(not(feature = "crawl"))]
const OF_CRAWLS: [&[Metric]; 0] = [];

/// Returns all metrics, in the documentation's order.
pub fn table() -> impl Iterator<Item = &'static Metric> {
    let runner = everytab_runner::metrics::METRICS.iter();
    let fetcher = everytab_fetcher::metrics::METRICS;
    runner.chain(OF_CRAWLS.into_iter().flatten()).chain(fetcher).chain(RECORDED).chain(&OBSERVED)
}

static METRICS: OnceLock<Metrics> = OnceLock::new();

/// Returns this program's instruments. The first call binds them to the current meter provider, so
/// [`super::start`] makes it.
pub fn metrics() -> &'static Metrics {
    METRICS.get_or_init(|| Metrics::new(&meter()))
}

pub(super) fn meter() -> Meter {
    global::meter("everytab")
}

/// Creates the counter of suppressed log lines. If a series did not exist before its first event,
/// queries for its rate would miss this event.
pub(crate) fn begin_at_zero() {
    metrics().log_suppressed.add(0, &[]);
}

/// Records a scan's state.
pub(crate) fn scan_status(status: &ScanStatus) {
    let metrics = metrics();
    metrics.scan_running.record(u64::from(status.state == ScanState::Running), &[]);
    let at_work = status.workers.iter().filter(|worker| worker.leases > 0).count();
    metrics.scan_workers.record(at_work as u64, &[]);
    metrics.scan_drift.record(status.drift.len() as u64, &[]);
    for stage in &status.stages {
        for (state, jobs) in [
            ("outstanding", stage.outstanding),
            ("leased", stage.leased),
            ("delayed", stage.delayed),
            ("done", stage.done),
            ("discarded", stage.discarded),
        ] {
            let labels = [label("kind", stage.kind.as_str()), label("state", state)];
            metrics.scan_jobs.record(jobs, &labels);
        }
    }
}

/// Records a live crawl's state.
pub(crate) fn crawl_status(status: &CrawlStatus) {
    let metrics = metrics();
    metrics.crawl_running.record(u64::from(status.state == "running"), &[]);
    let unread = status.seeds + status.sent - status.read;
    metrics.crawl_unread.record(u64::try_from(unread).unwrap_or_default(), &[]);
    for (state, urls) in [
        ("pending", status.pending),
        ("captured", status.captured),
        ("failed", status.failed),
        ("refused", sum_of(&status.refused)),
        ("left", sum_of(&status.left)),
    ] {
        let urls = u64::try_from(urls).unwrap_or_default();
        metrics.crawl_urls.record(urls, &[label("state", state)]);
    }
}

fn sum_of(counts: &Value) -> i64 {
    let counts = counts.as_object().into_iter().flat_map(|counts| counts.values());
    counts.filter_map(Value::as_i64).sum()
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
            let name = metric.name;
            let in_prometheus = metric.prometheus_name();
            let unit = metric.unit;
            let meaning = metric.meaning;
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
        assert!(text == right, "docs/metrics.md is out of date: run `make metrics`");
    }

    #[test]
    fn names_are_unique_and_end_with_their_unit_as_prometheus_recommends() {
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
