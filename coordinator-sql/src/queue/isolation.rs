//! Poison-item isolation: attributes a crash to the job item that the worker was processing.

use std::time::Instant;

use crate::{
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{bind::bind, transient::retry_transient},
    error::Error,
    queue::{fences::fenced, job::Fence},
};

sql_calls! {
    /// Returns the items that a worker was processing when it died, with their deaths.
    pub async fn load_suspects(job_id: i64) -> Result<Vec<(i64, i32)>, Error>
        = rows("select item, deaths from coordinator.load_suspects($1)", job_id);
}

impl Coordinator {
    /// Records the job item that the worker processes next. Returns false if the lease is lost.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached until `trust_until`.
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
