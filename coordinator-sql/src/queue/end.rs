//! Ends a lease without recording output.

use std::time::Instant;

use crate::{
    client::coordinator::Coordinator,
    connection::{
        bind::{bind, storable},
        transient::retry_transient,
    },
    error::Error,
    queue::{
        fences::fenced,
        job::{Fence, Lease},
    },
};

const RETRY: &str = "select coordinator.retry($1, $2, $3, $4)";
const DISCARD: &str = "select coordinator.discard($1, $2, $3, $4)";
const RELEASE: &str = "select coordinator.release($1, $2, $3, $4)";

/// The effect on the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerbResult {
    /// The job will run again after a pause.
    Retry,
    /// The job is discarded.
    Discarded,
    /// The job can be leased again, and this lease does not count as an attempt.
    Released,
    /// The lease was lost, so nothing was written.
    Lost,
}

impl Coordinator {
    /// Ends a failed attempt at a job, which is retried later or discarded.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached until `trust_until`; the lease then expires.
    pub async fn retry(
        &self,
        lease: Lease,
        error: &str,
        trust_until: Instant,
    ) -> Result<VerbResult, Error> {
        retry_transient(trust_until, || self.end(RETRY, lease.fence, error)).await
    }

    /// Discards a job that cannot succeed.
    ///
    /// # Errors
    /// Returns an error as [`Coordinator::retry`] does.
    pub async fn discard(
        &self,
        lease: Lease,
        error: &str,
        trust_until: Instant,
    ) -> Result<VerbResult, Error> {
        retry_transient(trust_until, || self.end(DISCARD, lease.fence, error)).await
    }

    /// Releases a job immediately, without counting the attempt.
    ///
    /// # Errors
    /// Returns an error as [`Coordinator::retry`] does.
    pub async fn release(
        &self,
        lease: Lease,
        reason: &str,
        trust_until: Instant,
    ) -> Result<VerbResult, Error> {
        retry_transient(trust_until, || self.end(RELEASE, lease.fence, reason)).await
    }

    async fn end(
        &self,
        sql: &'static str,
        fence: Fence,
        message: &str,
    ) -> Result<VerbResult, Error> {
        let message = storable(message);
        let result: String = self.value(sql, &fenced(&fence, [bind(&message)])).await?;
        match result.as_str() {
            "retry" => Ok(VerbResult::Retry),
            "discarded" => Ok(VerbResult::Discarded),
            "released" => Ok(VerbResult::Released),
            "lost" => Ok(VerbResult::Lost),
            other => Err(Error::Unexpected(format!("the end {other:?}"))),
        }
    }
}
