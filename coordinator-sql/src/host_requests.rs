//! Finds the job that fetched a host's icons, and counts attempts whose requests were not recorded.

use crate::{error::Error, job::JobKind, record::signed_hash, sql_calls::sql_calls};

sql_calls! {
    /// Returns the job of a kind for a host's shard, by the hostname's hash. `None` if the scan's
    /// hosts are not counted yet, or if its limit excludes this host.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn find_host_job(
        scan: i32,
        kind: JobKind,
        hash: u64,
    ) -> Result<Option<i64>, Error>
        = operator_value(
            "select coordinator.find_host_job($1, $2::everytab.job_kind, $3)",
            scan, kind.as_str(), signed_hash(hash),
        );

    /// Returns the number of events for a scan's jobs of this kind: attempts that ended without
    /// completion, and jobs that were reopened.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn count_early_ends(scan: i32, kind: JobKind) -> Result<i64, Error>
        = operator_value(
            "select coordinator.count_early_ends($1, $2::everytab.job_kind)",
            scan, kind.as_str(),
        );
}
