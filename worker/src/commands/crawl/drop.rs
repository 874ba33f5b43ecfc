//! `crawl drop`: removes an ended crawl's rows and archives.

use clap::Args;
use everytab_crawl_operations::crawl_drop::{self, DropReport};
use serde_json::json;

use crate::{
    cli_error::{CliResult, Exit},
    commands::{
        one_crawl,
        stdout::{self, StandardStreams},
    },
    options::DatabaseArgs,
};

#[derive(Debug, Args)]
pub(super) struct DropArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The crawl's id, a prefix of the id, or its name
    #[arg(value_name = "ID")]
    crawl: String,
    /// Print what would be removed and kept, and change nothing
    #[arg(long, env = "EVERYTAB_DRY_RUN")]
    dry_run: bool,
    /// Print one JSON document
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
}

/// Removes a crawl.
///
/// # Errors
/// Returns an error if the crawl is running or in use, or if Postgres or a store is unreachable.
pub(super) async fn run(args: DropArgs) -> CliResult {
    let DropArgs { database, crawl, dry_run, json } = args;
    let (coordinator, crawl) = one_crawl::find(&database, Some(&crawl)).await?;
    let of = (crawl.id, crawl.crawl);
    let report = crawl_drop::drop_crawl(&coordinator, of, dry_run, &StandardStreams).await?;
    let DropReport { fetches, removed, kept, kept_records } = report;
    if json {
        stdout::line(json!({
            "id": crawl.id, "name": crawl.name, "dry_run": dry_run, "fetches": fetches,
            "removed": { "objects": removed.objects, "bytes": removed.bytes },
            "kept": {
                "objects": kept.objects, "bytes": kept.bytes, "records": kept_records,
            },
        }))?;
        return Ok(Exit::Done);
    }
    let (done, stays) =
        if dry_run { ("would be removed", "would be kept") } else { ("removed", "kept") };
    stdout::line(format_args!(
        "{done}: {fetches} fetches, {} objects of {} bytes",
        removed.objects, removed.bytes
    ))?;
    stdout::line(format_args!(
        "{stays}: {} objects of {} bytes, with {kept_records} records to which other crawls refer",
        kept.objects, kept.bytes
    ))?;
    Ok(Exit::Done)
}
