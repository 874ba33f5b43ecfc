//! Operators' calls for scans and jobs, made as the schema's owner.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    bind::bind,
    call::Transaction,
    coordinator::Coordinator,
    digests::Digests,
    error::Error,
    job::{Fence, JobKind},
    patient::parts,
    row::from_row,
    sql_calls::sql_calls,
    status::{EarlierOutcomes, ScanState, ScanStatus},
};

/// A scan to start.
#[derive(Debug, Clone)]
pub struct NewScan {
    /// The scan's id, unique across all databases.
    pub scan_id: Uuid,
    /// The Common Crawl crawl that the scan reads.
    pub crawl: String,
    /// The settings for all workers.
    pub settings: Value,
    /// Lease duration, in milliseconds.
    pub lease_ms: i32,
    /// The fleet's source requests per second. `None` if unlimited.
    pub archive_rate: Option<i32>,
    /// Digests that a worker must have to lease jobs that depend on them.
    pub digests: Digests,
    /// The index files, each with its maximum number of captures (`None`: unlimited).
    pub files: Vec<(String, Option<i64>)>,
}

/// A scan in a list.
#[derive(Debug, Clone)]
pub struct ScanSummary {
    /// The scan's id.
    pub scan_id: Uuid,
    /// The Common Crawl crawl that the scan reads.
    pub crawl: String,
    /// The scan's state.
    pub state: ScanState,
    /// Unfinished jobs.
    pub outstanding: i64,
    /// Discarded jobs.
    pub discarded: i64,
    /// Start time.
    pub started_at: DateTime<Utc>,
    /// End time. `None` until the scan finishes.
    pub finished_at: Option<DateTime<Utc>>,
}

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

from_row!(ScanSummary { scan_id, crawl, state, outstanding, discarded, started_at, finished_at });
/// An archive object to which a scan's rows refer. Its name contains all fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferencedArchive {
    /// The shard.
    pub shard: i32,
    /// The number of its lease.
    pub lease_number: i32,
    /// The lease's token.
    pub token: Uuid,
}

from_row!(ReferencedArchive { shard, lease_number, token });
from_row!(JobEvent { at, event, lease_number, worker_id, message });

sql_calls! {
    /// Returns a scan's number by its id, or the newest scan's number. `None` if the scan does not
    /// exist.
    pub async fn scan_number(scan_id: Option<Uuid>) -> Result<Option<i32>, Error>
        = operator_value("select coordinator.scan_number($1)", scan_id);

    /// Returns all scans, newest first.
    pub async fn list_scans() -> Result<Vec<ScanSummary>, Error>
        = operator_rows("select * from coordinator.list_scans()");

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

    /// Returns the archives to which a scan's rows refer, ordered by shard.
    pub async fn referenced_archives(scan: i32) -> Result<Vec<ReferencedArchive>, Error>
        = load("select * from coordinator.referenced_archives($1)", scan);

    /// Frees up to `limit` expired leases and returns their number.
    pub async fn sweep(limit: i32) -> Result<i32, Error>
        = operator_value("select coordinator.sweep($1)", limit);
}

impl Coordinator {
    /// Inserts a scan and its index jobs in one transaction. Returns the scan's number.
    ///
    /// # Errors
    /// Returns an error if there are no files, or if Postgres rejects them or cannot be reached.
    pub async fn start_scan(&self, scan: &NewScan) -> Result<i32, Error> {
        let transaction = self.begin_long().await?;
        let number = insert_scan(&transaction, scan).await?;
        transaction.commit().await?;
        Ok(number)
    }

    /// Starts a scan unless a scan of this crawl exists, or any scan if `crawl` is `None`. Only one
    /// of several concurrent calls starts a scan.
    ///
    /// # Errors
    /// Returns an error if there are no files, or if Postgres rejects them or cannot be reached.
    pub async fn start_scan_once(
        &self,
        scan: &NewScan,
        crawl: Option<&str>,
    ) -> Result<Option<i32>, Error> {
        let transaction = self.begin_long().await?;
        // Workers also wait for lock_partitions, so this lock has another key.
        let lock = "select pg_advisory_xact_lock(4937291846)";
        transaction.script(lock).await?;
        let exists = "select exists (select from coordinator.list_scans()
                                      where $1::text is null or crawl = $1)";
        let number = match transaction.value(exists, &[bind(&crawl)]).await? {
            true => None,
            false => Some(insert_scan(&transaction, scan).await?),
        };
        transaction.commit().await?;
        Ok(number)
    }

    /// Returns the status that `scan status` shows.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or if the scan does not exist.
    pub async fn scan_status(&self, scan: i32) -> Result<ScanStatus, Error> {
        let sql = "select coordinator.scan_status($1)";
        let document: Value = self.operator_value(sql, &[bind(&scan)]).await?;
        serde_json::from_value(document)
            .map_err(|error| Error::Unexpected(format!("a status of another form ({error})")))
    }

    /// Returns the outcomes of the scan with which this one is compared. `None` if there is none.
    pub async fn earlier_outcomes(&self, scan: i32) -> Result<Option<EarlierOutcomes>, Error> {
        let sql = "select coordinator.earlier_outcomes($1)";
        let document: Option<Value> = self.operator_value(sql, &[bind(&scan)]).await?;
        let parse = |document| {
            serde_json::from_value(document)
                .map_err(|error| Error::Unexpected(format!("outcomes of another form ({error})")))
        };
        document.map(parse).transpose()
    }

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

    /// Drops a finished scan once no other session reads its tables. Returns false if the scan is
    /// running. If this is interrupted, the scan counts as cancelled.
    ///
    /// # Errors
    /// Returns [`Error::Locked`] if another session reads the tables for an hour, or an error if
    /// Postgres cannot be reached.
    pub async fn drop_scan(&self, scan: i32) -> Result<bool, Error> {
        let scan = [bind(&scan)];
        if !self.operator_value("select coordinator.empty_scan($1)", &scan).await? {
            return Ok(false);
        }
        self.patient_value("select coordinator.drop_scan($1)", &scan).await
    }

    /// Renews a lease, and returns whether it is still valid.
    pub async fn holds(&self, worker_id: &str, fence: Fence) -> Result<bool, Error> {
        Ok(self.renew(worker_id, &[fence]).await?.held.contains(&fence.job_id))
    }
}

async fn insert_scan(transaction: &Transaction, scan: &NewScan) -> Result<i32, Error> {
    let (paths, wanted): (Vec<&str>, Vec<Option<i64>>) =
        scan.files.iter().map(|(path, wanted)| (path.as_str(), *wanted)).unzip();
    let digests = scan.digests.json();
    let sql = "select coordinator.start_scan($1, $2, $3, $4, $5, $6, $7)";
    let parameters = [
        bind(&scan.scan_id),
        bind(&scan.crawl),
        bind(&scan.settings),
        bind(&scan.lease_ms),
        bind(&digests),
        bind(&paths),
        bind(&wanted),
    ];
    let number: i32 = transaction.value(sql, &parameters).await?;
    let sql = "select coordinator.set_archive_rate($1, $2)";
    let parameters = [bind(&number), bind(&scan.archive_rate)];
    let _: bool = transaction.value(sql, &parameters).await?;
    Ok(number)
}
