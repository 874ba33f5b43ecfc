//! The options for `plan`, and its assumptions.

use everytab_console::OperationError;
use everytab_jobs::scan_settings::ENTRIES_PER_BUNDLE;

use super::rates::ICONS_A_HOST;
use crate::archive_rate::ArchiveRate;

/// Icon URLs per host, including its `/favicon.ico`.
pub const ICONS_PER_HOST: f64 = ICONS_A_HOST;

/// Default days from the end of a scan to teardown.
pub const DAYS_UNTIL_TEARDOWN: f64 = 5.0;
/// Maximum days from the end of a scan to teardown.
const MAX_DAYS_UNTIL_TEARDOWN: f64 = 365.0;
/// Default requests in flight per worker, as in `terraform/variables.tf`.
pub const IN_FLIGHT: u64 = 2_048;

/// The crawl and the scan to estimate.
#[derive(Debug, Clone)]
pub struct CrawlToPlan {
    /// The crawl's id, or `latest`.
    pub crawl: String,
    /// The URL of the crawl's bucket.
    pub source: String,
    /// Whether an S3 bucket is read without credentials.
    pub source_is_public: bool,
    /// Maximum number of hosts to scan. `None` for all.
    pub limit: Option<u64>,
    /// Number of workers.
    pub workers: u64,
    /// Requests per second to the source, for all workers together. `None` for the source's default
    /// rate.
    pub archive_rate: Option<ArchiveRate>,
    /// Numbers that cannot be measured before the scan.
    pub assumptions: Assumptions,
}

/// A fleet whose hours and dollars are computed from measured rates.
#[derive(Debug, Clone)]
pub struct FleetToPlan {
    /// Number of hosts to scan.
    pub hosts: u64,
    /// Number of workers.
    pub workers: u64,
    /// The workers' instance type, as named in the price table.
    pub instance: String,
    /// Postgres's instance type, as named in the price table.
    pub database_instance: String,
    /// Requests in flight per worker.
    pub in_flight: u64,
    /// Requests per second to the source, for all workers together. `None` for the default S3 rate.
    pub archive_rate: Option<ArchiveRate>,
    /// A vCPU's speed, relative to a core on the host where the rates were measured.
    pub core_speed: f64,
    /// The time after this scan.
    pub after: AfterScan,
}

/// The time after a scan for which its Postgres, console and archive must be paid for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AfterScan {
    /// Days from the end of the scan to teardown.
    pub days_until_teardown: f64,
    /// The backup that the console makes.
    pub backup: PlannedBackup,
}

/// How often a backup's bytes pass through the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedBackup {
    /// No backup is written.
    None,
    /// The backup is written.
    Written,
    /// The backup is written, and read again by `restore --verify`.
    Verified,
}

impl Default for AfterScan {
    fn default() -> Self {
        let backup = PlannedBackup::Verified;
        Self { days_until_teardown: DAYS_UNTIL_TEARDOWN, backup }
    }
}

impl AfterScan {
    pub(super) fn check(self) -> Result<(), OperationError> {
        let days = self.days_until_teardown;
        if (0.0..=MAX_DAYS_UNTIL_TEARDOWN).contains(&days) {
            return Ok(());
        }
        Err(OperationError::usage(format!(
            "--days-until-teardown {days}: give a number between 0 and {MAX_DAYS_UNTIL_TEARDOWN}"
        )))
    }
}

/// A scan's assumed numbers, which cannot be measured in advance.
#[derive(Debug, Clone)]
pub struct Assumptions {
    /// Tabs per bundle.
    pub entries_per_bundle: u32,
    /// Icon URLs per host.
    pub icons_per_host: f64,
    /// Bytes per icon in the archive, averaged over all icon URLs.
    pub bytes_per_icon: f64,
    /// Bytes per tab in a bundle.
    pub bytes_per_tab: f64,
    /// Index bytes that a worker reads per second.
    pub index_bytes_per_second: f64,
    /// Home pages that a worker reads per second.
    pub pages_per_second: f64,
    /// Icon URLs that a worker requests per second.
    pub icons_per_second: f64,
    /// Tabs that a worker bundles per second.
    pub tabs_per_second: f64,
    /// Dollars per thousand PUT or LIST requests.
    pub dollars_per_1000_puts: f64,
    /// Dollars per thousand GET requests.
    pub dollars_per_1000_gets: f64,
    /// Dollars per gigabyte and month.
    pub dollars_per_gb_month: f64,
}

impl Default for Assumptions {
    fn default() -> Self {
        Self {
            entries_per_bundle: ENTRIES_PER_BUNDLE,
            icons_per_host: ICONS_PER_HOST,
            bytes_per_icon: 4_000.0,
            bytes_per_tab: 1_800.0,
            index_bytes_per_second: 25_000_000.0,
            pages_per_second: 250.0,
            icons_per_second: 250.0,
            tabs_per_second: 500.0,
            dollars_per_1000_puts: 0.005,
            dollars_per_1000_gets: 0.000_4,
            dollars_per_gb_month: 0.023,
        }
    }
}

impl Assumptions {
    /// Checks that an estimate can be computed from these numbers.
    ///
    /// # Errors
    /// Returns an error if a rate is not a positive number, or an amount is negative.
    pub fn check(&self) -> Result<(), OperationError> {
        let rates = [
            ("index-bytes-per-second", self.index_bytes_per_second),
            ("pages-per-second", self.pages_per_second),
            ("icons-per-second", self.icons_per_second),
            ("tabs-per-second", self.tabs_per_second),
        ];
        let amounts = [
            ("icons-per-host", self.icons_per_host),
            ("bytes-per-icon", self.bytes_per_icon),
            ("bytes-per-tab", self.bytes_per_tab),
            ("dollars-per-1000-puts", self.dollars_per_1000_puts),
            ("dollars-per-1000-gets", self.dollars_per_1000_gets),
            ("dollars-per-gb-month", self.dollars_per_gb_month),
        ];
        let bad_rate = rates.into_iter().find(|(_, rate)| !(rate.is_finite() && *rate > 0.0));
        let bad_amount =
            amounts.into_iter().find(|(_, amount)| !(amount.is_finite() && *amount >= 0.0));
        match bad_rate.or(bad_amount) {
            Some((name, value)) => Err(OperationError::usage(format!(
                "--{name} {value}: give a number greater than zero"
            ))),
            None => Ok(()),
        }
    }
}
