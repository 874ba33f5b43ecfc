//! Estimates a scan's numbers from a sample and assumptions.

use serde_json::Value;

use super::{objects::Objects, options::Assumptions, sample::Sample};

/// Maximum hosts per shard, as in `coordinator.fan_out`.
const MAX_HOSTS_PER_SHARD: u64 = 1_200;
/// Minimum number of shards in a scan, as in `coordinator.fan_out`.
const MIN_SHARDS: u64 = 256;
/// Number of requests per row group, about one for each column that an index job reads.
const INDEX_COLUMNS: u64 = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    Measured,
    Sampled,
    Assumed,
    Derived,
}

impl Basis {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Sampled => "sampled",
            Self::Assumed => "assumed",
            Self::Derived => "derived",
        }
    }
}

impl std::fmt::Display for Basis {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Count(u64),
    Amount(f64),
}

impl Number {
    pub(super) fn text(self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Amount(amount) if amount < 0.1 => format!("{amount:.4}"),
            Self::Amount(amount) => format!("{amount:.2}"),
        }
    }

    pub(super) fn json(self) -> Value {
        match self {
            Self::Count(count) => Value::from(count),
            // Four decimals are kept, because a small scan costs less than a cent.
            Self::Amount(amount) => Value::from((amount * 1e4).round() / 1e4),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) value: Number,
    pub(super) unit: &'static str,
    pub(super) basis: Basis,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Estimate {
    pub(super) lines: Vec<Line>,
}

impl Estimate {
    fn count(&mut self, name: &'static str, value: u64, unit: &'static str, basis: Basis) {
        self.lines.push(Line { name, value: Number::Count(value), unit, basis });
    }

    fn amount(&mut self, name: &'static str, value: f64, unit: &'static str, basis: Basis) {
        self.lines.push(Line { name, value: Number::Amount(value), unit, basis });
    }
}

pub(super) fn estimate(
    sample: &Sample,
    assumed: &Assumptions,
    limit: Option<u64>,
    fleet: &ReadingFleet,
) -> Estimate {
    let mut plan = Estimate::default();
    let read = index_reading(sample);
    let hosts = limit.unwrap_or(u64::MAX).min(read.hosts);
    let shape = Shape::of(hosts, u64::from(assumed.entries_per_bundle));
    let icons = times(hosts, assumed.icons_per_host);
    let record_bytes = ratio(sample.record_bytes, sample.captures);

    plan.count("index_files", sample.files, "", Basis::Measured);
    plan.count("index_file_bytes", sample.file_bytes, "bytes", Basis::Measured);
    plan.count("row_groups_of_a_file", sample.row_groups, "", Basis::Measured);
    plan.count("index_bytes_to_read", read.bytes, "bytes", Basis::Sampled);
    plan.count("hosts", hosts, "", Basis::Sampled);
    plan.count("warc_bytes_to_read", times(hosts, record_bytes), "bytes", Basis::Sampled);
    plan.amount("icons_per_host", assumed.icons_per_host, "", Basis::Assumed);
    plan.count("icon_urls", icons, "", Basis::Derived);
    plan.count("shards", shape.shards, "", Basis::Derived);
    plan.count("bundles", shape.bundles, "", Basis::Derived);
    let objects = Objects {
        hosts,
        shards: shape.shards,
        bundles: shape.bundles,
        entries_per_bundle: assumed.entries_per_bundle,
    };
    let jobs = sample.files + 3 * shape.shards + objects.closing_jobs() + 1;
    plan.count("jobs", jobs, "", Basis::Derived);
    hours(&mut plan, assumed, &read, hosts, icons, fleet);
    storage(&mut plan, sample, assumed, icons, &objects, &read);
    plan
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ReadingFleet {
    pub(super) workers: u64,
    /// Requests per second to the source, for all workers together. `None` if unlimited.
    pub(super) archive_rate: Option<i32>,
}

struct IndexReading {
    bytes: u64,
    hosts: u64,
    requests: u64,
}

fn index_reading(sample: &Sample) -> IndexReading {
    let per_group = |amount: u64| ratio(amount, sample.groups_read);
    // A file without home pages in its sample is read to the end.
    let wanted = sample.max_captures.map(|most| ratio(most, sample.files));
    let groups_for = |wanted: f64| (wanted / per_group(sample.captures)).ceil().max(1.0);
    let groups_of_a_file = match wanted {
        Some(wanted) if sample.captures > 0 => groups_for(wanted).min(sample.row_groups as f64),
        _ => sample.row_groups as f64,
    };
    // Files differ in size, so scale the sample by bytes.
    let scale = ratio(sample.file_bytes, sample.sampled_bytes);
    let groups = groups_of_a_file * scale;
    let captures = sample.max_captures.unwrap_or(u64::MAX);
    IndexReading {
        bytes: whole(per_group(sample.read_bytes) * groups),
        hosts: whole(per_group(sample.hosts) * groups).min(captures),
        requests: whole(groups * INDEX_COLUMNS as f64),
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Shape {
    shards: u64,
    bundles: u64,
}

impl Shape {
    fn of(hosts: u64, entries_per_bundle: u64) -> Self {
        let small = MAX_HOSTS_PER_SHARD.min(hosts.div_ceil(MIN_SHARDS));
        let hosts_per_shard = small.max(entries_per_bundle).max(1);
        let shards = hosts.div_ceil(hosts_per_shard);
        let bundles_per_shard = ratio(hosts, shards) / entries_per_bundle.max(1) as f64;
        Self { shards, bundles: shards * whole(bundles_per_shard.round()).max(1) }
    }
}

fn hours(
    plan: &mut Estimate,
    assumed: &Assumptions,
    read: &IndexReading,
    hosts: u64,
    icons: u64,
    fleet: &ReadingFleet,
) {
    plan.count("workers", fleet.workers, "", Basis::Assumed);
    let archive_rate = fleet.archive_rate.map_or(f64::INFINITY, f64::from);
    if let Some(rate) = fleet.archive_rate {
        plan.count("archive_rate", rate.unsigned_abs().into(), "requests/s", Basis::Assumed);
    }
    let Assumptions { index_bytes_per_second, pages_per_second, .. } = *assumed;
    let stages = [
        ("index_hours", "index_bytes_a_second", read.bytes, index_bytes_per_second, read.requests),
        ("warc_hours", "pages_a_second", hosts, pages_per_second, hosts),
        ("icon_hours", "icons_a_second", icons, assumed.icons_per_second, 0),
        ("bundle_hours", "tabs_a_second", hosts, assumed.tabs_per_second, 0),
    ];
    let mut sum = 0.0;
    for (hours, rate, amount, per_second, requests) in stages {
        plan.amount(rate, per_second, "a worker", Basis::Assumed);
        let work = amount as f64 / per_second / fleet.workers.max(1) as f64;
        let taken = work.max(requests as f64 / archive_rate) / 3_600.0;
        plan.amount(hours, taken, "hours", Basis::Derived);
        sum += taken;
    }
    plan.amount("hours", sum, "hours", Basis::Derived);
}

fn storage(
    plan: &mut Estimate,
    sample: &Sample,
    assumed: &Assumptions,
    icons: u64,
    objects: &Objects,
    read: &IndexReading,
) {
    let hosts = objects.hosts;
    let bundle_bytes = times(hosts, assumed.bytes_per_tab);
    let archive_bytes = times(icons, assumed.bytes_per_icon);
    plan.count("bundle_bytes", bundle_bytes, "bytes", Basis::Assumed);
    plan.count("archive_bytes", archive_bytes, "bytes", Basis::Assumed);
    let puts = objects.archived() + objects.published() + objects.link_pages();
    let gets = objects.reads();
    plan.count("crawl_gets", read.requests + sample.files + hosts, "requests", Basis::Derived);
    plan.count("store_puts", puts, "requests", Basis::Derived);
    plan.count("store_gets", gets, "requests", Basis::Derived);
    let dollars = puts as f64 / 1e3 * assumed.dollars_per_1000_puts
        + gets as f64 / 1e3 * assumed.dollars_per_1000_gets;
    plan.amount("store_request_dollars", dollars, "dollars", Basis::Derived);
    let gigabytes = (bundle_bytes + archive_bytes) as f64 / 1e9;
    let per_month = gigabytes * assumed.dollars_per_gb_month;
    plan.amount("storage_dollars_a_month", per_month, "dollars", Basis::Derived);
}

fn ratio(amount: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { amount as f64 / of as f64 }
}

fn times(amount: u64, factor: f64) -> u64 {
    whole(amount as f64 * factor)
}

/// A negative amount and NaN become 0, because the cast saturates.
fn whole(amount: f64) -> u64 {
    amount.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(plan: &Estimate, name: &str) -> f64 {
        match plan.lines.iter().find(|line| line.name == name).unwrap().value {
            Number::Count(count) => count as f64,
            Number::Amount(amount) => amount,
        }
    }

    fn whole_crawl() -> Sample {
        Sample {
            path: "x".into(),
            files: 300,
            file_bytes: 180_000_000_000,
            max_captures: None,
            sampled_bytes: 600_000_000,
            row_groups: 5,
            groups_read: 1,
            read_bytes: 64_000_000,
            captures: 24_000,
            hosts: 23_000,
            record_bytes: 24_000 * 20_000,
        }
    }

    #[test]
    fn shards_and_bundles_have_the_shape_that_the_coordinator_gives_them() {
        for (hosts, shards, bundles) in [
            (0, 0, 0),
            (1, 1, 1),
            (300, 3, 3),
            (1_201, 11, 11),
            (2_000, 17, 17),
            (30_720, 256, 256),
            (250_000, 256, 2_048),
        ] {
            assert_eq!(Shape::of(hosts, 120), Shape { shards, bundles }, "{hosts}");
        }
        assert_eq!(Shape::of(30_000_000, 120), Shape { shards: 25_000, bundles: 250_000 });
    }

    #[test]
    fn a_whole_crawl_has_the_sizes_that_the_design_plans_for() {
        let assumed = Assumptions::default();
        let plan = estimate(&whole_crawl(), &assumed, None, &unlimited(1));
        assert_eq!(number(&plan, "hosts"), 34_500_000.0);
        assert_eq!(number(&plan, "index_bytes_to_read"), 96_000_000_000.0);
        assert_eq!(number(&plan, "warc_bytes_to_read"), 34_500_000.0 * 20_000.0);
        assert_eq!(number(&plan, "shards"), 28_750.0);
        assert_eq!(number(&plan, "jobs"), 300.0 + 3.0 * 28_750.0 + 29.0 + 147.0 + 1.0);
        let puts = number(&plan, "store_puts");
        assert!(puts > 4.0 * 28_750.0 + 287_500.0 + 34_500.0 + 10_000.0, "{puts}");
        let ten = estimate(&whole_crawl(), &assumed, None, &unlimited(10));
        let ratio = number(&plan, "hours") / number(&ten, "hours");
        assert!((ratio - 10.0).abs() < 1e-9, "{ratio}");
    }

    fn unlimited(workers: u64) -> ReadingFleet {
        ReadingFleet { workers, archive_rate: None }
    }

    #[test]
    fn no_number_of_workers_reads_the_source_faster_than_the_archive_rate() {
        let fleet = ReadingFleet { workers: 100, archive_rate: Some(1_000) };
        let plan = estimate(&whole_crawl(), &Assumptions::default(), None, &fleet);
        let hours = number(&plan, "warc_hours");
        assert!((hours - 34_500_000.0 / 1_000.0 / 3_600.0).abs() < 1e-9, "{hours}");
        assert!(number(&plan, "index_hours") * 3_600.0 >= 300.0 * 5.0 * 12.0 / 1_000.0);
    }

    #[test]
    fn a_limit_reads_less_and_an_empty_sample_gives_zeros() {
        let assumed = Assumptions::default();
        let few = Sample {
            files: 8,
            file_bytes: 4_800_000_000,
            max_captures: Some(8_000),
            ..whole_crawl()
        };
        let plan = estimate(&few, &assumed, Some(300), &unlimited(1));
        assert_eq!(number(&plan, "hosts"), 300.0);
        assert_eq!(number(&plan, "index_bytes_to_read"), 8.0 * 64_000_000.0);
        let nothing = estimate(&Sample::default(), &assumed, None, &unlimited(1));
        assert!(nothing.lines.iter().all(|line| match line.value {
            Number::Count(_) => true,
            Number::Amount(amount) => amount.is_finite(),
        }));
        assert_eq!((number(&nothing, "hosts"), number(&nothing, "shards")), (0.0, 0.0));
    }
}
