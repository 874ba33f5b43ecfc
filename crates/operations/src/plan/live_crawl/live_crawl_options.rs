//! Options of `plan --crawl-pages`, and the bounds within which the model computes with them.

use everytab_frontier::MAX_LINKS_PER_PAGE;

use crate::error::OperationError;

/// Maximum days of a crawl: ten years.
const MAX_DAYS: f64 = 3_650.0;
/// Maximum bytes of a page, because `crawl start --max-bytes` truncates longer ones.
const MAX_PAGE_BYTES: f64 = 16_777_216.0;
/// Maximum known URLs per page, because a crawl follows at most this many links of a page.
const MAX_KNOWN_PER_PAGE: f64 = MAX_LINKS_PER_PAGE as f64;

/// A live crawl whose instances, days and dollars are computed from measured rates.
#[derive(Debug, Clone)]
pub struct LiveCrawlToPlan {
    /// Pages to capture.
    pub pages: u64,
    /// Days available for the crawl.
    pub days: f64,
    /// Uncompressed bytes per page.
    pub page_bytes: f64,
    /// URLs that become known per captured page, including itself.
    pub known_per_page: f64,
    /// Hosts with these pages.
    pub hosts: u64,
    /// Bytes of media files that are kept per page, if media are kept.
    pub media_per_page: f64,
    /// Maximum gigabytes of disk of one Postgres.
    pub database_gb: u64,
    /// Number of workers. `None` for as many as the days require.
    pub workers: Option<u64>,
    /// The instance type of a worker, as named in the table of prices.
    pub instance: String,
    /// The instance type of a Postgres, as named in the table of prices.
    pub database_instance: String,
    /// Requests in flight per worker.
    pub in_flight: u64,
    /// A vCPU's speed, relative to a core of the host on which the rates were measured.
    pub core_speed: f64,
}

impl LiveCrawlToPlan {
    /// Checks that the model can compute with these numbers.
    ///
    /// # Errors
    /// Returns an error if a number is NaN or out of bounds. The message names the option.
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
