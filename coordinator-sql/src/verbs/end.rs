//! `retry`, `discard` and `release`: ends of a run that record nothing.

use std::time::Instant;

use crate::{
    coordinator::Coordinator,
    error::Error,
    job::{Fence, Lease},
    statement::text,
    transient::retry_transient,
};

/// How giving up on a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The job will be tried again.
    Retry,
    /// That was the last try, or trying again cannot help.
    Discarded,
    /// The job was given back, its attempt too.
    Released,
    /// The lease was lost; nothing was written.
    Lost,
}

impl Coordinator {
    /// Gives up on a run for a reason of ours: tried again later, or discarded at the last try.
    ///
    /// # Errors
    /// When Postgres could not be asked until `trust_until`; the lease then runs out by itself.
    pub async fn retry(
        &self,
        lease: Lease,
        error: &str,
        trust_until: Instant,
    ) -> Result<Failure, Error> {
        retry_transient(trust_until, || self.end("retry", lease.fence, error)).await
    }

    /// Ends a job that cannot succeed.
    ///
    /// # Errors
    /// As [`Coordinator::retry`].
    pub async fn discard(
        &self,
        lease: Lease,
        error: &str,
        trust_until: Instant,
    ) -> Result<Failure, Error> {
        retry_transient(trust_until, || self.end("discard", lease.fence, error)).await
    }

    /// Gives a job back at once, and its attempt too.
    ///
    /// # Errors
    /// As [`Coordinator::retry`].
    pub async fn release(
        &self,
        lease: Lease,
        reason: &str,
        trust_until: Instant,
    ) -> Result<Failure, Error> {
        retry_transient(trust_until, || self.end("release", lease.fence, reason)).await
    }

    async fn end(&self, verb: &str, fence: Fence, message: &str) -> Result<Failure, Error> {
        let Fence { job_id, lease_number, token } = fence;
        let message = text(message);
        let sql =
            format!("select coordinator.{verb}({job_id}, {lease_number}, '{token}', {message})");
        match self.scalar::<String>(&sql).await?.as_str() {
            "retry" => Ok(Failure::Retry),
            "discarded" => Ok(Failure::Discarded),
            "released" => Ok(Failure::Released),
            "lost" => Ok(Failure::Lost),
            other => Err(Error::Unexpected(format!("the end {other:?}"))),
        }
    }
}
