//! `plan`: what a scan of a crawl will take, before it is started.
//!
//! Invariants: what was measured and what is assumed are told apart, number by number; only one
//! row group of one index file is read. The shapes of shards and bundles are those of
//! `coordinator.fan_out`.

mod cost;
mod estimate;
mod options;
mod prices;
mod report;
mod sample;

use everytab_storage::StoreSettings;
use serde_json::{Map, Value};

use self::estimate::{Estimate, Line, estimate};
pub use self::options::PlanArgs;
use crate::{
    cli_error::{CliResult, Exit},
    commands::stdout,
    crawl,
};

/// Reads the crawl's list and a sample, and prints what follows from them.
///
/// # Errors
/// When the crawl or its index cannot be read.
pub async fn run(args: PlanArgs) -> CliResult {
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
