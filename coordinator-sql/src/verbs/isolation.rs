//! Poison-item isolation: which item of a job is being handled, so that a crash names it.

use std::time::Instant;

use sqlx::Row as _;

use crate::{
    coordinator::Coordinator, error::Error, job::Fence, statement::call, transient::retry_transient,
};

impl Coordinator {
    /// Writes down which item of a job the worker handles next. Errors that pass are retried until `trust_until`. False: the lease is lost.
    ///
    /// # Errors
    /// When Postgres could not be asked in time.
    pub async fn checkpoint_item(
        &self,
        fence: Fence,
        item: i64,
        trust_until: Instant,
    ) -> Result<bool, Error> {
        let Fence { job_id, lease_number, token } = fence;
        let sql = format!(
            "select coordinator.checkpoint_item({job_id}, {lease_number}, '{token}', {item})"
        );
        retry_transient(trust_until, || self.scalar(&sql)).await
    }

    /// The suspect items of a job, each of which a worker was handling when it died, with the
    /// number of those deaths.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn load_suspects(&self, job_id: i64) -> Result<Vec<(i64, i32)>, Error> {
        let sql = format!("select * from coordinator.load_suspects({job_id})");
        let rows = call(&self.work, sql).await?;
        rows.iter().map(|row| Ok((row.try_get("item")?, row.try_get("deaths")?))).collect()
    }
}
