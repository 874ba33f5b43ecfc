//! `migrate`: updates the database to this program's schema.

use everytab_coordinator::schema_digest;
use everytab_operations::database::connect_unchecked;

use crate::{
    cli_error::{CliResult, Exit},
    commands::{database, stdout},
    options::DatabaseArgs,
};

/// Migrates the database. Does nothing if it is up to date.
///
/// # Errors
/// Returns an error if the database fails.
pub async fn run(args: DatabaseArgs) -> CliResult {
    let coordinator = connect_unchecked(database::url(&args)?).await?;
    let applied = coordinator.migrate().await?;
    for name in &applied {
        stdout::line(format_args!("applied {name}"))?;
    }
    let digest = schema_digest();
    stdout::line(format_args!("schema {digest} ({} new migrations)", applied.len()))?;
    Ok(Exit::Done)
}
