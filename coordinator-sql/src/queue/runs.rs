//! Calls that read or change runs, or several of their jobs.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::{
    client::{coordinator::Coordinator, patient::parts, sql_calls::sql_calls},
    connection::{bind::bind, row::from_row},
    error::Error,
    queue::job::JobKind,
};

/// An event in a job's history.
#[derive(Debug, Clone)]
pub struct JobEvent {
    /// Event time.
    pub at: DateTime<Utc>,
    /// The event's name: `completed`, `retry`, `release`, `expired`, `discard`, `reopened` or
    /// `revoked`.
    pub event: String,
    /// Number of the lease.
    pub lease_number: i32,
    /// The worker that held the lease. `None` if no lease was held.
    pub worker_id: Option<String>,
    /// The reason, or a completed job's statistics.
    pub message: Option<String>,
}

/// A count for a stage, summed over its completed jobs.
#[derive(Debug, Clone)]
pub struct OutcomeCount {
    /// The stage.
    pub kind: String,
    /// The count's section: `inputs`, `outcomes` or `counts`.
    pub key: String,
    /// The count's name.
    pub name: String,
    /// The sum over the completed jobs.
    pub amount: i64,
}

from_row!(JobEvent { at, event, lease_number, worker_id, message });
from_row!(OutcomeCount { kind, key, name, amount });

sql_calls! {
    /// Returns the stages whose counter disagrees with their rows: kind, outstanding jobs,
    /// unfinished rows.
    pub async fn audit_run(run: i32) -> Result<Vec<(String, i32, i32)>, Error>
        = load("select * from coordinator.audit_run($1)", run);

    /// Cancels a run. Returns false if it has already finished.
    pub async fn cancel_run(run: i32) -> Result<bool, Error>
        = patient_value("select coordinator.cancel_run($1)", run);

    /// Pauses or resumes a run, or one of its stages. Returns false if nothing changed.
    pub async fn pause_run(run: i32, kind: Option<JobKind>, pause: bool) -> Result<bool, Error>
        = operator_value(
            "select coordinator.pause_run($1, $2, $3)",
            run, kind.map(JobKind::as_str), pause,
        );

    /// Sets the fleet's icon requests per second (`None`: unlimited). Returns false if the scan has
    /// finished.
    pub async fn set_rate(scan: i32, rate: Option<i32>) -> Result<bool, Error>
        = operator_value("select coordinator.set_rate($1, $2)", scan, rate);

    /// Sets the fleet's requests per second to the source (`None`: unlimited). Returns false if the
    /// scan has finished.
    pub async fn set_archive_rate(scan: i32, rate: Option<i32>) -> Result<bool, Error>
        = operator_value("select coordinator.set_archive_rate($1, $2)", scan, rate);

    /// Sets the maximum duration of one lease (`None`: the kind's default). Returns false if the
    /// scan has finished.
    pub async fn set_deadline(scan: i32, deadline: Option<Duration>) -> Result<bool, Error>
        = operator_value(
            "select coordinator.set_deadline($1, $2)",
            scan, deadline.map(|deadline| i64::try_from(deadline.as_millis()).unwrap_or(i64::MAX)),
        );

    /// Revokes all leases in a scan, or in all runs, without counting a crash. Returns their
    /// number.
    pub async fn revoke_leases(scan: Option<i32>, reason: &str) -> Result<i32, Error>
        = patient_value("select coordinator.revoke_leases($1, $2)", scan, reason);

    /// Returns a job's history, ordered by time.
    pub async fn job_history(job_id: i64) -> Result<Vec<JobEvent>, Error>
        = operator_rows("select * from coordinator.job_history($1)", job_id);

    /// Returns each stage's inputs, outcomes and other counts.
    pub async fn run_outcomes(run: i32) -> Result<Vec<OutcomeCount>, Error>
        = load("select * from coordinator.run_outcomes($1)", run);

    /// Frees up to `limit` expired leases and returns their number.
    pub async fn sweep(limit: i32) -> Result<i32, Error>
        = operator_value("select coordinator.sweep($1)", limit);
}

impl Coordinator {
    /// Reopens jobs, and returns their number: discarded jobs (all, of one kind, or one job), or
    /// the icon jobs whose shards have an icon with `outcome`. If `kind` is `map` or `publish`, its
    /// completed jobs are reopened, too.
    pub async fn retry_jobs(
        &self,
        scan: i32,
        kind: Option<JobKind>,
        job_id: Option<i64>,
        outcome: Option<&str>,
    ) -> Result<i32, Error> {
        let sql = "select * from coordinator.retriable_jobs($1, $2, $3, $4)";
        let kind = kind.map(JobKind::as_str);
        let parameters = [bind(&scan), bind(&kind), bind(&job_id), bind(&outcome)];
        let chosen: Vec<(i64, i32)> = self.operator_rows(sql, &parameters).await?;
        let mut reopened = 0;
        for jobs in parts(&chosen) {
            let (job_ids, lease_numbers): (Vec<i64>, Vec<i32>) = jobs.iter().copied().unzip();
            let sql = "select coordinator.retry_jobs($1, $2, $3)";
            let parameters = [bind(&scan), bind(&job_ids), bind(&lease_numbers)];
            reopened += self.patient_value::<i32>(sql, &parameters).await?;
        }
        Ok(reopened)
    }
}
