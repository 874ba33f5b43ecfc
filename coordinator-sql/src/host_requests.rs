//! Which job asked for a host's icons, and what attempts left no record.

use crate::{
    bind::bind, coordinator::Coordinator, error::Error, job::JobKind, record::signed_hash,
};

impl Coordinator {
    /// The number of the job of a kind that works on a host's shard, by the hash of the host's
    /// name. None: the scan's hosts are not counted yet, or it leaves this one out.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
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

    /// How many attempts at a scan's jobs of a kind ended before they were completed, or were
    /// performed again after it.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn count_early_ends(&self, scan: i32, kind: JobKind) -> Result<i64, Error> {
        let sql = "select coordinator.count_early_ends($1, $2::everytab.job_kind)";
        let kind = kind.as_str();
        let rows: Vec<(i64,)> = self.operator_rows(sql, &[bind(&scan), bind(&kind)]).await?;
        Ok(rows.first().map_or(0, |(count,)| *count))
    }
}
