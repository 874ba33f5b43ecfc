//! `restore`: restores a backup, or verifies it.

use std::path::{Path, PathBuf};

use clap::Args;
use everytab_operations::backup::{self, RestoreOptions};

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{database, stdout::StandardStreams},
    options::DatabaseArgs,
};

/// Options for `restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Location of the backup (file:// or s3://)
    #[arg(long, env = "EVERYTAB_BACKUP_FROM")]
    from: String,
    /// Only verify: load the rows into a private Postgres, read every object, and compare
    #[arg(long, env = "EVERYTAB_VERIFY", conflicts_with_all = ["site", "archive"])]
    verify: bool,
    /// Store for the site [default: its original store]
    #[arg(long, env = "EVERYTAB_SITE")]
    site: Option<String>,
    /// Store for the archives [default: their original store]
    #[arg(long, env = "EVERYTAB_ARCHIVE")]
    archive: Option<String>,
    /// Directory for temporary files, with enough space for the dump and, with --verify, the
    /// database
    #[arg(long, env = "EVERYTAB_TEMPORARY", value_name = "DIR")]
    temporary: Option<PathBuf>,
}

/// Restores a backup. Running it again finishes an interrupted restore.
///
/// # Errors
/// Returns an error if the database holds other scans, if the backup is damaged or was made by a
/// newer program, or if a store or the database fails.
pub async fn run(args: RestoreArgs) -> CliResult {
    let temporary = args.temporary.unwrap_or_else(std::env::temp_dir);
    if args.verify {
        verify(&args.from, &temporary).await?;
        return Ok(Exit::Done);
    }
    let options = RestoreOptions {
        database_url: database::url(&args.database)?.to_owned(),
        from: args.from,
        site: args.site,
        archive: args.archive,
        temporary,
    };
    backup::restore(options, &StandardStreams).await?;
    Ok(Exit::Done)
}

#[cfg(feature = "local")]
async fn verify(from: &str, temporary: &Path) -> Result<(), CliError> {
    everytab_local::verify_backup(from, temporary, &StandardStreams).await
}

#[cfg(not(feature = "local"))]
async fn verify(_from: &str, _temporary: &Path) -> Result<(), CliError> {
    Err(CliError::usage(
        "this package cannot verify a backup, because it has no Postgres of its own: install \
         everytab-local, whose `restore --verify` can",
    ))
}
