//! Implements `restore --verify`: loads a backup's rows into a private Postgres, and compares them.

use std::path::Path;

use everytab_console::{LineSink, OperationError};
use everytab_operations::backup::Verification;
use everytab_postgres::PrivatePostgres;

/// Reads every object in the backup at the URL `from`, loads its rows into a temporary Postgres,
/// and compares them. Prints each fault.
///
/// # Errors
/// Returns an error if there are faults, if the backup's list is damaged, or if no Postgres can be
/// started below `temporary`.
pub async fn verify_backup(
    from: &str,
    temporary: &Path,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    let mut verification = Verification::read(from).await?;
    if verification.is_dump_whole() {
        let parent = temporary.to_owned();
        let start = move || PrivatePostgres::start_temporary(&parent);
        let server = tokio::task::spawn_blocking(start).await??;
        let loaded = verification.load_rows(&server.admin_url(), temporary).await;
        tokio::task::spawn_blocking(move || server.erase()).await??;
        loaded?;
    }
    verification.finish(sink)
}
