//! Poison-item isolation: records which item of a job is being handled, so that a crash names it.

use std::time::Instant;

use crate::{
    bind::bind, coordinator::Coordinator, error::Error, fences::fenced, job::Fence,
    sql_calls::sql_calls, transient::retry_transient,
};

sql_calls! {
    /// Returns a job's suspect items, which a worker was handling when it died, with the number of
    /// these deaths.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn load_suspects(job_id: i64) -> Result<Vec<(i64, i32)>, Error>
        = rows("select item, deaths from coordinator.load_suspects($1)", job_id);
}

impl Coordinator {
    /// Records which item of a job the worker handles next. Retries transient errors until
    /// `trust_until`. Returns false if the lease is lost.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached in time.
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
}
