//! `plan`: estimates the work, time and cost of a scan before it starts.

use std::path::Path;

use clap::{Args, ValueEnum};
use everytab_jobs::scan_settings::ENTRIES_PER_BUNDLE;
use everytab_operations::{
    archive_rate::ArchiveRate,
    database,
    plan::{self, AfterScan, Assumptions, CrawlToPlan, FleetToPlan, MeasuredScan, PlannedBackup},
    source,
};
use uuid::Uuid;

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::stdout::StandardStreams,
    options::DatabaseArgs,
};

/// Prices, with the month in which they were recorded.
const PRICES: &str = include_str!("../../prices.json");

/// Options for `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The crawl's id, such as CC-MAIN-2026-05, or latest
    #[arg(long, env = "EVERYTAB_CRAWL", default_value = "latest")]
    crawl: String,
    /// The crawl's bucket
    #[arg(long, env = "EVERYTAB_SOURCE", default_value = source::PUBLIC_SOURCE)]
    source: String,
    /// Read an S3 bucket without credentials
    #[arg(long, env = "EVERYTAB_SOURCE_IS_PUBLIC")]
    public: bool,
    /// Maximum number of hosts in the scan
    // No environment variable, because EVERYTAB_LIMIT is set on the console and conflicts with
    // --hosts.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Number of workers
    #[arg(long, env = "EVERYTAB_WORKERS", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    workers: u64,
    /// Maximum requests per second to the crawl's source, for all workers together, or off
    /// [default: 1000 for S3, 9 over HTTPS]
    #[arg(long, env = "EVERYTAB_ARCHIVE_RATE", value_name = "RATE")]
    archive_rate: Option<ArchiveRate>,
    /// Compare the prediction with this scan, given as its stats.json, the directory or bucket of
    /// its site, or its id in the database
    #[arg(long, env = "EVERYTAB_RECONCILE", value_name = "SCAN", conflicts_with = "hosts")]
    reconcile: Option<String>,
    #[command(flatten)]
    database: DatabaseArgs,
    /// Print one JSON document
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
    #[command(flatten)]
    fleet: FleetArgs,
    #[command(flatten)]
    assumed: AssumedArgs,
}

async fn measured(scan: &str, database_url: Option<&str>) -> Result<MeasuredScan, CliError> {
    if let Ok(id) = scan.parse::<Uuid>() {
        let Some(url) = database_url.filter(|url| !url.is_empty()) else {
            return Err(CliError::usage("--reconcile with a scan's id needs --database-url"));
        };
        let coordinator = database::connect(url).await?;
        let number = database::scan_number(&coordinator, Some(id)).await?;
        return MeasuredScan::of_status(&coordinator.scan_status(number).await?);
    }
    if Path::new(scan).is_file() {
        return MeasuredScan::of_stats(&std::fs::read(scan)?);
    }
    plan::published_scan(scan).await
}

/// A fleet whose hours and dollars are computed from measured rates, without reading a crawl.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Hours and dollars, without a crawl")]
struct FleetArgs {
    /// Number of hosts to scan; prints hours, dollars and the bottleneck of each stage
    #[arg(long, env = "EVERYTAB_HOSTS", conflicts_with_all = ["limit"],
          value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    hosts: Option<u64>,
    /// Instance type of the workers, one of those in worker/prices.json
    #[arg(long, env = "EVERYTAB_INSTANCE", default_value = "c7g.large", value_name = "TYPE")]
    instance: String,
    /// Instance type of Postgres
    #[arg(
        long,
        env = "EVERYTAB_DATABASE_INSTANCE",
        default_value = "db.t4g.large",
        value_name = "TYPE"
    )]
    database_instance: String,
    /// Number of requests in flight per worker; the default equals terraform's requests_in_flight
    #[arg(long, env = "EVERYTAB_IN_FLIGHT", default_value_t = plan::IN_FLIGHT,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    in_flight: u64,
    /// Speed of a vCPU relative to a core of the host on which the rates were measured
    #[arg(long, env = "EVERYTAB_CORE_SPEED", default_value_t = 1.0)]
    core_speed: f64,
    /// Days from the end of the scan to teardown; storage for the archive and the disks of Postgres
    /// and the console is billed for this time
    #[arg(long, allow_negative_numbers = true, env = "EVERYTAB_DAYS_UNTIL_TEARDOWN",
          default_value_t = plan::DAYS_UNTIL_TEARDOWN, value_name = "DAYS", requires = "hosts")]
    days_until_teardown: f64,
    /// Backup that the console makes before it stops Postgres and itself
    #[arg(long, env = "EVERYTAB_BACKUP", value_enum, default_value_t = BackupToPlan::Verified,
          requires = "hosts")]
    backup: BackupToPlan,
}

/// The backup that follows a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BackupToPlan {
    /// No backup
    None,
    /// A backup without verification
    Written,
    /// A backup that `restore --verify` then reads
    Verified,
}

impl FleetArgs {
    fn after(&self) -> AfterScan {
        let backup = match self.backup {
            BackupToPlan::None => PlannedBackup::None,
            BackupToPlan::Written => PlannedBackup::Written,
            BackupToPlan::Verified => PlannedBackup::Verified,
        };
        AfterScan { days_until_teardown: self.days_until_teardown, backup }
    }
}

/// Values that cannot be measured beforehand.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Assumed")]
struct AssumedArgs {
    /// Number of tabs per bundle
    #[arg(long, env = "EVERYTAB_ENTRIES_PER_BUNDLE", default_value_t = ENTRIES_PER_BUNDLE,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    entries_per_bundle: u32,
    /// Number of icon URLs per host
    #[arg(long, env = "EVERYTAB_ICONS_PER_HOST", default_value_t = plan::ICONS_PER_HOST)]
    icons_per_host: f64,
    /// Bytes per icon in the archive, averaged over all icon URLs
    #[arg(long, env = "EVERYTAB_BYTES_PER_ICON", default_value_t = 4_000.0)]
    bytes_per_icon: f64,
    /// Bytes per tab in a bundle
    #[arg(long, env = "EVERYTAB_BYTES_PER_TAB", default_value_t = 1_800.0)]
    bytes_per_tab: f64,
    /// Index bytes that a worker reads per second
    #[arg(long, env = "EVERYTAB_INDEX_BYTES_PER_SECOND", default_value_t = 25_000_000.0)]
    index_bytes_per_second: f64,
    /// Home pages that a worker reads per second
    #[arg(long, env = "EVERYTAB_PAGES_PER_SECOND", default_value_t = 250.0)]
    pages_per_second: f64,
    /// Icon URLs that a worker fetches per second
    #[arg(long, env = "EVERYTAB_ICONS_PER_SECOND", default_value_t = 250.0)]
    icons_per_second: f64,
    /// Tabs that a worker bundles per second
    #[arg(long, env = "EVERYTAB_TABS_PER_SECOND", default_value_t = 500.0)]
    tabs_per_second: f64,
    /// Price of a thousand PUT or LIST requests, in dollars
    #[arg(long, env = "EVERYTAB_DOLLARS_PER_1000_PUTS", default_value_t = 0.005)]
    dollars_per_1000_puts: f64,
    /// Price of a thousand GET requests, in dollars; requests to a public data set are free
    #[arg(long, env = "EVERYTAB_DOLLARS_PER_1000_GETS", default_value_t = 0.000_4)]
    dollars_per_1000_gets: f64,
    /// Price of storing a gigabyte for a month, in dollars
    #[arg(long, env = "EVERYTAB_DOLLARS_PER_GB_MONTH", default_value_t = 0.023)]
    dollars_per_gb_month: f64,
}

impl AssumedArgs {
    fn assumptions(&self) -> Assumptions {
        Assumptions {
            entries_per_bundle: self.entries_per_bundle,
            icons_per_host: self.icons_per_host,
            bytes_per_icon: self.bytes_per_icon,
            bytes_per_tab: self.bytes_per_tab,
            index_bytes_per_second: self.index_bytes_per_second,
            pages_per_second: self.pages_per_second,
            icons_per_second: self.icons_per_second,
            tabs_per_second: self.tabs_per_second,
            dollars_per_1000_puts: self.dollars_per_1000_puts,
            dollars_per_1000_gets: self.dollars_per_1000_gets,
            dollars_per_gb_month: self.dollars_per_gb_month,
        }
    }
}

/// Estimates a scan of a crawl, or computes the hours and dollars for a number of hosts.
///
/// # Errors
/// Returns an error if a source cannot be read, or if a number is invalid.
pub async fn run(args: PlanArgs) -> CliResult {
    let PlanArgs { crawl, source, public, limit, workers, archive_rate, fleet, assumed, .. } = args;
    let PlanArgs { reconcile, database, json, .. } = args;
    let assumptions = assumed.assumptions();
    assumptions.check()?;
    let after = fleet.after();
    let FleetArgs { hosts, instance, database_instance, in_flight, core_speed, .. } = fleet;
    let fleet = FleetToPlan {
        hosts: hosts.unwrap_or(0),
        workers,
        instance,
        database_instance,
        in_flight,
        archive_rate,
        core_speed,
        after,
    };
    if let Some(scan) = reconcile {
        let scan = measured(&scan, database.database_url.as_deref()).await?;
        plan::reconcile(&scan, &fleet, PRICES, json, &StandardStreams)?;
    } else if hosts.is_some() {
        plan::plan_fleet(&fleet, PRICES, json, &StandardStreams)?;
    } else {
        let source_is_public = public;
        let options = CrawlToPlan {
            crawl,
            source,
            source_is_public,
            limit,
            workers,
            archive_rate,
            assumptions,
        };
        plan::plan_crawl(&options, json, &StandardStreams).await?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        assumed: AssumedArgs,
    }

    #[test]
    fn the_defaults_of_the_options_are_those_of_the_operation() {
        let options = Options::parse_from(["x"]).assumed.assumptions();
        assert_eq!(format!("{options:?}"), format!("{:?}", Assumptions::default()));
    }
}
