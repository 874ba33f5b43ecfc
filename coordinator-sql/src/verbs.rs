//! The verbs: lease, renew, complete, retry, discard, release. Each shows its fence.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use serde_json::Value;
use sqlx::Row;
use uuid::Uuid;

use crate::{Coordinator, Error, Fence, JobKind, Lease, Output, connect, record};

/// How completing a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// The rows, the completion and what follows are committed.
    Recorded,
    /// They already were: the reply of an earlier call got lost.
    AlreadyRecorded,
    /// The lease was lost; nothing was written.
    Lost,
}

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

/// What a renewal tells.
#[derive(Debug, Clone, Default)]
pub struct Renewal {
    /// The jobs whose leases still hold.
    pub held: HashSet<i64>,
    /// Holders of any lease: the live workers.
    pub live_workers: u32,
    /// The fleet's icon requests a second, if limited.
    pub rate: Option<i32>,
}

/// Where the work stands, for a worker that leaves when it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// No scan was ever started here.
    NoScan,
    /// A scan runs or is paused.
    Running,
    /// The newest scan has ended well, or was cancelled.
    Ended,
    /// The newest scan has ended with discarded jobs.
    EndedWithDiscards,
}

impl Coordinator {
    /// Leases up to `wanted` jobs of `kinds`, furthest stage first. `encoder` is this worker's
    /// icon encoder digest; `hint` the lowest job id worth looking at (0 for all).
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn lease(
        &self,
        holder: &str,
        kinds: &[JobKind],
        wanted: u32,
        encoder: &str,
        hint: i64,
    ) -> Result<Vec<Lease>, Error> {
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        let mut transaction = self.begin().await?;
        let rows = sqlx::query("select * from coordinator.lease($1, $2, $3, $4, $5)")
            .bind(holder)
            .bind(kinds)
            .bind(i32::try_from(wanted).unwrap_or(i32::MAX))
            .bind(encoder)
            .bind(hint)
            .persistent(false)
            .fetch_all(&mut *transaction)
            .await?;
        transaction.commit().await?;
        rows.iter()
            .map(|row| {
                let fence = Fence {
                    job_id: row.try_get("job_id")?,
                    lease_number: row.try_get("lease_number")?,
                    token: row.try_get("lease_token")?,
                };
                let milliseconds: i32 = row.try_get("lease_ms")?;
                Ok(Lease {
                    fence,
                    scan: row.try_get("scan")?,
                    scan_id: row.try_get("scan_id")?,
                    kind: row.try_get::<&str, _>("kind")?.parse()?,
                    part: row.try_get("part")?,
                    length: Duration::from_millis(milliseconds.unsigned_abs().into()),
                    attempts: row.try_get("attempts")?,
                    crashes: row.try_get("crashes")?,
                    rate: row.try_get("rate")?,
                })
            })
            .collect()
    }

    /// Renews the leases of a holder in one call, over a connection of its own.
    ///
    /// # Errors
    /// When Postgres cannot be asked; the leases then run on until they expire.
    pub async fn renew(&self, holder: &str, fences: &[Fence]) -> Result<Renewal, Error> {
        let jobs: Vec<i64> = fences.iter().map(|fence| fence.job_id).collect();
        let numbers: Vec<i32> = fences.iter().map(|fence| fence.lease_number).collect();
        let tokens: Vec<Uuid> = fences.iter().map(|fence| fence.token).collect();
        let mut transaction = connect::begin(&self.renewals).await?;
        let rows = sqlx::query("select * from coordinator.renew($1, $2, $3, $4)")
            .bind(holder)
            .bind(jobs)
            .bind(numbers)
            .bind(tokens)
            .persistent(false)
            .fetch_all(&mut *transaction)
            .await?;
        transaction.commit().await?;
        let mut renewal = Renewal { live_workers: 1, ..Renewal::default() };
        for row in rows {
            renewal.held.insert(row.try_get("job_id")?);
            renewal.live_workers = row.try_get::<i32, _>("live_workers")?.unsigned_abs();
            renewal.rate = row.try_get("rate")?;
        }
        Ok(renewal)
    }

    /// Completes a job: records `output` in fenced chunks, the last of them in one transaction with
    /// the completion and what follows. Errors that pass are retried until `trust_until`, when
    /// the lease may no longer be trusted; a call whose reply was lost is not recorded twice.
    ///
    /// # Errors
    /// When Postgres could not be asked in time, or refused the rows.
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
            match patiently(trust_until, step).await? {
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
        chunk: record::Chunk<'_>,
        is_last: bool,
        stats: &Value,
    ) -> Result<Option<Completion>, Error> {
        let mut transaction = self.begin().await?;
        let held = record::record(&mut transaction, fence, number, chunk).await?;
        if held && !is_last {
            transaction.commit().await?;
            return Ok(None);
        }
        // Where the lease is not held, complete knows whether it was lost or has completed.
        let word: String = sqlx::query_scalar("select coordinator.complete($1, $2, $3, $4)")
            .bind(fence.job_id)
            .bind(fence.lease_number)
            .bind(fence.token)
            .bind(stats)
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await?;
        let completion = match word.as_str() {
            "recorded" => Completion::Recorded,
            "already_recorded" => Completion::AlreadyRecorded,
            "lost" => Completion::Lost,
            other => return Err(Error::Unexpected(format!("the completion {other:?}"))),
        };
        if completion == Completion::Recorded {
            transaction.commit().await?;
        }
        Ok(Some(completion))
    }

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
        patiently(trust_until, || self.end("retry", lease.fence, error)).await
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
        patiently(trust_until, || self.end("discard", lease.fence, error)).await
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
        patiently(trust_until, || self.end("release", lease.fence, reason)).await
    }

    async fn end(&self, verb: &str, fence: Fence, message: &str) -> Result<Failure, Error> {
        let sql = match verb {
            "retry" => "select coordinator.retry($1, $2, $3, $4)",
            "discard" => "select coordinator.discard($1, $2, $3, $4)",
            _ => "select coordinator.release($1, $2, $3, $4)",
        };
        let mut transaction = self.begin().await?;
        let word: String = sqlx::query_scalar(sql)
            .bind(fence.job_id)
            .bind(fence.lease_number)
            .bind(fence.token)
            .bind(message.replace('\0', "\u{fffd}"))
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await?;
        transaction.commit().await?;
        match word.as_str() {
            "retry" => Ok(Failure::Retry),
            "discarded" => Ok(Failure::Discarded),
            "released" => Ok(Failure::Released),
            "lost" => Ok(Failure::Lost),
            other => Err(Error::Unexpected(format!("the end {other:?}"))),
        }
    }

    /// Where the work stands.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn progress(&self) -> Result<Progress, Error> {
        let mut transaction = self.begin().await?;
        let word: Option<String> = sqlx::query_scalar("select coordinator.scan_progress()")
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await?;
        transaction.commit().await?;
        match word.as_deref() {
            None => Ok(Progress::NoScan),
            Some("running") => Ok(Progress::Running),
            Some("finished" | "cancelled") => Ok(Progress::Ended),
            Some("finished_with_discards") => Ok(Progress::EndedWithDiscards),
            Some(other) => Err(Error::Unexpected(format!("the scan state {other:?}"))),
        }
    }
}

/// Runs `step` again, with growing pauses, while its errors pass and the time is not over.
async fn patiently<T, F>(until: Instant, mut step: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut pause = Duration::from_millis(50);
    loop {
        match step().await {
            Err(error) if error.is_transient() && Instant::now() + pause < until => {
                tracing::warn!(%error, "trying again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(5));
            }
            other => return other,
        }
    }
}
