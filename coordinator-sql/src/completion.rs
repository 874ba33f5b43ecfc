//! The statement that completes jobs, and its result for each job.
//!
//! Does not depend on which jobs are completed together, or in which transaction.

use serde_json::Value;
use tokio_postgres::Row;

use crate::{
    bind::bind,
    call::{Transaction, run_both},
    error::Error,
    fences::Fences,
    job::Fence,
    pool::Pool,
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

/// Completes jobs and returns one result per job, in the given order.
const COMPLETE: &str = "
    select result from unnest(coordinator.complete($1, $2, $3, $4))
                       with ordinality completed (result, number)
     order by number";
/// Works like [`COMPLETE`], but the commit does not wait for the disk. [`FLUSH`] waits for it
/// later. Postgres reads `synchronous_commit` when it commits.
const COMPLETE_UNFLUSHED: &str = "
    select result, set_config('synchronous_commit', 'off', true)
      from unnest(coordinator.complete($1, $2, $3, $4))
           with ordinality completed (result, number)
     order by number";
/// Waits until all previous commits are on disk. This works because the log has one order and a
/// commit waits for its own position. Postgres does not wait for a transaction without writes, so
/// this one writes a message that changes nothing.
const FLUSH: &str = "select pg_logical_emit_message(true, 'everytab', '')::text";

/// Completes these jobs, which have no rows to record, in one transaction. Returns when the commit
/// is on disk. Calls `committed` earlier, as soon as other transactions see the completions.
pub(crate) async fn complete_flushed(
    pool: &Pool,
    fences: &[Fence],
    stats: &[&Value],
    committed: impl FnOnce(),
) -> Result<Vec<Completion>, Error> {
    let (fences, stats) = (Fences::from(fences), stats.to_vec());
    let complete = (COMPLETE_UNFLUSHED, &*fences.and([bind(&stats)]));
    let rows = run_both(pool, complete, FLUSH, committed).await?;
    rows.iter().map(completion_of).collect()
}

/// Completes a job within the transaction that has recorded its last rows.
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
