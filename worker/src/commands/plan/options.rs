//! The options of `plan`, and what is assumed where nothing can be measured beforehand.

use clap::Args;

use crate::{cli_error::CliError, crawl, limits};

/// Options of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The crawl's id, such as CC-MAIN-2026-05, or latest
    #[arg(long, env = "EVERYTAB_CRAWL", default_value = "latest")]
    pub(super) crawl: String,
    /// The crawl's bucket
    #[arg(long, env = "EVERYTAB_SOURCE", default_value = crawl::PUBLIC_SOURCE)]
    pub(super) source: String,
    /// Read an S3 bucket without credentials
    #[arg(long, env = "EVERYTAB_SOURCE_IS_PUBLIC")]
    pub(super) public: bool,
    /// Hosts wanted at most
    #[arg(long, env = "EVERYTAB_LIMIT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) limit: Option<u64>,
    /// Workers
    #[arg(long, env = "EVERYTAB_WORKERS", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(super) workers: u64,
    /// One JSON document
    #[arg(long, env = "EVERYTAB_JSON")]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    #[command(flatten)]
    pub(super) assumed: Assumed,
}

/// Hours and dollars of so many hosts, by measured rates and without a look at a crawl.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Hours and dollars, without a crawl")]
pub(super) struct FleetArgs {
    /// Hosts to be scanned: print hours, dollars and what bounds each stage
    #[arg(long, env = "EVERYTAB_HOSTS", conflicts_with_all = ["limit"],
          value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    pub(super) hosts: Option<u64>,
    /// Machine of a worker, of those in worker/prices.json
    #[arg(long, env = "EVERYTAB_INSTANCE", default_value = "c7g.large", value_name = "TYPE")]
    pub(super) instance: String,
    /// Machine of Postgres
    #[arg(
        long,
        env = "EVERYTAB_DATABASE_INSTANCE",
        default_value = "db.t4g.large",
        value_name = "TYPE"
    )]
    pub(super) database_instance: String,
    /// Requests in flight of a worker, as `run --in-flight` has it
    #[arg(long, env = "EVERYTAB_IN_FLIGHT", default_value_t = 512,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(super) in_flight: u64,
    /// How fast a vCPU is, of a core of the machine that the rates were measured on
    #[arg(long, env = "EVERYTAB_CORE_SPEED", default_value_t = 1.0)]
    pub(super) core_speed: f64,
}

/// What cannot be measured beforehand.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Assumed")]
pub(super) struct Assumed {
    /// Tabs of a bundle
    #[arg(long, env = "EVERYTAB_ENTRIES_PER_BUNDLE", default_value_t = limits::ENTRIES_PER_BUNDLE,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) entries_per_bundle: u32,
    /// Icon URLs of a host
    #[arg(long, env = "EVERYTAB_ICONS_PER_HOST", default_value_t = 2.2)]
    pub(super) icons_per_host: f64,
    /// Bytes of an icon in the archive, as an average over all icon URLs
    #[arg(long, env = "EVERYTAB_BYTES_PER_ICON", default_value_t = 4_000.0)]
    pub(super) bytes_per_icon: f64,
    /// Bytes of a tab in a bundle
    #[arg(long, env = "EVERYTAB_BYTES_PER_TAB", default_value_t = 1_800.0)]
    pub(super) bytes_per_tab: f64,
    /// Index bytes a worker reads in a second
    #[arg(long, env = "EVERYTAB_INDEX_BYTES_PER_SECOND", default_value_t = 25_000_000.0)]
    pub(super) index_bytes_per_second: f64,
    /// Home pages a worker reads in a second
    #[arg(long, env = "EVERYTAB_PAGES_PER_SECOND", default_value_t = 250.0)]
    pub(super) pages_per_second: f64,
    /// Icon URLs a worker asks in a second
    #[arg(long, env = "EVERYTAB_ICONS_PER_SECOND", default_value_t = 250.0)]
    pub(super) icons_per_second: f64,
    /// Tabs a worker bundles in a second
    #[arg(long, env = "EVERYTAB_TABS_PER_SECOND", default_value_t = 500.0)]
    pub(super) tabs_per_second: f64,
    /// Dollars for a thousand PUT or LIST requests
    #[arg(long, env = "EVERYTAB_DOLLARS_PER_1000_PUTS", default_value_t = 0.005)]
    pub(super) dollars_per_1000_puts: f64,
    /// Dollars for a thousand GET requests; those to a public data set are free
    #[arg(long, env = "EVERYTAB_DOLLARS_PER_1000_GETS", default_value_t = 0.000_4)]
    pub(super) dollars_per_1000_gets: f64,
    /// Dollars to store a gigabyte for a month
    #[arg(long, env = "EVERYTAB_DOLLARS_PER_GB_MONTH", default_value_t = 0.023)]
    pub(super) dollars_per_gb_month: f64,
}

impl Assumed {
    /// Rates must be numbers that can be divided by.
    pub(super) fn check(&self) -> Result<(), CliError> {
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
            Some((name, value)) => {
                Err(CliError::usage(format!("--{name} {value}: give a number greater than zero")))
            }
            None => Ok(()),
        }
    }
}
