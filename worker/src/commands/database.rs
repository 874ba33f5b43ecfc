//! The database that `--database-url` or `DATABASE_URL` names.

use everytab_coordinator::Coordinator;
use everytab_operations::database;

use crate::{cli_error::CliError, options::DatabaseArgs};

/// The URL, or what to do without one.
///
/// # Errors
/// When there is none.
pub fn url(args: &DatabaseArgs) -> Result<&str, CliError> {
    args.database_url.as_deref().filter(|url| !url.is_empty()).ok_or_else(|| {
        CliError::usage(
            "no database: give --database-url or set DATABASE_URL (or use `everytab-worker local`, \
             which brings its own)",
        )
    })
}

/// Connects, and checks that the schema is this program's.
///
/// # Errors
/// When no database is named, it cannot be reached, or it has another schema.
pub async fn connect(args: &DatabaseArgs) -> Result<Coordinator, CliError> {
    database::connect(url(args)?).await
}
