//! The statement that completes jobs, and what Postgres answers for each of them.
//!
//! Must not know: which jobs are completed together, or in whose transaction.

use serde_json::Value;
use sqlx::{AssertSqlSafe, Row as _, postgres::PgRow};

use crate::{
    call::Transaction,
    error::Error,
    job::Fence,
    pool::Pool,
    statement::{array, call, texts},
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

/// Completes these jobs, which record no rows, in one transaction that is on disk afterwards.
pub(crate) async fn complete_flushed(
    pool: &Pool,
    fences: &[Fence],
    stats: &[&Value],
) -> Result<Vec<Completion>, Error> {
    let completions = complete_unflushed(pool, fences, stats).await?;
    flush(pool).await?;
    Ok(completions)
}

/// Completes these jobs in one transaction that others see and that may not be on disk yet: no
/// caller may be answered before [`flush`].
pub(crate) async fn complete_unflushed(
    pool: &Pool,
    fences: &[Fence],
    stats: &[&Value],
) -> Result<Vec<Completion>, Error> {
    // Both statements of a message are one transaction.
    let sql = format!("set local synchronous_commit = off; {}", completion(fences, stats));
    call(pool, sql).await?.iter().map(completion_of).collect()
}

/// Returns when everything committed before is on disk: a commit waits for its own place in the
/// log, and the log has one order. (A transaction that writes nothing would not wait, so this one
/// writes a message, which changes nothing.)
pub(crate) async fn flush(pool: &Pool) -> Result<(), Error> {
    let sql = "select pg_logical_emit_message(true, 'everytab', '')".to_owned();
    call(pool, sql).await.map(drop)
}

/// Completes a job in the transaction that has recorded its last rows.
pub(crate) async fn complete_in(
    transaction: &mut Transaction,
    fence: Fence,
    stats: &Value,
) -> Result<Completion, Error> {
    let complete = sqlx::raw_sql(AssertSqlSafe(completion(&[fence], &[stats])));
    only_completion(&complete.fetch_all(&mut **transaction).await?)
}

/// The arguments that show fences: job ids, lease numbers, tokens.
pub(crate) fn arguments(fences: &[Fence]) -> String {
    format!(
        "{}, {}, {}",
        array(fences.iter().map(|fence| fence.job_id), "bigint"),
        array(fences.iter().map(|fence| fence.lease_number), "integer"),
        array(fences.iter().map(|fence| fence.token), "uuid")
    )
}

fn completion(fences: &[Fence], stats: &[&Value]) -> String {
    format!(
        "select result from unnest(coordinator.complete({}, {})) with ordinality \
         ended (result, position) order by position",
        arguments(fences),
        texts(stats.iter().map(ToString::to_string), "jsonb")
    )
}

fn only_completion(rows: &[PgRow]) -> Result<Completion, Error> {
    rows.first().map_or(Err(Error::Unexpected("no completion".into())), completion_of)
}

fn completion_of(row: &PgRow) -> Result<Completion, Error> {
    match row.try_get("result")? {
        "recorded" => Ok(Completion::Recorded),
        "already_recorded" => Ok(Completion::AlreadyRecorded),
        "lost" => Ok(Completion::Lost),
        other => Err(Error::Unexpected(format!("the completion {other:?}"))),
    }
}
