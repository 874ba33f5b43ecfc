//! `plan`: estimates a scan's resources before it is started.

mod cost;
mod estimate;
mod objects;
mod options;
mod prices;
mod rates;
mod reconcile;
mod report;
mod sample;
mod until_teardown;

use everytab_bundler::object_names;
use everytab_commoncrawl::index::Formats;
use everytab_console::{LineSink, OperationError};
use everytab_storage::StoreSettings;
use serde_json::{Map, Value};

use self::estimate::{Estimate, Line, ReadingFleet, estimate};
pub use self::{
    options::{
        AfterScan, Assumptions, CrawlToPlan, DAYS_UNTIL_TEARDOWN, FleetToPlan, ICONS_PER_HOST,
        IN_FLIGHT, PlannedBackup,
    },
    reconcile::MeasuredScan,
};
use crate::{archive_rate, crawl, index_formats, source};

/// Reads the list of index files and a sample from one file, and prints the estimate.
///
/// # Errors
/// Returns an error if the crawl or its index cannot be read, or a number is invalid.
pub async fn plan_crawl(
    options: &CrawlToPlan,
    as_json: bool,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    let CrawlToPlan { source, source_is_public, limit, workers, assumptions, .. } = options;
    assumptions.check()?;
    let crawl = crawl::resolve(source, *source_is_public, &options.crawl).await?;
    let store = source::open(source, *source_is_public).await?;
    let files = crawl::index_files(&*store, &crawl).await?;
    let file_count = files.len() as u64;
    let wanted = crawl::wanted_files(files, *limit);
    let found = index_formats::read(&*store, wanted.iter().map(|(path, _)| path.as_str())).await?;
    let sample = sample::read(&*store, &wanted).await?;
    let fleet = ReadingFleet {
        workers: *workers,
        archive_rate: archive_rate::of_scan(source, options.archive_rate)?,
    };
    let estimate = estimate(&sample, assumptions, *limit, &fleet);
    if as_json {
        sink.data(format_args!(
            "{}",
            document(&crawl, file_count, options, &estimate, &found.formats)
        ))?;
    } else {
        sink.data(format_args!("{crawl} in {source}: {file_count} index files"))?;
        let formats = &found.formats;
        let read = found.files_read;
        sink.data(format_args!("  stored as {formats} (by the ends of {read} files)"))?;
        for line in &estimate.lines {
            sink.data(format_args!("{}", text(line)))?;
        }
        sink.note(format_args!("measured: read from the crawl just now"));
        sink.note(format_args!(
            "sampled:  extrapolated from the first row group of {}",
            sample.path
        ));
        sink.note(format_args!("assumed:  the options under Assumed in --help"));
        sink.note(format_args!(
            "derived:  follows from the others; hours are those of the stages one after another,"
        ));
        sink.note(format_args!("          but from warc on they overlap, so a scan takes less"));
    }
    Ok(())
}

fn text(line: &Line) -> String {
    let value = line.value.text();
    format!("  {:<28} {value:>14} {:<10} {}", line.name.replace('_', " "), line.unit, line.basis)
}

fn document(
    crawl: &str,
    file_count: u64,
    options: &CrawlToPlan,
    estimate: &Estimate,
    formats: &Formats,
) -> Value {
    let mut numbers = Map::new();
    let mut bases = Map::new();
    for line in &estimate.lines {
        numbers.insert(line.name.into(), line.value.json());
        bases.insert(line.name.into(), Value::from(line.basis.as_str()));
    }
    serde_json::json!({
        "crawl": crawl, "source": options.source, "index_files_of_the_crawl": file_count,
        "limit": options.limit, "workers": options.workers, "numbers": numbers, "basis": bases,
        "index_codecs": formats.codecs, "index_encodings": formats.encodings,
        "index_slow_columns": formats.slow,
    })
}

/// Prints a scan's hours and dollars on a fleet.
///
/// # Errors
/// Returns an error if an instance type has no price, or a number is invalid.
pub fn plan_fleet(
    options: &FleetToPlan,
    prices: &str,
    as_json: bool,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    report::print(options, prices, as_json, sink)
}

/// Prints a scan's numbers next to the model's predictions for a fleet, whose number of hosts is
/// ignored.
///
/// # Errors
/// Returns an error if an instance type has no price.
pub fn reconcile(
    scan: &MeasuredScan,
    options: &FleetToPlan,
    prices: &str,
    as_json: bool,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    report::print_comparison(scan, options, prices, as_json, sink)
}

/// Reads a published scan's numbers from `stats.json` in its site's store.
///
/// # Errors
/// Returns an error if there is no site, or it cannot be read.
pub async fn published_scan(site: &str) -> Result<MeasuredScan, OperationError> {
    let store = everytab_storage::open(site, &StoreSettings::default()).await?;
    MeasuredScan::of_stats(&store.get(object_names::STATS).await?)
}
