//! `restore --verify`: loads a backup's rows into a private Postgres, and compares.

use std::path::Path;

use everytab_operations::{LineSink, OperationError, backup::Verification};
use everytab_postgres::PrivatePostgres;

/// Reads every object of the backup at the URL `from`, loads its rows into a Postgres that is
/// erased afterwards, and compares. One line of data for each fault.
///
/// # Errors
/// When there are faults, the list itself is damaged, or no Postgres can be started below the
/// folder `temporary`.
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
