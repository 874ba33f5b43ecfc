//! The verbs: lease, renew, complete, retry, discard, release. Each shows its fence.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use serde_json::Value;
use sqlx::{Row, postgres::PgRow};

use crate::{
    Coordinator, Error, Fence, Hints, JobKind, Lease, Output, record,
    statement::{array, text, texts},
};

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
    /// icon encoder digest; `hints` say where to begin looking.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn lease(
        &self,
        holder: &str,
        kinds: &[JobKind],
        wanted: u32,
        encoder: &str,
        hints: &Hints,
    ) -> Result<Vec<Lease>, Error> {
        let sql = format!(
            "select * from coordinator.lease({}, {}, {}, {}, {})",
            text(holder),
            texts(kinds.iter().map(|kind| kind.as_str()), "text"),
            i32::try_from(wanted).unwrap_or(i32::MAX),
            text(encoder),
            array(kinds.iter().map(|kind| hints.of(*kind)), "bigint"),
        );
        self.call(&self.work, sql).await?.iter().map(lease).collect()
    }

    /// Renews the leases of a holder in one call, over a connection of its own.
    ///
    /// # Errors
    /// When Postgres cannot be asked; the leases then run on until they expire.
    pub async fn renew(&self, holder: &str, fences: &[Fence]) -> Result<Renewal, Error> {
        let sql =
            format!("select * from coordinator.renew({}, {})", text(holder), arguments(fences));
        let mut renewal = Renewal { live_workers: 1, ..Renewal::default() };
        for row in self.call(&self.renewals, sql).await? {
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

    /// Completes jobs that record no rows, all in one transaction; one whose lease is lost does
    /// not keep the others from it. Answers how each ended, in order.
    ///
    /// # Errors
    /// When Postgres could not be asked until `trust_until`.
    pub async fn complete_all(
        &self,
        leases: Vec<(Lease, Value)>,
        trust_until: Instant,
    ) -> Result<Vec<Completion>, Error> {
        let (fences, stats): (Vec<Fence>, Vec<Value>) =
            leases.into_iter().map(|(lease, stats)| (lease.fence, stats)).unzip();
        let stats: Vec<&Value> = stats.iter().collect();
        patiently(trust_until, || self.complete_at_once(&fences, &stats)).await
    }

    /// One transaction that completes these jobs, which record no rows.
    pub(crate) async fn complete_at_once(
        &self,
        fences: &[Fence],
        stats: &[&Value],
    ) -> Result<Vec<Completion>, Error> {
        let completions = self.complete_unflushed(fences, stats).await?;
        self.flush().await?;
        Ok(completions)
    }

    /// The same, seen by all and not yet on disk: nobody may be told before [`Self::flush`].
    pub(crate) async fn complete_unflushed(
        &self,
        fences: &[Fence],
        stats: &[&Value],
    ) -> Result<Vec<Completion>, Error> {
        // Both statements of a message are one transaction.
        let sql = format!("set local synchronous_commit = off; {}", completion(fences, stats));
        let rows = self.call(&self.work, sql).await?;
        rows.iter().map(completion_of).collect()
    }

    /// Returns when all that was committed before is on disk: a commit is, and the log has one
    /// order. (A transaction without a change would not wait; a message changes nothing.)
    pub(crate) async fn flush(&self) -> Result<(), Error> {
        let sql = "select pg_logical_emit_message(true, 'everytab', '')".to_owned();
        self.call(&self.work, sql).await.map(drop)
    }

    async fn record_chunk(
        &self,
        fence: Fence,
        number: i32,
        chunk: record::Chunk<'_>,
        is_last: bool,
        stats: &Value,
    ) -> Result<Option<Completion>, Error> {
        if matches!(chunk, record::Chunk::Nothing) && is_last {
            return self.completer.complete(self, fence, stats).await.map(Some);
        }
        let mut transaction = self.begin().await?;
        let held = record::record(&mut transaction, fence, number, chunk).await?;
        if held && !is_last {
            transaction.commit().await?;
            return Ok(None);
        }
        // Where the lease is not held, complete knows whether it was lost or has completed.
        let complete = sqlx::raw_sql(sqlx::AssertSqlSafe(completion(&[fence], &[stats])));
        let completion = only_completion(&complete.fetch_all(&mut *transaction).await?)?;
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

    /// Careful mode: writes down that `item` of a job is handled from now on. Errors that pass are
    /// retried until `trust_until`. False: the lease is lost.
    ///
    /// # Errors
    /// When Postgres could not be asked in time.
    pub async fn take_in_hand(
        &self,
        fence: Fence,
        item: i64,
        trust_until: Instant,
    ) -> Result<bool, Error> {
        let Fence { job_id, lease_number, token } = fence;
        let sql =
            format!("select coordinator.take_in_hand({job_id}, {lease_number}, '{token}', {item})");
        patiently(trust_until, || self.scalar(&sql)).await
    }

    /// Careful mode: the items of a job that were in hand when a run of it died, with the number
    /// of those deaths.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn load_suspects(&self, job_id: i64) -> Result<Vec<(i64, i32)>, Error> {
        let sql = format!("select * from coordinator.load_suspects({job_id})");
        let rows = self.call(&self.work, sql).await?;
        rows.iter().map(|row| Ok((row.try_get("item")?, row.try_get("deaths")?))).collect()
    }

    /// Where the work stands.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn progress(&self) -> Result<Progress, Error> {
        let state: Option<String> = self.scalar("select coordinator.scan_progress()").await?;
        match state.as_deref() {
            None => Ok(Progress::NoScan),
            Some("running") => Ok(Progress::Running),
            Some("finished" | "cancelled") => Ok(Progress::Ended),
            Some("finished_with_discards") => Ok(Progress::EndedWithDiscards),
            Some(other) => Err(Error::Unexpected(format!("the scan state {other:?}"))),
        }
    }
}

fn lease(row: &PgRow) -> Result<Lease, Error> {
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
        careful: row.try_get("careful")?,
        rate: row.try_get("rate")?,
    })
}

/// The arguments that show fences: job ids, lease numbers, tokens.
fn arguments(fences: &[Fence]) -> String {
    format!(
        "{}, {}, {}",
        array(fences.iter().map(|fence| fence.job_id), "bigint"),
        array(fences.iter().map(|fence| fence.lease_number), "integer"),
        array(fences.iter().map(|fence| fence.token), "uuid")
    )
}

fn completion(fences: &[Fence], stats: &[&Value]) -> String {
    format!(
        "select word from unnest(coordinator.complete({}, {})) with ordinality ended (word, place) \
         order by place",
        arguments(fences),
        texts(stats.iter().map(ToString::to_string), "jsonb")
    )
}

fn only_completion(rows: &[PgRow]) -> Result<Completion, Error> {
    rows.first().map_or(Err(Error::Unexpected("no completion".into())), completion_of)
}

fn completion_of(row: &PgRow) -> Result<Completion, Error> {
    match row.try_get("word")? {
        "recorded" => Ok(Completion::Recorded),
        "already_recorded" => Ok(Completion::AlreadyRecorded),
        "lost" => Ok(Completion::Lost),
        other => Err(Error::Unexpected(format!("the completion {other:?}"))),
    }
}

/// Runs `step` again, with growing pauses, while its errors pass and the time is not over.
pub(crate) async fn patiently<T, F>(until: Instant, mut step: impl FnMut() -> F) -> Result<T, Error>
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
