//! Computes the dollars of a live crawl, and of keeping its results. Pure.

use super::{
    crawl_bounds::{CrawlFleet, CrawlOrder},
    crawl_rates::{
        ARCHIVE_BYTES, COPY_DAYS, DATABASE_TRAFFIC_BYTES, LOG_GB_A_MONTH, METRICS, SERVICE_MACHINES,
    },
    crawl_totals::CrawlTotals,
    figure::{bytes, counted, number},
};
use crate::plan::{
    cost::{GB, Period},
    prices::{HOURS_PER_MONTH, Prices},
    rates::{OTHER_ZONES, SPARE_HOURS, WORKER_DISK_GB},
};

/// Hours per day.
const DAY_HOURS: f64 = 24.0;

/// One item of the bill while the crawl runs.
#[derive(Debug, Clone)]
pub(super) struct CrawlCost {
    pub(super) name: &'static str,
    pub(super) dollars: f64,
    /// Dollars if the workers are spot instances.
    pub(super) spot: f64,
    pub(super) formula: String,
}

/// A later cost, while the results are kept.
#[derive(Debug, Clone)]
pub(super) struct KeptOfCrawl {
    pub(super) name: &'static str,
    pub(super) dollars: f64,
    pub(super) per: Period,
    pub(super) formula: String,
}

/// The hours and prices that all lines share.
pub(super) struct CrawlBill<'a> {
    order: &'a CrawlOrder<'a>,
    fleet: &'a CrawlFleet,
    totals: &'a CrawlTotals,
    prices: &'a Prices,
    hours: f64,
}

impl<'a> CrawlBill<'a> {
    pub(super) fn new(
        order: &'a CrawlOrder<'a>,
        fleet: &'a CrawlFleet,
        totals: &'a CrawlTotals,
        prices: &'a Prices,
    ) -> Self {
        Self { order, fleet, totals, prices, hours: totals.days() * DAY_HOURS + SPARE_HOURS }
    }

    /// Returns the costs of the crawl from its first page to its last, and of an hour around it.
    pub(super) fn costs(&self) -> Vec<CrawlCost> {
        let prices = self.prices;
        let spot = prices.spot_share.price;
        let (workers, hours) = (self.fleet.workers, number(self.hours));
        let machines = workers * self.hours * self.order.machine.hour;
        let mut costs = vec![CrawlCost {
            name: "workers",
            dollars: machines,
            spot: machines * spot,
            formula: format!(
                "{} x {hours} h x {}; on spot x {spot}",
                counted(workers, "worker"),
                self.order.machine.hour
            ),
        }];
        costs.extend(self.beside_workers());
        costs.extend(self.of_databases());
        costs.extend(self.by_amount());
        costs
    }

    fn beside_workers(&self) -> [CrawlCost; 3] {
        let prices = self.prices;
        let (workers, hours) = (self.fleet.workers, number(self.hours));
        let address = prices.public_address_hour.price;
        let disk = WORKER_DISK_GB * prices.worker_disk_gb_month.price / HOURS_PER_MONTH;
        let small = prices.small_machine_hour.price;
        [
            same(
                "their addresses and disks",
                workers * self.hours * (address + disk),
                format!(
                    "{} x {hours} h x ({address} + {WORKER_DISK_GB} GB x {} / {HOURS_PER_MONTH})",
                    counted(workers, "worker"),
                    prices.worker_disk_gb_month.price
                ),
            ),
            same(
                "HTTP service, console",
                SERVICE_MACHINES * self.hours * (small + address + disk),
                format!("{SERVICE_MACHINES} x {hours} h x ({small} + address and disk)"),
            ),
            same(
                "secrets, logs, metrics",
                self.months()
                    * (self.fleet.databases * prices.secret_month.price
                        + METRICS * prices.metric_month.price
                        + LOG_GB_A_MONTH * prices.log_gb.price),
                format!(
                    "{} months x ({} x {} + {METRICS} x {} + {LOG_GB_A_MONTH} GB x {})",
                    number(self.months()),
                    number(self.fleet.databases),
                    prices.secret_month.price,
                    prices.metric_month.price,
                    prices.log_gb.price
                ),
            ),
        ]
    }

    fn of_databases(&self) -> [CrawlCost; 3] {
        let prices = self.prices;
        let (databases, hours) = (self.fleet.databases, number(self.hours));
        let count = counted(databases, "database");
        let months = number(self.months());
        let copies_gb = self.copies_gb(self.totals.days());
        [
            same(
                "Postgres",
                databases * self.hours * self.order.database.hour,
                format!("{count} x {hours} h x {}", self.order.database.hour),
            ),
            same(
                "its disks",
                databases * self.fleet.disk_gb * self.months() * prices.database_gb_month.price,
                format!(
                    "{count} x {} x {months} months x {}",
                    bytes(self.fleet.disk_gb * GB),
                    prices.database_gb_month.price
                ),
            ),
            same(
                "its copies",
                copies_gb * self.months() * prices.database_copy_gb_month.price,
                format!(
                    "{} beyond its disks x {months} months x {}",
                    bytes(copies_gb * GB),
                    prices.database_copy_gb_month.price
                ),
            ),
        ]
    }

    fn by_amount(&self) -> [CrawlCost; 4] {
        let (prices, totals, pages) = (self.prices, self.totals, self.order.pages);
        let zones_gb = pages * DATABASE_TRAFFIC_BYTES * OTHER_ZONES / GB;
        let sent_gb = totals.sent / GB;
        // The free gigabytes are granted each month.
        let free_gb = prices.sent_gb_free.price * self.months().max(1.0);
        [
            same(
                "traffic between zones",
                zones_gb * prices.between_zones_gb.price,
                format!(
                    "{} x {} x {OTHER_ZONES} x {} a GB",
                    counted(pages, "page"),
                    bytes(DATABASE_TRAFFIC_BYTES),
                    prices.between_zones_gb.price
                ),
            ),
            same(
                "archives, indexes as they grow",
                growing_dollars(self.kept_bytes(), self.months(), prices),
                format!(
                    "{} / 2 x {} months x {} a GB",
                    bytes(self.kept_bytes()),
                    number(self.months()),
                    prices.store_gb_month.price
                ),
            ),
            same(
                "PUT requests",
                totals.put_requests / 1e3 * prices.thousand_puts.price,
                format!("{} / 1,000 x {}", number(totals.put_requests), prices.thousand_puts.price),
            ),
            same(
                "bytes sent to the web",
                (sent_gb - free_gb).max(0.0) * prices.sent_gb.price,
                format!(
                    "({} - {} free) x {} a GB",
                    bytes(totals.sent),
                    bytes(free_gb * GB),
                    prices.sent_gb.price
                ),
            ),
        ]
    }

    /// Returns the costs after the crawl, while pages and rows are kept.
    pub(super) fn kept(&self) -> Vec<KeptOfCrawl> {
        let prices = self.prices;
        let bytes_kept = self.kept_bytes();
        let text = bytes(bytes_kept);
        let objects = bytes_kept / ARCHIVE_BYTES;
        let standard = prices.store_gb_month.price;
        let deep = prices.deep_archive_gb_month.price;
        let databases = self.fleet.databases;
        let month =
            |name, dollars, formula| KeptOfCrawl { name, dollars, per: Period::Month, formula };
        vec![
            month(
                "archives, indexes: S3 Standard",
                bytes_kept / GB * standard,
                format!("{text} x {standard} a GB"),
            ),
            KeptOfCrawl {
                name: "moved to Deep Archive",
                dollars: objects / 1e3 * prices.thousand_archive_puts.price,
                per: Period::Once,
                formula: format!(
                    "{} archives / 1,000 x {}",
                    number(objects),
                    prices.thousand_archive_puts.price
                ),
            },
            month(
                "the same in Deep Archive",
                bytes_kept / GB * deep,
                format!("{text} x {deep} a GB"),
            ),
            month(
                "Postgres, while it is kept",
                databases
                    * (HOURS_PER_MONTH * self.order.database.hour
                        + self.fleet.disk_gb * prices.database_gb_month.price),
                format!(
                    "{} x ({HOURS_PER_MONTH} h x {} + {} x {})",
                    counted(databases, "database"),
                    self.order.database.hour,
                    bytes(self.fleet.disk_gb * GB),
                    prices.database_gb_month.price
                ),
            ),
        ]
    }

    fn kept_bytes(&self) -> f64 {
        self.totals.archives + self.totals.indexes
    }

    fn months(&self) -> f64 {
        self.hours / HOURS_PER_MONTH
    }

    /// Returns the gigabytes of database copies beyond the free ones, which equal the disks: one
    /// copy of the rows, and the log since.
    fn copies_gb(&self, days: f64) -> f64 {
        let log = self.totals.log * (COPY_DAYS / days).min(1.0);
        let copies = (self.fleet.row_bytes + log) / GB;
        (copies - self.fleet.databases * self.fleet.disk_gb).max(0.0)
    }
}

/// Returns the dollars for bytes in S3 Standard while a crawl writes them at a constant rate: half
/// of them on average.
pub(super) fn growing_dollars(bytes: f64, months: f64, prices: &Prices) -> f64 {
    bytes / GB / 2.0 * months * prices.store_gb_month.price
}

fn same(name: &'static str, dollars: f64, formula: String) -> CrawlCost {
    CrawlCost { name, dollars, spot: dollars, formula }
}
