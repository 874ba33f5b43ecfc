//! `scan gc`: removes old sites and unreferenced archives.

use clap::Args;
use everytab_operations::gc::{self, GcOptions};

use crate::{
    cli_error::{CliResult, Exit},
    commands::{database, stdout::StandardStreams},
    options::DatabaseArgs,
};

/// Options for `scan gc`.
#[derive(Debug, Args)]
pub struct GcArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Number of newest scans whose sites are kept, in addition to the published one
    #[arg(long, env = "EVERYTAB_KEEP", default_value_t = 2)]
    keep: u32,
    /// Print what would be removed, and remove nothing
    #[arg(long, env = "EVERYTAB_DRY_RUN")]
    dry_run: bool,
    /// Also remove the database rows of the scans whose sites are removed
    #[arg(long, env = "EVERYTAB_DROP_ROWS")]
    drop_rows: bool,
}

/// Removes what no scan needs, and prints a line for each removal.
///
/// # Errors
/// Returns an error if a store or the database fails, or if a manifest cannot be parsed.
pub async fn run(args: GcArgs) -> CliResult {
    let GcArgs { keep, dry_run, drop_rows, .. } = args;
    let coordinator = database::connect(&args.database).await?;
    let options = GcOptions { keep, dry_run, drop_rows };
    gc::gc(&coordinator, options, &StandardStreams).await?;
    Ok(Exit::Done)
}
