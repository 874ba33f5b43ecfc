//! Options of `plan --crawl-pages`, and the bounds within which the model computes with them.

use everytab_frontier::MAX_LINKS_PER_PAGE;

use crate::error::OperationError;

/// The longest crawl in days: ten years.
const MAX_DAYS: f64 = 3_650.0;
/// Most bytes of a page: `crawl start --max-bytes` cuts longer ones.
const MAX_PAGE_BYTES: f64 = 16_777_216.0;
/// Most URLs that become known for each page: as many links of a page are followed.
const MAX_KNOWN_PER_PAGE: f64 = MAX_LINKS_PER_PAGE as f64;

/// A live crawl whose machines, days and dollars are computed by measured rates.
#[derive(Debug, Clone)]
pub struct LiveCrawlToPlan {
    /// Pages to capture.
    pub pages: u64,
    /// Days in which this is to be done.
    pub days: f64,
    /// Bytes of a page, unpacked.
    pub page_bytes: f64,
    /// URLs that become known for each captured page, itself included.
    pub known_per_page: f64,
    /// Hosts that have these pages.
    pub hosts: u64,
    /// Bytes of media files that are kept for each page, if media are kept.
    pub media_per_page: f64,
    /// Gigabytes of disk of one Postgres at most.
    pub database_gb: u64,
    /// Workers; without it, as many as the days ask for.
    pub workers: Option<u64>,
    /// The machine of a worker, by its name in the table of prices.
    pub instance: String,
    /// The machine of a Postgres, by its name in the table of prices.
    pub database_instance: String,
    /// Requests in flight per worker.
    pub in_flight: u64,
    /// The speed of a vCPU, as a multiple of a core of the machine that the rates were measured on.
    pub core_speed: f64,
}

impl LiveCrawlToPlan {
    /// Checks that the model can compute with these numbers.
    ///
    /// # Errors
    /// When a number is no number, or outside of its bounds. The message names the option.
    pub(super) fn check(&self) -> Result<(), OperationError> {
        let numbers = [
            ("--crawl-pages", self.pages as f64, 1.0, 1e13),
            ("--crawl-days", self.days, 0.001, MAX_DAYS),
            ("--crawl-page-bytes", self.page_bytes, 1.0, MAX_PAGE_BYTES),
            ("--crawl-known-per-page", self.known_per_page, 1.0, MAX_KNOWN_PER_PAGE),
            ("--crawl-hosts", self.hosts as f64, 1.0, 1e10),
            ("--crawl-media-per-page", self.media_per_page, 0.0, 1e9),
            ("--crawl-database-gb", self.database_gb as f64, 100.0, 64_000.0),
            ("--core-speed", self.core_speed, 0.01, 100.0),
            ("--in-flight", self.in_flight as f64, 1.0, 100_000.0),
        ];
        let outside = numbers
            .into_iter()
            .find(|(_, number, least, most)| !(number >= least && number <= most));
        match outside {
            Some((option, number, least, most)) => {
                let number = match number.abs() < 1e15 {
                    true => number.to_string(),
                    false => format!("{number:e}"),
                };
                Err(OperationError::usage(format!(
                    "{option} {number}: give a number between {least} and {most}"
                )))
            }
            None => Ok(()),
        }
    }
}
