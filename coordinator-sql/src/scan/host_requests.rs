//! Finds the job that fetched a host's icons, and counts attempts whose requests were not recorded.

use crate::{
    client::sql_calls::sql_calls, connection::hash::signed_hash, error::Error, queue::job::JobKind,
};

sql_calls! {
    /// Returns the job of a kind for a host's shard. `None` if the hosts are not counted yet, or if
    /// the scan's limit excludes this host.
    pub async fn find_host_job(
        scan: i32,
        kind: JobKind,
        hash: u64,
    ) -> Result<Option<i64>, Error>
        = operator_value(
            "select coordinator.find_host_job($1, $2::everytab.job_kind, $3)",
            scan, kind.as_str(), signed_hash(hash),
        );

    /// Returns how many attempts ended without completion, plus how many jobs were reopened.
    pub async fn count_early_ends(scan: i32, kind: JobKind) -> Result<i64, Error>
        = operator_value(
            "select coordinator.count_early_ends($1, $2::everytab.job_kind)",
            scan, kind.as_str(),
        );
}
