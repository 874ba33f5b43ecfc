//! The statement that completes jobs, and its result for each job.

use serde_json::Value;
use tokio_postgres::Row;

use crate::{
    connection::{
        bind::bind,
        call::{Transaction, run_both},
        pool::Pool,
    },
    error::Error,
    queue::{fences::Fences, job::Fence},
};

/// The result of completing a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// Postgres has committed the rows, the completion and the jobs that follow.
    Recorded,
    /// An earlier call committed them, but its reply was lost.
    AlreadyRecorded,
    /// The lease was lost, so nothing was written.
    Lost,
}

const COMPLETE: &str = "
    select result from unnest(coordinator.complete($1, $2, $3, $4))
                       with ordinality completed (result, number)
     order by number";
/// Like [`COMPLETE`], but the commit does not wait for the disk; [`FLUSH`] does. Postgres reads
/// `synchronous_commit` when it commits.
const COMPLETE_UNFLUSHED: &str = "
    select result, set_config('synchronous_commit', 'off', true)
      from unnest(coordinator.complete($1, $2, $3, $4))
           with ordinality completed (result, number)
     order by number";
/// Waits until all previous commits are on disk. Postgres does not wait for a transaction without
/// writes, so this one writes a message that changes nothing.
const FLUSH: &str = "select pg_logical_emit_message(true, 'everytab', '')::text";

/// Returns when the commit is on disk, and calls `committed` as soon as others see the completions.
pub(super) async fn complete_flushed(
    pool: &Pool,
    fences: &[Fence],
    stats: &[&Value],
    committed: impl FnOnce(),
) -> Result<Vec<Completion>, Error> {
    let fences = Fences::from(fences);
    let stats = stats.to_vec();
    let complete = (COMPLETE_UNFLUSHED, &*fences.and([bind(&stats)]));
    let rows = run_both(pool, complete, FLUSH, committed).await?;
    rows.iter().map(completion_of).collect()
}

pub(crate) async fn complete_in(
    transaction: &Transaction,
    fence: Fence,
    stats: &Value,
) -> Result<Completion, Error> {
    let (fences, stats) = (Fences::from(&[fence][..]), vec![stats]);
    let rows = transaction.rows(COMPLETE, &fences.and([bind(&stats)])).await?;
    rows.first().map_or(Err(Error::Unexpected("no completion".into())), completion_of)
}

fn completion_of(row: &Row) -> Result<Completion, Error> {
    match row.try_get("result")? {
        "recorded" => Ok(Completion::Recorded),
        "already_recorded" => Ok(Completion::AlreadyRecorded),
        "lost" => Ok(Completion::Lost),
        other => Err(Error::Unexpected(format!("the completion {other:?}"))),
    }
}
