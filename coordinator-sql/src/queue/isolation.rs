//! Poison-item isolation: records the job item that a worker is about to process, so that a crash
//! can be attributed to this item.

use std::time::Instant;

use crate::{
    bind::bind, coordinator::Coordinator, error::Error, fences::fenced, job::Fence,
    sql_calls::sql_calls, transient::retry_transient,
};

sql_calls! {
    /// Returns a job's suspect items and their deaths. A suspect is an item that a worker was
    /// processing when it died.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn load_suspects(job_id: i64) -> Result<Vec<(i64, i32)>, Error>
        = rows("select item, deaths from coordinator.load_suspects($1)", job_id);
}

impl Coordinator {
    /// Records the job item that the worker processes next. Retries transient errors until
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
