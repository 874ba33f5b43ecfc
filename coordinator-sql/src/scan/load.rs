//! Loads a job's input, which earlier jobs have recorded.

use serde_json::Value;
use uuid::Uuid;

use crate::{
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{bind::bind, row::from_row},
    error::Error,
    operate::blocklist::BlockedHost,
};

/// A scan's properties that every job needs.
#[derive(Debug, Clone)]
pub struct ScanInfo {
    /// The scan's id, which its objects' names contain.
    pub scan_id: Uuid,
    /// The Common Crawl crawl that the scan reads.
    pub crawl: String,
    /// The scan's settings, fixed at its start.
    pub settings: Value,
    /// Number of shards. `None` until the hosts are counted.
    pub shards: Option<i32>,
    /// Number of bundles per shard. `None` until the hosts are counted.
    pub bundles_per_shard: Option<i32>,
    /// Start time.
    pub started_at: chrono::DateTime<chrono::Utc>,
}

impl ScanInfo {
    /// Returns the number of bundles, 0 until the hosts are counted.
    pub fn bundles(&self) -> u64 {
        let number = |number: Option<i32>| u64::from(number.unwrap_or(0).unsigned_abs());
        number(self.shards) * number(self.bundles_per_shard)
    }
}

/// An index job's input.
#[derive(Debug, Clone)]
pub struct CrawlFile {
    /// The parquet file's path below the source.
    pub path: String,
    /// Maximum captures to read from the file. `None` if unlimited.
    pub max_captures: Option<i64>,
}

/// A host in a warc job's input, with its selected capture.
#[derive(Debug, Clone)]
pub struct WarcHost {
    /// Position in its shard, from 0.
    pub host_no: i32,
    /// The hostname.
    pub hostname: String,
    /// Whether the page was captured over https.
    pub https: bool,
    /// The WARC file's path below the source.
    pub warc_path: String,
    /// Offset of the record's gzip member, in bytes.
    pub warc_offset: i64,
    /// Length of this gzip member, in bytes.
    pub warc_length: i64,
    /// Whether the host is blocked or excluded from the scan.
    pub blocked: bool,
    /// Number of the hostname's other captures.
    pub duplicates: i32,
}

/// A host in an icon job's input.
#[derive(Debug, Clone)]
pub struct IconHost {
    /// Position in its shard, from 0.
    pub host_no: i32,
    /// The hostname.
    pub hostname: String,
    /// The candidates as JSON, as the warc job wrote them.
    pub candidates: String,
}

/// A host in a bundle-shard job's input.
#[derive(Debug, Clone)]
pub struct BundleHost {
    /// Position in its shard, from 0.
    pub host_no: i32,
    /// The hostname.
    pub hostname: String,
    /// Whether the host's page was captured over https.
    pub https: bool,
    /// Whether other https pages may frame the host's page.
    pub frameable: bool,
    /// The title as a tab shows it.
    pub title: Option<String>,
    /// Whether the host is blocked or excluded from the scan. The job itself checks the title.
    pub blocked: bool,
    /// The lease number in the icon archive's name. `None` if the icon job was discarded.
    pub archive_lease_number: Option<i32>,
    /// The lease token in this name.
    pub archive_token: Option<Uuid>,
    /// Offsets of the icons' records in the archive, in bytes.
    pub archive_offsets: Vec<i64>,
    /// Lengths of these records, in bytes.
    pub archive_lengths: Vec<i64>,
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

sql_calls! {
    /// Loads a warc job's input.
    pub async fn load_warc(scan: i32, shard: i32) -> Result<Vec<WarcHost>, Error>
        = load("select * from coordinator.load_warc($1, $2)", scan, shard);

    /// Loads an icon job's input.
    pub async fn load_icon(scan: i32, shard: i32) -> Result<Vec<IconHost>, Error>
        = load("select * from coordinator.load_icon($1, $2)", scan, shard);

    /// Returns the hosts and domains on the scan's copy of the blocklist, without imported lists.
    pub async fn load_blocklist(scan: i32) -> Result<Vec<BlockedHost>, Error>
        = load("select * from coordinator.load_blocklist($1)", scan);

    /// Returns the blocklist's current patterns and the given ones, except those on the scan's copy
    /// of the blocklist.
    pub async fn load_later_blocks(
        scan: i32,
        kinds: Vec<&str>,
        patterns: Vec<&str>,
    ) -> Result<Vec<BlockedHost>, Error>
        = operator_rows(
            "select * from coordinator.load_later_blocks($1, $2, $3)",
            scan, kinds, patterns,
        );

    /// Loads a bundle-shard job's input.
    pub async fn load_bundle_shard(scan: i32, shard: i32) -> Result<Vec<BundleHost>, Error>
        = load("select * from coordinator.load_bundle_shard($1, $2)", scan, shard);

    /// Returns the title patterns on the scan's copy of the blocklist.
    pub async fn load_title_patterns(scan: i32) -> Result<Vec<String>, Error>
        = load_column("select pattern from coordinator.load_title_patterns($1) pattern", scan);

    /// Returns the shards whose bundles are written, in ascending order.
    pub async fn bundled_shards(scan: i32) -> Result<Vec<i32>, Error>
        = load_column("select shard from coordinator.bundled_shards($1) shard", scan);
}

impl Coordinator {
    /// Loads the scan's properties that every job needs.
    ///
    /// # Errors
    /// Returns an error if the scan does not exist.
    pub async fn load_scan(&self, scan: i32) -> Result<ScanInfo, Error> {
        let found =
            self.load_if_any("select * from coordinator.load_scan($1)", &[bind(&scan)]).await?;
        found.ok_or_else(|| Error::Unexpected(format!("no scan number {scan}")))
    }

    /// Loads an index job's input.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or if the file does not exist.
    pub async fn load_index(&self, scan: i32, file: i32) -> Result<CrawlFile, Error> {
        let sql = "select * from coordinator.load_index($1, $2)";
        let found = self.load_if_any(sql, &[bind(&scan), bind(&file)]).await?;
        found.ok_or_else(|| Error::Unexpected(format!("no index file number {file}")))
    }

    /// Returns the maximum number of tabs per bundle.
    pub async fn most_tabs(&self, scan: i32) -> Result<i32, Error> {
        let sql = "select tabs from coordinator.most_tabs($1) tabs";
        let tabs: Vec<i32> = self.load_column(sql, &[bind(&scan)]).await?;
        Ok(tabs.first().copied().unwrap_or_default())
    }
}
