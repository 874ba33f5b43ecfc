//! Reads a worker's metrics like Prometheus, and the table in docs/metrics.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use crate::{
    environment::Internet,
    setup::{Running, wait_for},
};

pub(crate) type Series = BTreeMap<String, f64>;

pub(crate) fn address_of(running: &Running) -> String {
    wait_for("an address with metrics", || {
        let said = running.stderr_text();
        let rest = said.split_once("metrics on http://")?.1;
        rest.split_once("/metrics").map(|(address, _)| address.to_owned())
    })
}

pub(crate) fn get(internet: &Internet, url: &str) -> String {
    internet.runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        client.get(url).send().await.unwrap().text().await.unwrap()
    })
}

pub(crate) fn scrape(internet: &Internet, address: &str) -> Series {
    let text = get(internet, &format!("http://{address}/metrics"));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let series = lines.map(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        (name.to_owned(), value.parse().unwrap_or_else(|_| panic!("{line}")))
    });
    series.collect()
}

pub(crate) fn sum(series: &Series, name: &str, labels: &[&str]) -> f64 {
    let of = |full: &str| full.split('{').next() == Some(name);
    let chosen = series.iter().filter(|(full, _)| of(full));
    chosen.filter(|(full, _)| labels.iter().all(|label| full.contains(label))).map(|it| it.1).sum()
}

/// Returns the metrics in docs/metrics.md: OpenTelemetry's names with Prometheus's.
pub(crate) fn documented() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let names = rows.map(|row| {
        let mut names = row.split('`').skip(1).step_by(2).map(str::to_owned);
        (names.next().unwrap(), names.next().unwrap())
    });
    names.collect()
}

pub(crate) fn names(series: &Series) -> BTreeSet<String> {
    let known: BTreeSet<String> = documented().into_values().collect();
    let plain = |full: &String| {
        let name = full.split('{').next().unwrap_or(full).to_owned();
        let cut = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        match cut {
            Some(cut) if known.contains(cut) => cut.to_owned(),
            _ => name,
        }
    };
    series.keys().map(plain).collect()
}
