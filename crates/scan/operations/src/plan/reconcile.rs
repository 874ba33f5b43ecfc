//! Compares a scan's numbers with the model's predictions, stage by stage and rate by rate.

use std::collections::BTreeMap;

use everytab_bundler::stats_names::{CountName, InputName, OutcomeName, StageName};
use everytab_console::OperationError;
use everytab_coordinator::ScanStatus;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    cost::{Fleet, FleetResource, Model, Stage},
    prices::HOUR,
    rates::{
        CONNECTIONS_A_HOST, FETCH_SLOT, ICON_BYTES, ICONS_A_HOST, INDEX_BYTES_A_HOST,
        INDEX_RANGES_A_HOST, INDEX_ROWS_A_HOST, PAGE_BYTES, ROBOTS_A_HOST, TAB_BYTES,
    },
};

/// A scan's stages by name, as in `stats.json`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct MeasuredScan {
    stages: BTreeMap<String, MeasuredStage>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct MeasuredStage {
    duration_seconds: Option<f64>,
    inputs: BTreeMap<String, u64>,
    outcomes: BTreeMap<String, u64>,
    counts: BTreeMap<String, u64>,
}

impl MeasuredScan {
    /// Parses `stats.json`.
    ///
    /// # Errors
    /// Returns an error if the document is malformed, or its scan has no hosts.
    pub fn of_stats(stats: &[u8]) -> Result<Self, OperationError> {
        let wrong = |what: &str| OperationError::new(format!("--reconcile: {what}"));
        let scan: Self = serde_json::from_slice(stats)
            .map_err(|error| wrong(&format!("it is not a scan's stats.json: {error}")))?;
        scan.checked()
    }

    /// Takes a scan's numbers from the database.
    ///
    /// # Errors
    /// Returns an error if no home page has been read yet.
    pub fn of_status(status: &ScanStatus) -> Result<Self, OperationError> {
        let amounts = |map: &BTreeMap<String, i64>| {
            map.iter().map(|(name, amount)| (name.clone(), amount.unsigned_abs())).collect()
        };
        let mut scan = Self::default();
        for (kind, outcomes) in &status.outcomes {
            let stage = scan.stages.entry(kind.as_str().to_owned()).or_default();
            stage.inputs = amounts(&outcomes.inputs);
            stage.outcomes = amounts(&outcomes.outcomes);
            stage.counts = amounts(&outcomes.counts);
        }
        for times in &status.stages {
            let stage = scan.stages.entry(times.kind.as_str().to_owned()).or_default();
            stage.duration_seconds = times.duration_seconds();
        }
        scan.checked()
    }

    fn checked(self) -> Result<Self, OperationError> {
        if self.hosts() > 0.0 {
            return Ok(self);
        }
        Err(OperationError::new("--reconcile: the scan has read no home page"))
    }

    pub(super) fn hosts(&self) -> f64 {
        self.input(StageName::Warc, InputName::Hosts)
    }

    fn stage(&self, name: StageName) -> Option<&MeasuredStage> {
        self.stages.get(name.as_str())
    }

    fn input(&self, stage: StageName, name: InputName) -> f64 {
        amount(self.stage(stage).map(|stage| &stage.inputs), name.as_str())
    }

    fn count(&self, stage: StageName, name: CountName) -> f64 {
        amount(self.stage(stage).map(|stage| &stage.counts), name.as_str())
    }

    fn tabs(&self) -> f64 {
        let outcomes = self.stage(StageName::BundleShard).map(|stage| &stage.outcomes);
        [OutcomeName::TabWithIcon, OutcomeName::TabWithoutIcon]
            .iter()
            .map(|name| amount(outcomes, name.as_str()))
            .sum()
    }
}

fn amount(amounts: Option<&BTreeMap<String, u64>>, name: &str) -> f64 {
    amounts.and_then(|amounts| amounts.get(name)).map_or(0.0, |amount| *amount as f64)
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comparison {
    pub(super) what: &'static str,
    pub(super) unit: &'static str,
    pub(super) predicted: f64,
    pub(super) measured: f64,
    pub(super) changes: &'static str,
}

impl Comparison {
    pub(super) fn ratio(&self) -> f64 {
        self.measured / self.predicted
    }

    pub(super) fn text(&self) -> String {
        format!(
            "  {:<26} {:>14.3} {:>14.3} {:>7.2}  {:<10} {}",
            self.what,
            self.predicted,
            self.measured,
            self.ratio(),
            self.unit,
            self.changes
        )
    }

    pub(super) fn json(&self) -> Value {
        json!({"what": self.what, "unit": self.unit, "predicted": self.predicted,
               "measured": self.measured, "ratio": self.ratio(), "changes": self.changes})
    }
}

pub(super) fn compare(scan: &MeasuredScan, model: &Model, fleet: &Fleet<'_>) -> Vec<Comparison> {
    let mut found = hours(scan, model, fleet);
    let rates = rates(scan);
    found.extend(rates.into_iter().filter(|(_, _, _, sum, per, _)| *sum > 0.0 && *per > 0.0).map(
        |(what, unit, predicted, sum, per, changes)| Comparison {
            what,
            unit,
            predicted,
            measured: sum / per,
            changes,
        },
    ));
    found
}

/// A rate: name, unit, prediction, a sum, its divisor, and the constant's name.
type SummedRate = (&'static str, &'static str, f64, f64, f64, &'static str);

fn rates(scan: &MeasuredScan) -> [SummedRate; 10] {
    let (hosts, tabs) = (scan.hosts(), scan.tabs());
    let urls = scan.input(StageName::Icon, InputName::Candidates);
    let rows = scan.input(StageName::Index, InputName::Rows);
    let index_bytes = scan.count(StageName::Index, CountName::BytesRead);
    let index_ranges = scan.count(StageName::Index, CountName::RangesRead);
    let page_bytes = scan.count(StageName::Warc, CountName::BytesRead);
    let icon = |name| scan.count(StageName::Icon, name);
    let (on_the_wire, icon_bytes) =
        (icon(CountName::OnTheWireMs) / 1e3, icon(CountName::BytesDownloaded));
    let (connections, robots) =
        (icon(CountName::ConnectionsTried), icon(CountName::RobotsRequests));
    let tab_bytes = scan.count(StageName::BundleShard, CountName::BundleBytes);
    [
        ("index rows a host", "rows", INDEX_ROWS_A_HOST, rows, hosts, "INDEX_ROWS_A_HOST"),
        (
            "index bytes a host",
            "bytes",
            INDEX_BYTES_A_HOST,
            index_bytes,
            hosts,
            "INDEX_BYTES_A_HOST",
        ),
        (
            "index requests a host",
            "requests",
            INDEX_RANGES_A_HOST,
            index_ranges,
            hosts,
            "INDEX_RANGES_A_HOST",
        ),
        ("bytes of a home page", "bytes", PAGE_BYTES, page_bytes, hosts, "PAGE_BYTES"),
        ("icon URLs a host", "URLs", ICONS_A_HOST, urls, hosts, "ICONS_A_HOST"),
        ("time on the wire of a URL", "s", FETCH_SLOT, on_the_wire, urls, "FETCH_SLOT"),
        ("bytes of an icon", "bytes", ICON_BYTES, icon_bytes, urls, "ICON_BYTES"),
        ("connections a host", "", CONNECTIONS_A_HOST, connections, hosts, "CONNECTIONS_A_HOST"),
        ("robots.txt a host", "requests", ROBOTS_A_HOST, robots, hosts, "ROBOTS_A_HOST"),
        ("bytes of a tab", "bytes", TAB_BYTES, tab_bytes, tabs, "TAB_BYTES"),
    ]
}

/// From warc on, the stages overlap and wait for each other, so only the slowest stage and those
/// that were faster than predicted are informative.
fn hours(scan: &MeasuredScan, model: &Model, fleet: &Fleet<'_>) -> Vec<Comparison> {
    let stages = [StageName::Index, StageName::Warc, StageName::Icon, StageName::BundleShard];
    let pairs = model.stages.iter().zip(stages).filter_map(|(predicted, name)| {
        let seconds = scan.stage(name)?.duration_seconds.filter(|seconds| *seconds > 0.0)?;
        Some(Comparison {
            what: predicted.name,
            unit: "h",
            predicted: predicted.hours(),
            measured: seconds / HOUR,
            changes: constant_of(predicted, name, fleet),
        })
    });
    pairs.collect()
}

fn constant_of(stage: &Stage, name: StageName, fleet: &Fleet<'_>) -> &'static str {
    match (stage.bound_by(), name) {
        (FleetResource::Cpu, StageName::Index) => "INDEX_ROWS_A_CPU_SECOND",
        (FleetResource::Cpu, StageName::Warc) => "PAGE_CPU",
        (FleetResource::Cpu, StageName::Icon) => "FETCH_CPU",
        (FleetResource::Cpu, _) => "TAB_CPU",
        (FleetResource::Network, StageName::Index) => "INDEX_BYTES_A_HOST",
        (FleetResource::Network, StageName::Warc) => "PAGE_BYTES",
        (FleetResource::Network, _) => "ICON_BYTES",
        (FleetResource::InFlight, StageName::Warc) => "PAGE_LATENCY",
        (FleetResource::InFlight, _) if fleet.fetch_slot > FETCH_SLOT => "FETCH_SLOT_AT_MOST",
        (FleetResource::InFlight, _) => "FETCH_SLOT, SLOTS_IN_USE",
        (FleetResource::Postgres, _) => "ROW_DATABASE_CPU",
        (FleetResource::ArchiveRate, _) => "--archive-rate",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{cost::model, options::AfterScan, prices::Prices};

    const STATS: &str = r#"{"scan": "x", "stages": {
        "index": {"duration_seconds": 60.0, "inputs": {"rows": 2200}, "outcomes": {},
                  "counts": {"bytes_read": 36000, "ranges_read": 5}},
        "warc": {"duration_seconds": 120.5, "inputs": {"hosts": 20},
                 "counts": {"bytes_read": 800000}},
        "icon": {"duration_seconds": null, "inputs": {"candidates": 60},
                 "counts": {"on_the_wire_ms": 82800, "bytes_downloaded": 240000}},
        "bundle-shard": {"outcomes": {"tab_with_icon": 5, "tab_without_icon": 5},
                         "counts": {"bundle_bytes": 9160}}
    }}"#;

    #[test]
    fn a_scan_is_compared_rate_by_rate_with_the_constant_that_it_would_change() {
        let scan = MeasuredScan::of_stats(STATS.as_bytes()).unwrap();
        let prices = Prices::read(include_str!("../../../../../worker/prices.json")).unwrap();
        let fleet = Fleet {
            hosts: scan.hosts(),
            workers: 1.0,
            in_flight: 512.0,
            fetch_slot: FETCH_SLOT,
            archive_rate: 1_000.0,
            core_speed: 1.0,
            after: AfterScan::default(),
            machine: prices.machine("c7g.large").unwrap(),
            database: prices.database("db.t4g.large").unwrap(),
        };
        let found = compare(&scan, &model(&fleet, &prices), &fleet);
        let of = |what: &str| found.iter().find(|each| each.what == what).unwrap();
        assert_eq!(of("index rows a host").ratio(), 1.0);
        assert_eq!(of("bytes of a home page").ratio(), 2.0);
        assert!((of("icon URLs a host").measured - 3.0).abs() < 1e-9);
        assert!((of("time on the wire of a URL").ratio() - 2.0).abs() < 1e-9);
        assert_eq!(of("time on the wire of a URL").changes, "FETCH_SLOT");
        assert_eq!(of("bytes of a tab").ratio(), 1.0);
        assert!((of("warc").measured - 120.5 / 3600.0).abs() < 1e-9);
        assert!(!found.iter().any(|each| matches!(each.what, "icon" | "robots.txt a host")));
    }

    #[test]
    fn what_is_no_scan_is_refused() {
        for stats in ["", "[]", "{}", r#"{"stages": {}}"#, r#"{"stages": {"warc": 1}}"#] {
            let error = MeasuredScan::of_stats(stats.as_bytes()).unwrap_err();
            assert!(error.message.starts_with("--reconcile: "), "{stats}: {}", error.message);
        }
    }
}
