//! Finds the job that fetched a host's icons, and attempts whose requests were not recorded.

use crate::{
    bind::bind, coordinator::Coordinator, error::Error, job::JobKind, record::signed_hash,
};

impl Coordinator {
    /// Returns the job of a kind that works on a host's shard, by the hash of the hostname. `None`
    /// if the scan's hosts are not counted yet, or its limit excludes this one.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn find_host_job(
        &self,
        scan: i32,
        kind: JobKind,
        hash: u64,
    ) -> Result<Option<i64>, Error> {
        let sql = "select coordinator.find_host_job($1, $2::everytab.job_kind, $3)";
        let (kind, hash) = (kind.as_str(), signed_hash(hash));
        let binds = [bind(&scan), bind(&kind), bind(&hash)];
        let mut rows: Vec<(Option<i64>,)> = self.operator_rows(sql, &binds).await?;
        Ok(rows.pop().and_then(|(job,)| job))
    }

    /// Returns how many attempts at a scan's jobs of a kind ended before completion, or were
    /// repeated after it.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn count_early_ends(&self, scan: i32, kind: JobKind) -> Result<i64, Error> {
        let sql = "select coordinator.count_early_ends($1, $2::everytab.job_kind)";
        let kind = kind.as_str();
        let rows: Vec<(i64,)> = self.operator_rows(sql, &[bind(&scan), bind(&kind)]).await?;
        Ok(rows.first().map_or(0, |(count,)| *count))
    }
}
