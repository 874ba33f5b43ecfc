//! The price table with its date, from JSON (`worker/prices.json`).

use std::collections::BTreeMap;

use everytab_console::OperationError;
use serde::Deserialize;

pub(super) const HOUR: f64 = 3_600.0;
/// Hours in an average month, from which providers compute monthly prices.
pub(super) const HOURS_PER_MONTH: f64 = 730.0;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Price {
    pub(super) price: f64,
    /// `seen` if the price was read on the provider's site when this table was written. Otherwise
    /// `remembered`.
    pub(super) basis: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Machine {
    pub(super) vcpus: f64,
    pub(super) memory_gib: f64,
    /// Sustained network bandwidth in Gbit/s. Bursts for some minutes are faster.
    pub(super) network_gbit: f64,
    pub(super) hour: f64,
    pub(super) basis: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Database {
    pub(super) vcpus: f64,
    pub(super) hour: f64,
    pub(super) basis: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prices {
    pub(super) date: String,
    pub(super) region: String,
    pub(super) about: String,
    workers: BTreeMap<String, Machine>,
    databases: BTreeMap<String, Database>,
    pub(super) console: Machine,
    pub(super) spot_share: Price,
    pub(super) public_address_hour: Price,
    pub(super) worker_disk_gb_month: Price,
    pub(super) database_gb_month: Price,
    pub(super) store_gb_month: Price,
    pub(super) thousand_puts: Price,
    pub(super) thousand_gets: Price,
    pub(super) deep_archive_gb_month: Price,
    pub(super) thousand_archive_puts: Price,
    /// Dollars per gigabyte between zones, for both directions together.
    pub(super) between_zones_gb: Price,
    pub(super) secret_month: Price,
    pub(super) metric_month: Price,
    pub(super) log_gb: Price,
    pub(super) zone_month: Price,
    /// Dollars per gigabyte sent to the internet, beyond the free volume.
    pub(super) sent_gb: Price,
    pub(super) sent_gb_free: Price,
}

impl Prices {
    pub(super) fn read(json: &str) -> Result<Self, OperationError> {
        Ok(serde_json::from_str(json)?)
    }

    pub(super) fn machine(&self, name: &str) -> Result<&Machine, OperationError> {
        self.workers.get(name).ok_or_else(|| unknown("--instance", name, self.workers.keys()))
    }

    pub(super) fn database(&self, name: &str) -> Result<&Database, OperationError> {
        let known = self.databases.get(name);
        known.ok_or_else(|| unknown("--database-instance", name, self.databases.keys()))
    }
}

fn unknown<'a>(
    option: &str,
    name: &str,
    known: impl Iterator<Item = &'a String>,
) -> OperationError {
    let known: Vec<&str> = known.map(String::as_str).collect();
    OperationError::usage(format!(
        "{option} {name}: its price is unknown; expected one of {} (worker/prices.json)",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: &str = include_str!("../../../../../worker/prices.json");

    #[test]
    fn every_price_is_a_positive_number_and_says_its_basis() {
        let prices = Prices::read(PRICES).unwrap();
        let machines = prices.workers.values().chain([&prices.console]);
        let machines = machines.map(|it| (it.hour, it.basis.as_str()));
        let databases = prices.databases.values().map(|it| (it.hour, it.basis.as_str()));
        let others = [
            &prices.spot_share,
            &prices.public_address_hour,
            &prices.worker_disk_gb_month,
            &prices.database_gb_month,
            &prices.store_gb_month,
            &prices.thousand_puts,
            &prices.thousand_gets,
            &prices.sent_gb,
            &prices.sent_gb_free,
        ]
        .into_iter()
        .map(|it| (it.price, it.basis.as_str()));
        for (price, basis) in machines.chain(databases).chain(others) {
            assert!(price > 0.0 && price.is_finite());
            assert!(matches!(basis, "seen" | "remembered"), "{basis}");
        }
        let machines = prices.workers.values().chain([&prices.console]);
        assert!(machines.clone().all(|it| it.vcpus >= 1.0 && it.memory_gib >= 1.0));
        assert!(machines.clone().all(|it| it.network_gbit > 0.0));
        let (year, month) = prices.date.split_once('-').unwrap();
        assert!(year.parse::<u32>().unwrap() >= 2026 && (1..=12).contains(&month.parse().unwrap()));
    }

    #[test]
    fn an_unknown_machine_is_refused_with_a_list_of_the_known_ones() {
        let prices = Prices::read(PRICES).unwrap();
        assert!((prices.machine("c7g.large").unwrap().vcpus - 2.0).abs() < 1e-9);
        let said = prices.machine("c9x.huge").unwrap_err().message;
        assert!(said.contains("c9x.huge") && said.contains("c7g.large"), "{said}");
        let said = prices.database("db.x").unwrap_err().message;
        assert!(said.contains("--database-instance") && said.contains("db.m7g.large"), "{said}");
    }
}
