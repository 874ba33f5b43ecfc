//! Computes the totals of a live crawl: bytes, requests, rows, and the load on its instances. Pure.

use everytab_fetcher::capacity;

use super::{
    crawl_bounds::{CrawlFleet, CrawlOrder, DAY, slots_text},
    crawl_rates::{
        ARCHIVE_BYTES, ARCHIVE_SECONDS, DISK_GB_AT_LEAST, DISK_IN_USE, FAST_DISK_GB,
        FRONTIER_MEMORY_BYTES, HOST_ROW_BYTES, INDEX_BYTES, PART_BYTES, REQUESTS,
    },
    figure::{Figure, bytes, counted, number, seconds},
};
use crate::plan::{cost::GB, rates::LOOKUP_BYTES_OUT};

/// Archives that a worker keeps open: pages, errors and other responses, robots.txt.
const SUBSETS: f64 = 3.0;
/// Requests that start and complete a multipart upload.
const UPLOAD_REQUESTS: f64 = 2.0;

/// Totals of a whole crawl.
#[derive(Debug, Clone)]
pub(super) struct CrawlTotals {
    pub(super) seconds: f64,
    pub(super) received: f64,
    pub(super) archives: f64,
    pub(super) indexes: f64,
    pub(super) sent: f64,
    pub(super) log: f64,
    pub(super) put_requests: f64,
}

impl CrawlTotals {
    pub(super) fn new(order: &CrawlOrder<'_>, fleet: &CrawlFleet) -> Self {
        let (pages, page) = (order.pages, &order.page);
        let seconds = pages / fleet.pages_a_second;
        let archives = pages * page.stored;
        Self {
            seconds,
            received: pages * page.received,
            archives,
            indexes: pages * INDEX_BYTES,
            sent: pages * page.sent + order.hosts * LOOKUP_BYTES_OUT,
            log: pages * page.log,
            put_requests: timed_puts(fleet, seconds).min(pages * REQUESTS)
                + put_requests_of(archives),
        }
    }

    pub(super) fn days(&self) -> f64 {
        self.seconds / DAY
    }

    /// Returns the totals and the load, with their formulas.
    pub(super) fn figures(&self, order: &CrawlOrder<'_>, fleet: &CrawlFleet) -> Vec<Figure> {
        let (count, page) = (counted(order.pages, "page"), &order.page);
        let rate = fleet.pages_a_second;
        let of_pages = |name, value, each: f64| Figure {
            name,
            value,
            unit: "bytes",
            formula: format!("{count} x {}", bytes(each)),
        };
        let mut figures = vec![
            Figure {
                name: "requests to the web",
                value: order.pages * REQUESTS,
                unit: "",
                formula: format!("{count} x {}", number(REQUESTS)),
            },
            of_pages("HTML, unpacked", order.pages * page.html, page.html),
            of_pages("received from the web", self.received, page.received),
            of_pages("archives (WARC, gzip)", self.archives, page.stored),
            of_pages("indexes (parquet, CDXJ)", self.indexes, INDEX_BYTES),
            Figure {
                name: "sent to the web",
                value: self.sent,
                unit: "bytes",
                formula: format!(
                    "{count} x {} + {} x {LOOKUP_BYTES_OUT}",
                    bytes(page.sent),
                    counted(order.hosts, "host")
                ),
            },
            Figure {
                name: "PUT requests",
                value: self.put_requests,
                unit: "",
                formula: match timed_puts(fleet, self.seconds) > order.pages * REQUESTS {
                    true => "of so few requests at most one each".into(),
                    false => self.put_formula(fleet),
                },
            },
        ];
        figures.extend(self.load(order, fleet, rate));
        figures.extend(self.database(order, fleet, rate));
        figures
    }

    fn put_formula(&self, fleet: &CrawlFleet) -> String {
        format!(
            "{} / {} + {UPLOAD_REQUESTS} x {} / {} + {SUBSETS} x {} x {} / {ARCHIVE_SECONDS} s",
            bytes(self.archives),
            bytes(PART_BYTES),
            bytes(self.archives),
            bytes(ARCHIVE_BYTES),
            counted(fleet.workers, "worker"),
            seconds(self.seconds)
        )
    }

    fn load(&self, order: &CrawlOrder<'_>, fleet: &CrawlFleet, rate: f64) -> [Figure; 5] {
        let (page, a_second) = (&order.page, format!("{} pages/s", number(rate)));
        let requests = capacity::memory_of(order.in_flight as u64) as f64;
        [
            Figure {
                name: "workers' cores at work",
                value: rate * page.cpu / order.core_speed,
                unit: "",
                formula: format!("{a_second} x {}", seconds(page.cpu)),
            },
            Figure {
                name: "network of a worker, in",
                value: rate * page.received * 8.0 / fleet.workers / 1e9,
                unit: "Gbit/s",
                formula: format!(
                    "{a_second} x {} x 8 / {}",
                    bytes(page.received),
                    counted(fleet.workers, "worker")
                ),
            },
            Figure {
                name: "memory of a worker, at most",
                value: FRONTIER_MEMORY_BYTES + requests,
                unit: "bytes",
                formula: format!(
                    "{} + {} requests in flight",
                    bytes(FRONTIER_MEMORY_BYTES),
                    number(order.in_flight)
                ),
            },
            Figure {
                name: "hosts asked at a time",
                value: rate * page.host_seconds,
                unit: "",
                formula: format!("{a_second} x {}", seconds(page.host_seconds)),
            },
            Figure {
                name: "pages of one host, at most",
                value: self.seconds / page.host_seconds,
                unit: "",
                formula: format!("{} / {}", seconds(self.seconds), seconds(page.host_seconds)),
            },
        ]
    }

    fn database(&self, order: &CrawlOrder<'_>, fleet: &CrawlFleet, rate: f64) -> Vec<Figure> {
        let (page, databases) = (&order.page, counted(fleet.databases, "database"));
        let figure = |name, value, unit, formula| Figure { name, value, unit, formula };
        let rows = format!(
            "{} x {} + {} x {}",
            counted(order.pages, "page"),
            bytes(page.rows),
            counted(order.hosts, "host"),
            bytes(HOST_ROW_BYTES)
        );
        let disk = format!(
            "{} / {DISK_IN_USE} / {databases}; {} at least, {} where smaller ones are too slow",
            bytes(fleet.row_bytes),
            bytes(DISK_GB_AT_LEAST * GB),
            bytes(FAST_DISK_GB * GB)
        );
        let log = format!("{} x {}", counted(order.pages, "page"), bytes(page.log));
        let rate_text = number(rate);
        let slots = slots_text(fleet.databases);
        vec![
            figure("rows of Postgres", fleet.row_bytes, "bytes", rows),
            figure("databases", fleet.databases, "", format!("by ranges of slots: {slots}")),
            figure("disk of a database", fleet.disk_gb * GB, "bytes", disk),
            figure("log of Postgres", self.log, "bytes", log),
            figure(
                "log a second",
                rate * page.log,
                "bytes",
                format!("{rate_text} pages/s x {}", bytes(page.log)),
            ),
            figure(
                "databases' cores at work",
                rate * page.database_cpu / order.core_speed,
                "",
                format!("{rate_text} pages/s x {}", seconds(page.database_cpu)),
            ),
        ]
    }
}

/// Returns the number of archives that are uploaded because of their age, regardless of their size.
fn timed_puts(fleet: &CrawlFleet, seconds: f64) -> f64 {
    SUBSETS * fleet.workers * (seconds / ARCHIVE_SECONDS)
}

/// Returns the requests that upload this many bytes in ordinary archives: their parts, and two per
/// archive.
pub(super) fn put_requests_of(bytes: f64) -> f64 {
    bytes / PART_BYTES + UPLOAD_REQUESTS * bytes / ARCHIVE_BYTES
}
