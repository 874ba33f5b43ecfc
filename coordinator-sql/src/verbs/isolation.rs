//! Poison-item isolation: which item of a job is being handled, so that a crash names it.

use std::time::Instant;

use crate::{
    bind::bind, call::run, coordinator::Coordinator, error::Error, fences::fenced, job::Fence,
    row::values, transient::retry_transient,
};

impl Coordinator {
    /// Writes down which item of a job the worker handles next. Errors that pass are retried until
    /// `trust_until`. False: the lease is lost.
    ///
    /// # Errors
    /// When Postgres could not be asked in time.
    pub async fn checkpoint_item(
        &self,
        fence: Fence,
        item: i64,
        trust_until: Instant,
    ) -> Result<bool, Error> {
        let sql = "select coordinator.checkpoint_item($1, $2, $3, $4)";
        let parameters = fenced(&fence, [bind(&item)]);
        retry_transient(trust_until, || self.value(sql, &parameters)).await
    }

    /// The suspect items of a job, each of which a worker was handling when it died, with the
    /// number of those deaths.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn load_suspects(&self, job_id: i64) -> Result<Vec<(i64, i32)>, Error> {
        let sql = "select item, deaths from coordinator.load_suspects($1)";
        values(&run(&self.work, sql, &[bind(&job_id)]).await?)
    }
}
