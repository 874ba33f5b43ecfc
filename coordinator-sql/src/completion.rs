//! The statement that completes jobs, and Postgres's result for each of them.
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
    /// The rows, the completion and the jobs that follow are committed.
    Recorded,
    /// They were already committed: the reply of an earlier call was lost.
    AlreadyRecorded,
    /// The lease was lost; nothing was written.
    Lost,
}

/// Completes jobs and returns a result for each, in their order.
const COMPLETE: &str = "
    select result from unnest(coordinator.complete($1, $2, $3, $4))
                       with ordinality completed (result, number)
     order by number";
/// Works like [`COMPLETE`] in a transaction whose commit does not wait for the disk; [`FLUSH`] does
/// this later. Postgres reads `synchronous_commit` when it commits.
const COMPLETE_UNFLUSHED: &str = "
    select result, set_config('synchronous_commit', 'off', true)
      from unnest(coordinator.complete($1, $2, $3, $4))
           with ordinality completed (result, number)
     order by number";
/// Returns when all previous commits are on disk, because a commit waits for its own position in
/// the log, and the log has one order. A transaction without writes would not wait, so this one
/// writes a message, which changes nothing.
const FLUSH: &str = "select pg_logical_emit_message(true, 'everytab', '')::text";

/// Completes these jobs, which record no rows, in one transaction. Returns when it is on disk.
/// Calls `committed` earlier, when other transactions see the completions.
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

/// Completes a job in the transaction that has recorded its last rows.
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
