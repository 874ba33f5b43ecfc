//! Records a job's rows and marks the job as completed.

use std::time::Instant;

use serde_json::Value;

use crate::{
    client::coordinator::Coordinator,
    connection::transient::retry_transient,
    error::Error,
    queue::{
        completion::{Completion, complete_in},
        job::{Fence, Lease},
    },
    scan::{
        record::record,
        rows::{Output, RowChunk},
    },
};

impl Coordinator {
    /// Completes a job, and records `output` in fenced chunks, the last one in the completion's
    /// transaction. Retries transient errors until `trust_until`, because the lease may expire
    /// then. If a call is repeated because its reply was lost, nothing is recorded twice.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached in time, or rejects the rows.
    pub async fn complete(
        &self,
        lease: Lease,
        output: &Output,
        stats: &Value,
        trust_until: Instant,
    ) -> Result<Completion, Error> {
        let chunks = output.chunks();
        let last = chunks.len().saturating_sub(1);
        for (number, chunk) in chunks.into_iter().enumerate() {
            let is_last = number == last;
            let number = i32::try_from(number + 1).unwrap_or(i32::MAX);
            let step = || self.record_chunk(lease.fence, number, chunk, is_last, stats);
            match retry_transient(trust_until, step).await? {
                None => {}
                Some(completion) => return Ok(completion),
            }
        }
        Err(Error::Unexpected("a completion without an end".into()))
    }

    async fn record_chunk(
        &self,
        fence: Fence,
        number: i32,
        chunk: RowChunk<'_>,
        is_last: bool,
        stats: &Value,
    ) -> Result<Option<Completion>, Error> {
        if matches!(chunk, RowChunk::Nothing) && is_last {
            return self.group_commit.complete(&self.work, fence, stats).await.map(Some);
        }
        let transaction = self.begin().await?;
        let held = record(&transaction, fence, number, chunk).await?;
        if held && !is_last {
            transaction.commit().await?;
            return Ok(None);
        }
        // `complete` finds out whether the lease was lost or the job was already completed.
        let completion = complete_in(&transaction, fence, stats).await?;
        if completion == Completion::Recorded {
            if !held {
                // The lease is current, but a failover has lost an earlier chunk. Without this
                // commit, the job runs again under another lease.
                return Ok(Some(Completion::Lost));
            }
            transaction.commit().await?;
        }
        Ok(Some(completion))
    }
}
