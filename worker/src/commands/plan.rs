//! `plan`: what a scan of a crawl will take, before it is started.
//!
//! Invariants: what was measured and what is assumed are told apart, number by number; only one
//! row group of one index file is read. The shapes of shards and bundles are those of
//! `coordinator.fan_out`.

mod cost;
mod estimate;
mod prices;
mod report;
mod sample;

use clap::Args;
use everytab_storage::StoreSettings;
use serde_json::{Map, Value};

use self::estimate::{Basis, Estimate, Line, estimate};
use crate::{
    commands::stdout,
    crawl,
    failure::{Exit, Outcome},
    limits,
};

/// Options of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The crawl's id, such as CC-MAIN-2026-05, or latest
    #[arg(long, env = "EVERYTAB_CRAWL", default_value = "latest")]
    crawl: String,
    /// The crawl's bucket
    #[arg(long, env = "EVERYTAB_SOURCE", default_value = crawl::PUBLIC_SOURCE)]
    source: String,
    /// Read an S3 bucket without credentials
    #[arg(long, env = "EVERYTAB_SOURCE_IS_PUBLIC")]
    public: bool,
    /// Hosts wanted at most
    #[arg(long, env = "EVERYTAB_LIMIT", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Workers
    #[arg(long, env = "EVERYTAB_WORKERS", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    workers: u64,
    /// One JSON document
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
    #[command(flatten)]
    fleet: FleetArgs,
    #[command(flatten)]
    assumed: Assumed,
}

/// Hours and dollars of so many hosts, by measured rates and without a look at a crawl.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Hours and dollars, without a crawl")]
struct FleetArgs {
    /// Hosts to be scanned: print hours, dollars and what bounds each stage
    #[arg(long, env = "EVERYTAB_HOSTS", conflicts_with_all = ["limit"],
          value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    hosts: Option<u64>,
    /// Machine of a worker, of those in worker/prices.json
    #[arg(long, env = "EVERYTAB_INSTANCE", default_value = "c7g.large", value_name = "TYPE")]
    instance: String,
    /// Machine of Postgres
    #[arg(
        long,
        env = "EVERYTAB_DATABASE_INSTANCE",
        default_value = "db.t4g.large",
        value_name = "TYPE"
    )]
    database_instance: String,
    /// Requests in flight of a worker, as `run --in-flight` has it
    #[arg(long, env = "EVERYTAB_IN_FLIGHT", default_value_t = 512,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    in_flight: u64,
    /// How fast a vCPU is, of a core of the machine that the rates were measured on
    #[arg(long, env = "EVERYTAB_CORE_SPEED", default_value_t = 1.0)]
    core_speed: f64,
}

/// What cannot be measured beforehand.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Assumed")]
struct Assumed {
    /// Tabs of a bundle
    #[arg(long, env = "EVERYTAB_ENTRIES_PER_BUNDLE", default_value_t = limits::ENTRIES_PER_BUNDLE,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    entries_per_bundle: u32,
    /// Icon URLs of a host
    #[arg(long, env = "EVERYTAB_ICONS_PER_HOST", default_value_t = 2.2)]
    icons_per_host: f64,
    /// Bytes of an icon in the archive, as an average over all icon URLs
    #[arg(long, env = "EVERYTAB_BYTES_PER_ICON", default_value_t = 4_000.0)]
    bytes_per_icon: f64,
    /// Bytes of a tab in a bundle
    #[arg(long, env = "EVERYTAB_BYTES_PER_TAB", default_value_t = 1_800.0)]
    bytes_per_tab: f64,
    /// Index bytes a worker reads in a second
    #[arg(long, env = "EVERYTAB_INDEX_BYTES_PER_SECOND", default_value_t = 25_000_000.0)]
    index_bytes_per_second: f64,
    /// Home pages a worker reads in a second
    #[arg(long, env = "EVERYTAB_PAGES_PER_SECOND", default_value_t = 250.0)]
    pages_per_second: f64,
    /// Icon URLs a worker asks in a second
    #[arg(long, env = "EVERYTAB_ICONS_PER_SECOND", default_value_t = 250.0)]
    icons_per_second: f64,
    /// Tabs a worker bundles in a second
    #[arg(long, env = "EVERYTAB_TABS_PER_SECOND", default_value_t = 500.0)]
    tabs_per_second: f64,
    /// Dollars for a thousand PUT or LIST requests
    #[arg(long, env = "EVERYTAB_DOLLARS_PER_1000_PUTS", default_value_t = 0.005)]
    dollars_per_1000_puts: f64,
    /// Dollars for a thousand GET requests; those to a public data set are free
    #[arg(long, env = "EVERYTAB_DOLLARS_PER_1000_GETS", default_value_t = 0.000_4)]
    dollars_per_1000_gets: f64,
    /// Dollars to store a gigabyte for a month
    #[arg(long, env = "EVERYTAB_DOLLARS_PER_GB_MONTH", default_value_t = 0.023)]
    dollars_per_gb_month: f64,
}

/// Reads the crawl's list and a sample, and prints what follows from them.
///
/// # Errors
/// When the crawl or its index cannot be read.
pub async fn run(args: PlanArgs) -> Outcome {
    args.assumed.check()?;
    if let Some(hosts) = args.fleet.hosts {
        return report::print(&args, hosts);
    }
    let crawl = crawl::resolve(&args.source, &args.crawl).await?;
    let settings = StoreSettings { no_credentials: args.public, ..StoreSettings::default() };
    let store = everytab_storage::open(&args.source, &settings).await?;
    let files = crawl::index_files(&*store, &crawl).await?;
    let of_the_crawl = files.len() as u64;
    let wanted = crawl::wanted_files(files, args.limit);
    let sample = sample::read(&*store, &wanted).await?;
    let estimate = estimate(&sample, &args.assumed, args.limit, args.workers);
    if args.json {
        stdout::line(document(&crawl, of_the_crawl, &args, &estimate))?;
    } else {
        stdout::line(format_args!("{crawl} in {}: {of_the_crawl} index files", args.source))?;
        for line in &estimate.lines {
            stdout::line(text(line))?;
        }
        eprintln!("measured: read from the crawl just now");
        eprintln!("sampled:  extrapolated from the first row group of {}", sample.path);
        eprintln!("assumed:  the options under Assumed in --help");
        eprintln!(
            "derived:  follows from the others; hours are those of the stages one after another,"
        );
        eprintln!("          but from warc on they overlap, so a scan takes less");
    }
    Ok(Exit::Done)
}

fn text(line: &Line) -> String {
    let value = line.value.text();
    format!("  {:<28} {value:>14} {:<10} {}", line.name.replace('_', " "), line.unit, line.basis)
}

fn document(crawl: &str, of_the_crawl: u64, args: &PlanArgs, estimate: &Estimate) -> Value {
    let mut numbers = Map::new();
    let mut bases = Map::new();
    for line in &estimate.lines {
        numbers.insert(line.name.into(), line.value.json());
        bases.insert(line.name.into(), Value::from(line.basis.as_str()));
    }
    serde_json::json!({
        "crawl": crawl, "source": args.source, "index_files_of_the_crawl": of_the_crawl,
        "limit": args.limit, "workers": args.workers, "numbers": numbers, "basis": bases,
    })
}

impl std::fmt::Display for Basis {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Assumed {
    /// Rates must be numbers that can be divided by.
    fn check(&self) -> Result<(), crate::failure::Failure> {
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
            Some((name, value)) => Err(crate::failure::Failure::usage(format!(
                "--{name} {value}: give a number greater than zero"
            ))),
            None => Ok(()),
        }
    }
}
