//! What an operator does with scans and jobs, as the owner of the schema.

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
    row::from_row,
    status::{ScanState, ScanStatus},
};

/// A scan to start.
#[derive(Debug, Clone)]
pub struct NewScan {
    /// The scan's id, unique over all databases.
    pub scan_id: Uuid,
    /// The crawl.
    pub crawl: String,
    /// Settings that every worker obeys until the scan ends.
    pub settings: Value,
    /// How long a lease lasts, in milliseconds.
    pub lease_ms: i32,
    /// The fleet's requests a second to the source; none without a limit.
    pub archive_rate: Option<i32>,
    /// The digests that workers must share to perform the jobs that need them.
    pub digests: Digests,
    /// The index files, below the crawl's source, and how many captures are wanted of each.
    pub files: Vec<(String, Option<i64>)>,
}

/// A scan in a list.
#[derive(Debug, Clone)]
pub struct ScanSummary {
    /// The scan's id.
    pub scan_id: Uuid,
    /// The crawl.
    pub crawl: String,
    /// How far it has come.
    pub state: ScanState,
    /// Number of jobs that have not ended.
    pub outstanding: i64,
    /// Number of jobs discarded.
    pub discarded: i64,
    /// When it was started.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

/// One event of a job's history.
#[derive(Debug, Clone)]
pub struct JobEvent {
    /// When it happened.
    pub at: DateTime<Utc>,
    /// Its name: completed, retry, release, expired, discard, reopened or revoked.
    pub event: String,
    /// Number of the lease that it concerns.
    pub lease_number: i32,
    /// The worker that held the lease; none where no lease was held.
    pub worker_id: Option<String>,
    /// The reason, or a completed job's statistics.
    pub message: Option<String>,
}

from_row!(ScanSummary { scan_id, crawl, state, outstanding, discarded, started_at, finished_at });
from_row!(JobEvent { at, event, lease_number, worker_id, message });

impl Coordinator {
    /// Writes a scan and its index jobs in one transaction; answers its number.
    ///
    /// # Errors
    /// When there are no files, or Postgres refuses.
    pub async fn start_scan(&self, scan: &NewScan) -> Result<i32, Error> {
        let transaction = self.begin_long().await?;
        let number = insert_scan(&transaction, scan).await?;
        transaction.commit().await?;
        Ok(number)
    }

    /// As [`Coordinator::start_scan`], unless there is or was a scan of the crawl (none: of any);
    /// then it answers none. Of many concurrent calls one starts the scan.
    ///
    /// # Errors
    /// When there are no files, or Postgres refuses.
    pub async fn start_scan_once(
        &self,
        scan: &NewScan,
        crawl: Option<&str>,
    ) -> Result<Option<i32>, Error> {
        let transaction = self.begin_long().await?;
        let lock = "select pg_advisory_xact_lock(4937291845)";
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

    /// The number of a scan by its id, or of the newest one.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn scan_number(&self, scan_id: Option<Uuid>) -> Result<Option<i32>, Error> {
        let sql = "select coordinator.scan_number($1)";
        self.operator_value(sql, &[bind(&scan_id)]).await
    }

    /// All that `scan status` shows.
    ///
    /// # Errors
    /// When Postgres cannot be asked, or has no such scan.
    pub async fn scan_status(&self, scan: i32) -> Result<ScanStatus, Error> {
        let sql = "select coordinator.scan_status($1)";
        let document: Value = self.operator_value(sql, &[bind(&scan)]).await?;
        serde_json::from_value(document)
            .map_err(|error| Error::Unexpected(format!("a status of another form ({error})")))
    }

    /// All scans, newest first.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn list_scans(&self) -> Result<Vec<ScanSummary>, Error> {
        self.operator_rows("select * from coordinator.list_scans()", &[]).await
    }

    /// Where a run's counters and rows disagree: kind, jobs outstanding, rows unfinished. Nowhere,
    /// unless there is a bug.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn audit_run(&self, run: i32) -> Result<Vec<(String, i32, i32)>, Error> {
        self.rows("select * from coordinator.audit_run($1)", run, None).await
    }

    /// Ends a run. False: it has ended already.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn cancel_run(&self, run: i32) -> Result<bool, Error> {
        self.operator_value("select coordinator.cancel_run($1)", &[bind(&run)]).await
    }

    /// Pauses or resumes a run, or one stage of it. False: there is nothing to change.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn pause_run(
        &self,
        run: i32,
        kind: Option<JobKind>,
        pause: bool,
    ) -> Result<bool, Error> {
        let sql = "select coordinator.pause_run($1, $2, $3)";
        self.operator_value(sql, &[bind(&run), bind(&kind.map(JobKind::as_str)), bind(&pause)])
            .await
    }

    /// Sets the fleet's icon requests a second. False: the scan has ended.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn set_rate(&self, scan: i32, rate: Option<i32>) -> Result<bool, Error> {
        let sql = "select coordinator.set_rate($1, $2)";
        self.operator_value(sql, &[bind(&scan), bind(&rate)]).await
    }

    /// Sets the fleet's requests a second to the source; none takes the limit away. False: the scan
    /// has ended.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn set_archive_rate(&self, scan: i32, rate: Option<i32>) -> Result<bool, Error> {
        let sql = "select coordinator.set_archive_rate($1, $2)";
        self.operator_value(sql, &[bind(&scan), bind(&rate)]).await
    }

    /// Sets the longest that performing any job of a scan may take; none means by kind. False: the
    /// scan has ended.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn set_deadline(&self, scan: i32, deadline: Option<Duration>) -> Result<bool, Error> {
        let milliseconds =
            deadline.map(|deadline| i64::try_from(deadline.as_millis()).unwrap_or(i64::MAX));
        let sql = "select coordinator.set_deadline($1, $2)";
        self.operator_value(sql, &[bind(&scan), bind(&milliseconds)]).await
    }

    /// Reopens discarded jobs (all, of a kind, or one), or the icon jobs of the shards that hold
    /// an icon of `outcome`. Answers how many.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn retry_jobs(
        &self,
        scan: i32,
        kind: Option<JobKind>,
        job_id: Option<i64>,
        outcome: Option<&str>,
    ) -> Result<i32, Error> {
        let sql = "select coordinator.retry_jobs($1, $2, $3, $4)";
        self.operator_value(
            sql,
            &[bind(&scan), bind(&kind.map(JobKind::as_str)), bind(&job_id), bind(&outcome)],
        )
        .await
    }

    /// Takes back every lease, counting no crash: what `local` does with those of its own folder.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn revoke_leases(&self, scan: Option<i32>, reason: &str) -> Result<i32, Error> {
        let sql = "select coordinator.revoke_leases($1, $2)";
        self.operator_value(sql, &[bind(&scan), bind(&reason)]).await
    }

    /// A job's history, in time order.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn job_history(&self, job_id: i64) -> Result<Vec<JobEvent>, Error> {
        self.operator_rows("select * from coordinator.job_history($1)", &[bind(&job_id)]).await
    }

    /// The archives that a scan's rows refer to, as (shard, lease number).
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn referenced_archives(&self, scan: i32) -> Result<Vec<(i32, i32)>, Error> {
        self.rows("select * from coordinator.referenced_archives($1)", scan, None).await
    }

    /// Forgets a scan that has ended. False: it runs.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn drop_scan(&self, scan: i32) -> Result<bool, Error> {
        self.operator_value("select coordinator.drop_scan($1)", &[bind(&scan)]).await
    }

    /// Gives back up to `limit` expired leases; any worker does this in passing.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn sweep(&self, limit: i32) -> Result<i32, Error> {
        self.operator_value("select coordinator.sweep($1)", &[bind(&limit)]).await
    }

    /// Whether a fence still holds its job.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
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
