//! Operators' calls for scans, made as the schema's owner.

use chrono::{DateTime, Utc};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{bind::bind, call::Transaction, row::from_row},
    error::Error,
    queue::digests::Digests,
    scan::status::{EarlierOutcomes, ScanState, ScanStatus},
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

sql_calls! {
    /// Returns a scan's number by its id, or the newest scan's number. `None` if the scan does not
    /// exist.
    pub async fn scan_number(scan_id: Option<Uuid>) -> Result<Option<i32>, Error>
        = operator_value("select coordinator.scan_number($1)", scan_id);

    /// Returns all scans, newest first.
    pub async fn list_scans() -> Result<Vec<ScanSummary>, Error>
        = operator_rows("select * from coordinator.list_scans()");

    /// Returns the archives to which a scan's rows refer, ordered by shard.
    pub async fn referenced_archives(scan: i32) -> Result<Vec<ReferencedArchive>, Error>
        = load("select * from coordinator.referenced_archives($1)", scan);
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
        let number = if transaction.value(exists, &[bind(&crawl)]).await? {
            None
        } else {
            Some(insert_scan(&transaction, scan).await?)
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
            .map_err(|error| Error::Unexpected(format!("a malformed status ({error})")))
    }

    /// Returns the outcomes of the scan with which this one is compared. `None` if there is none.
    pub async fn earlier_outcomes(&self, scan: i32) -> Result<Option<EarlierOutcomes>, Error> {
        let sql = "select coordinator.earlier_outcomes($1)";
        let document: Option<Value> = self.operator_value(sql, &[bind(&scan)]).await?;
        let parse = |document| {
            serde_json::from_value(document)
                .map_err(|error| Error::Unexpected(format!("malformed outcomes ({error})")))
        };
        document.map(parse).transpose()
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
