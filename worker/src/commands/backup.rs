//! `backup`: copies an ended scan's rows and objects to a store.

use std::path::PathBuf;

use clap::Args;
use everytab_operations::backup::{self, BackupOptions};
use uuid::Uuid;

use crate::{
    cli_error::{CliResult, Exit},
    commands::{database, stdout::StandardStreams},
    options::DatabaseArgs,
};

/// Options for `backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The scan's id [default: the newest scan]
    #[arg(long, env = "EVERYTAB_SCAN")]
    scan: Option<Uuid>,
    /// Destination of the backup (file:// or s3://); use a separate prefix for each backup
    #[arg(long, env = "EVERYTAB_BACKUP_TO")]
    to: String,
    /// Directory for temporary files, with enough space for a dump of the database
    #[arg(long, env = "EVERYTAB_TEMPORARY", value_name = "DIR")]
    temporary: Option<PathBuf>,
}

/// Makes a backup, or finishes an interrupted one.
///
/// # Errors
/// Returns an error if the scan is running, if the store holds another backup, or if a store or the
/// database fails.
pub async fn run(args: BackupArgs) -> CliResult {
    let options = BackupOptions {
        database_url: database::url(&args.database)?.to_owned(),
        scan: args.scan,
        to: args.to,
        temporary: args.temporary.unwrap_or_else(std::env::temp_dir),
    };
    backup::backup(options, &StandardStreams).await?;
    Ok(Exit::Done)
}
