//! Loads a job's input, which previous jobs recorded.

use serde_json::Value;
use uuid::Uuid;

use crate::{
    bind::bind, coordinator::Coordinator, error::Error, row::from_row, sql_calls::sql_calls,
};

/// The properties of a scan that every job needs.
#[derive(Debug, Clone)]
pub struct ScanInfo {
    /// The scan's id, which names its objects.
    pub scan_id: Uuid,
    /// The name of the Common Crawl crawl that the scan reads.
    pub crawl: String,
    /// The scan's settings, which do not change after its start.
    pub settings: Value,
    /// Number of shards. `None` until the hosts are counted.
    pub shards: Option<i32>,
    /// Number of bundles per shard. `None` until the hosts are counted.
    pub bundles_per_shard: Option<i32>,
    /// Time of the scan's start.
    pub started_at: chrono::DateTime<chrono::Utc>,
}

impl ScanInfo {
    /// Returns the number of the scan's bundles. 0 until the hosts are counted.
    pub fn bundles(&self) -> u64 {
        let number = |number: Option<i32>| u64::from(number.unwrap_or(0).unsigned_abs());
        number(self.shards) * number(self.bundles_per_shard)
    }
}

/// The input of an index job.
#[derive(Debug, Clone)]
pub struct CrawlFile {
    /// The parquet file, below the crawl's source.
    pub path: String,
    /// Maximum captures wanted from the file. `None` for all.
    pub max_captures: Option<i64>,
}

/// A host of a warc job, with the selected capture.
#[derive(Debug, Clone)]
pub struct WarcHost {
    /// Number of the host in its shard, from 0.
    pub host_no: i32,
    /// The hostname.
    pub hostname: String,
    /// Whether the page was captured over https.
    pub https: bool,
    /// The WARC file, below the crawl's source.
    pub warc_path: String,
    /// Offset of the record's gzip member in the WARC file, in bytes.
    pub warc_offset: i64,
    /// Length of this gzip member, in bytes.
    pub warc_length: i64,
    /// Whether the blocklist contains the host.
    pub blocked: bool,
    /// Other captures of the same hostname, which are not read.
    pub duplicates: i32,
}

/// A blocklist pattern that applies to a scan.
#[derive(Debug, Clone)]
pub struct BlockedHost {
    /// The kind of pattern: `hostname` or `suffix`, or, from [`Coordinator::load_later_blocks`],
    /// any kind.
    pub kind: String,
    /// The hostname, the domain, or the pattern of another kind.
    pub pattern: String,
}

/// A host of an icon job.
#[derive(Debug, Clone)]
pub struct IconHost {
    /// Number of the host in its shard, from 0.
    pub host_no: i32,
    /// The hostname.
    pub hostname: String,
    /// The candidates, as the warc job wrote them (JSON).
    pub candidates: String,
}

/// A host of a bundle-shard job with its usable icons, best first.
#[derive(Debug, Clone)]
pub struct BundleHost {
    /// Number of the host in its shard, from 0.
    pub host_no: i32,
    /// The hostname.
    pub hostname: String,
    /// Whether the host's page was captured over https.
    pub https: bool,
    /// Whether an https page of another origin may show the host's page in a frame.
    pub frameable: bool,
    /// The title as a tab shows it.
    pub title: Option<String>,
    /// Whether the blocklist contains the host. The job itself checks the title.
    pub blocked: bool,
    /// The lease number in the name of the icon archive. `None` if the icon job was discarded.
    pub archive_lease_number: Option<i32>,
    /// The lease's token in the archive's name. `None` if the name has none.
    pub archive_token: Option<Uuid>,
    /// Offsets of the icons' records in the archive, in bytes.
    pub archive_offsets: Vec<i64>,
    /// Lengths of those records, in bytes.
    pub archive_lengths: Vec<i64>,
}

/// One count of a stage, summed over its completed jobs.
#[derive(Debug, Clone)]
pub struct OutcomeCount {
    /// The stage.
    pub kind: String,
    /// Section of the count: inputs, outcomes or counts.
    pub key: String,
    /// Name of the count.
    pub name: String,
    /// The sum over the completed jobs.
    pub amount: i64,
}

from_row!(ScanInfo { scan_id, crawl, settings, shards, bundles_per_shard, started_at });
from_row!(CrawlFile { path, max_captures });
from_row!(WarcHost {
    host_no,
    hostname,
    https,
    warc_path,
    warc_offset,
    warc_length,
    blocked,
    duplicates
});
from_row!(BlockedHost { kind, pattern });
from_row!(IconHost { host_no, hostname, candidates });
from_row!(BundleHost {
    host_no,
    hostname,
    https,
    frameable,
    title,
    blocked,
    archive_lease_number,
    archive_token,
    archive_offsets,
    archive_lengths
});
from_row!(OutcomeCount { kind, key, name, amount });

sql_calls! {
    /// Loads the input of a warc job.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn load_warc(scan: i32, shard: i32) -> Result<Vec<WarcHost>, Error>
        = load("select * from coordinator.load_warc($1, $2)", scan, shard);

    /// Loads the input of an icon job.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn load_icon(scan: i32, shard: i32) -> Result<Vec<IconHost>, Error>
        = load("select * from coordinator.load_icon($1, $2)", scan, shard);

    /// Returns the hosts and domains that were on the blocklist when the scan started.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn load_blocklist(scan: i32) -> Result<Vec<BlockedHost>, Error>
        = load("select * from coordinator.load_blocklist($1)", scan);

    /// Returns those of the given patterns and of the blocklist's that were not on the blocklist
    /// when the scan started. `kinds` and `patterns` have equal lengths.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn load_later_blocks(
        scan: i32,
        kinds: Vec<&str>,
        patterns: Vec<&str>,
    ) -> Result<Vec<BlockedHost>, Error>
        = operator_rows(
            "select * from coordinator.load_later_blocks($1, $2, $3)",
            scan, kinds, patterns,
        );

    /// Loads the input of a bundle-shard job.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn load_bundle_shard(scan: i32, shard: i32) -> Result<Vec<BundleHost>, Error>
        = load("select * from coordinator.load_bundle_shard($1, $2)", scan, shard);

    /// Returns inputs, outcomes and other counts of each stage.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn run_outcomes(run: i32) -> Result<Vec<OutcomeCount>, Error>
        = load("select * from coordinator.run_outcomes($1)", run);

    /// Returns the title patterns that were on the blocklist when the scan started.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn load_title_patterns(scan: i32) -> Result<Vec<String>, Error>
        = load_column("select pattern from coordinator.load_title_patterns($1) pattern", scan);

    /// Returns the shards whose bundles are written, in ascending order.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn bundled_shards(scan: i32) -> Result<Vec<i32>, Error>
        = load_column("select shard from coordinator.bundled_shards($1) shard", scan);
}

impl Coordinator {
    /// Loads the properties of a scan that every job needs.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or has no such scan.
    pub async fn load_scan(&self, scan: i32) -> Result<ScanInfo, Error> {
        let found =
            self.load_if_any("select * from coordinator.load_scan($1)", &[bind(&scan)]).await?;
        found.ok_or_else(|| Error::Unexpected(format!("no scan number {scan}")))
    }

    /// Loads the input of an index job.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or has no such file.
    pub async fn load_index(&self, scan: i32, file: i32) -> Result<CrawlFile, Error> {
        let sql = "select * from coordinator.load_index($1, $2)";
        let found = self.load_if_any(sql, &[bind(&scan), bind(&file)]).await?;
        found.ok_or_else(|| Error::Unexpected(format!("no index file number {file}")))
    }

    /// Returns the maximum number of tabs in a bundle of the scan.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn most_tabs(&self, scan: i32) -> Result<i32, Error> {
        let sql = "select tabs from coordinator.most_tabs($1) tabs";
        let tabs: Vec<i32> = self.load_column(sql, &[bind(&scan)]).await?;
        Ok(tabs.first().copied().unwrap_or_default())
    }
}
