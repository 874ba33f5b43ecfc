//! Computes the additional resources of a live crawl that keeps its pages' media (`--media all`).
//! Pure.

use super::{
    crawl_bounds::{CrawlFleet, CrawlOrder},
    crawl_dollars::growing_dollars,
    crawl_rates::{
        ACKNOWLEDGED, DATABASE_TRAFFIC_BYTES, DISK_IN_USE, FETCH_ROW_BYTES, HEAD_BYTES,
        KNOWN_ROW_BYTES, MACHINES_IN_USE, MEDIA_FILE_BYTES, NETWORK_CPU, PACKING_CPU, RECORD_BYTES,
        REQUEST_SECONDS,
    },
    crawl_totals::{CrawlTotals, put_requests_of},
    figure::{Figure, bytes, counted, number, seconds},
};
use crate::plan::{
    cost::GB,
    prices::{HOUR, HOURS_PER_MONTH, Prices},
    rates::{FETCH_CPU, OTHER_ZONES, REQUEST_BYTES_OUT, WORKER_DISK_GB},
};

/// The media of a crawl, in addition to its pages.
pub(super) struct CrawlMedia<'a> {
    order: &'a CrawlOrder<'a>,
    fleet: &'a CrawlFleet,
    totals: &'a CrawlTotals,
    /// New files for each page.
    files_a_page: f64,
}

impl<'a> CrawlMedia<'a> {
    /// Creates the model. `None` if no media are kept.
    pub(super) fn new(
        order: &'a CrawlOrder<'a>,
        fleet: &'a CrawlFleet,
        totals: &'a CrawlTotals,
        media_per_page: f64,
    ) -> Option<Self> {
        let files_a_page = media_per_page / MEDIA_FILE_BYTES;
        (files_a_page > 0.0).then_some(Self { order, fleet, totals, files_a_page })
    }

    fn files(&self) -> f64 {
        self.order.pages * self.files_a_page
    }

    fn stored(&self) -> f64 {
        self.files() * (MEDIA_FILE_BYTES + RECORD_BYTES)
    }

    fn rows(&self) -> f64 {
        self.files() * (FETCH_ROW_BYTES + KNOWN_ROW_BYTES)
    }

    /// Returns the workers needed for the media alone, at the same utilization as the others.
    fn workers(&self) -> f64 {
        let files_a_second = self.fleet.pages_a_second * self.files_a_page;
        let machine = self.order.machine;
        let cores = machine.vcpus * self.order.core_speed * MACHINES_IN_USE;
        let network = machine.network_gbit * 1e9 / 8.0 * MACHINES_IN_USE;
        let by_network = files_a_second * (MEDIA_FILE_BYTES + RECORD_BYTES) / network;
        (files_a_second * cpu_of_a_file() / cores).max(by_network)
    }

    /// Returns the numbers with their formulas; dollars are those of on-demand instances.
    pub(super) fn figures(&self, prices: &Prices) -> Vec<Figure> {
        let figure = |name, value, unit, formula| Figure { name, value, unit, formula };
        let (files, count) = (self.files(), counted(self.files(), "file"));
        let page_seconds = self.order.page.host_seconds + self.files_a_page * REQUEST_SECONDS;
        let disk_gb = self.rows() / DISK_IN_USE / GB;
        vec![
            figure(
                "files",
                files,
                "",
                format!(
                    "{} x {} new ones, of {}",
                    counted(self.order.pages, "page"),
                    number(self.files_a_page),
                    bytes(MEDIA_FILE_BYTES)
                ),
            ),
            figure(
                "received from the web",
                files * (MEDIA_FILE_BYTES + HEAD_BYTES),
                "bytes",
                format!("{count} x {}", bytes(MEDIA_FILE_BYTES + HEAD_BYTES)),
            ),
            figure(
                "archives",
                self.stored(),
                "bytes",
                format!("{count} x {}", bytes(MEDIA_FILE_BYTES + RECORD_BYTES)),
            ),
            figure("workers more", self.workers(), "", self.workers_formula()),
            figure(
                "disks of Postgres, more",
                disk_gb * GB,
                "bytes",
                format!("{count} x {} / {DISK_IN_USE}", number(FETCH_ROW_BYTES + KNOWN_ROW_BYTES)),
            ),
            figure(
                "politeness, if hosts have both",
                self.order.hosts / page_seconds,
                "pages/s",
                format!("{} / {}", counted(self.order.hosts, "host"), seconds(page_seconds)),
            ),
            figure(
                "dollars of the crawl, more",
                self.dollars(prices, disk_gb),
                "dollars",
                "workers, disks, archives, zones, PUT requests and bytes sent, as above".into(),
            ),
            figure(
                "archives in S3 Standard",
                self.stored() / GB * prices.store_gb_month.price,
                "dollars a month",
                format!("{} x {} a GB", bytes(self.stored()), prices.store_gb_month.price),
            ),
        ]
    }

    fn workers_formula(&self) -> String {
        format!(
            "{} files/s x {} / ({} x {MACHINES_IN_USE}), or by the network",
            number(self.fleet.pages_a_second * self.files_a_page),
            seconds(cpu_of_a_file()),
            counted(self.order.machine.vcpus * self.order.core_speed, "core")
        )
    }

    fn dollars(&self, prices: &Prices, disk_gb: f64) -> f64 {
        let hours = self.totals.seconds / HOUR;
        let months = hours / HOURS_PER_MONTH;
        let disk = WORKER_DISK_GB * prices.worker_disk_gb_month.price / HOURS_PER_MONTH;
        let worker = self.order.machine.hour + prices.public_address_hour.price + disk;
        let sent =
            self.files() * (REQUEST_BYTES_OUT + (MEDIA_FILE_BYTES + HEAD_BYTES) * ACKNOWLEDGED);
        let zones = self.files() * DATABASE_TRAFFIC_BYTES * OTHER_ZONES;
        self.workers() * hours * worker
            + disk_gb * months * prices.database_gb_month.price
            + growing_dollars(self.stored(), months, prices)
            + zones / GB * prices.between_zones_gb.price
            + put_requests_of(self.stored()) / 1e3 * prices.thousand_puts.price
            + sent / GB * prices.sent_gb.price
    }
}

/// Returns the seconds of a worker's core for a file: the request, compression, and transfer in and
/// out.
fn cpu_of_a_file() -> f64 {
    FETCH_CPU + MEDIA_FILE_BYTES * (PACKING_CPU + 2.0 * NETWORK_CPU)
}
