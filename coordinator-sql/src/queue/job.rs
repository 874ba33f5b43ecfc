//! Jobs and leases as values.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::Error;

/// The kinds of jobs, in pipeline order for scans and then for live crawls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobKind {
    /// Reads one parquet file from the crawl's index.
    Index,
    /// Reads a shard's home pages.
    Warc,
    /// Fetches a shard's icons.
    Icon,
    /// Selects and converts a shard's icons, and writes the shard's bundles.
    BundleShard,
    /// Merges one range of hostnames into the search index.
    Search,
    /// Draws one region of the map.
    Map,
    /// Publishes the scan.
    Publish,
    /// Writes a finished live crawl's indexes for a range of slots.
    CrawlIndex,
    /// Writes a live crawl's lists and document, after its indexes.
    CrawlClose,
}

impl JobKind {
    /// All kinds, in pipeline order for scans and then for live crawls.
    pub const ALL: [Self; 9] = [
        Self::Index,
        Self::Warc,
        Self::Icon,
        Self::BundleShard,
        Self::Search,
        Self::Map,
        Self::Publish,
        Self::CrawlIndex,
        Self::CrawlClose,
    ];
    /// A scan's kinds in pipeline order.
    pub const OF_SCANS: [Self; 7] = [
        Self::Index,
        Self::Warc,
        Self::Icon,
        Self::BundleShard,
        Self::Search,
        Self::Map,
        Self::Publish,
    ];
    /// A live crawl's kinds in pipeline order.
    pub const OF_CRAWLS: [Self; 2] = [Self::CrawlIndex, Self::CrawlClose];

    /// Returns the kind's name in SQL, logs and statistics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Warc => "warc",
            Self::Icon => "icon",
            Self::BundleShard => "bundle-shard",
            Self::Search => "search",
            Self::Map => "map",
            Self::Publish => "publish",
            Self::CrawlIndex => "crawl-index",
            Self::CrawlClose => "crawl-close",
        }
    }

    /// Returns whether [`Lease::part`] is a shard's number for this kind.
    pub fn works_on_a_shard(self) -> bool {
        match self {
            Self::Warc | Self::Icon | Self::BundleShard => true,
            Self::Index
            | Self::Search
            | Self::Map
            | Self::Publish
            | Self::CrawlIndex
            | Self::CrawlClose => false,
        }
    }
}

impl fmt::Display for JobKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for JobKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == name)
            .ok_or_else(|| Error::Unexpected(format!("the job kind {name:?}")))
    }
}

/// The proof that every write for a job must present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fence {
    /// The job.
    pub job_id: i64,
    /// The lease number, which increases with each lease.
    pub lease_number: i32,
    /// The lease's random token.
    pub token: Uuid,
}

/// The right to work on a job for a limited time. Finishing the job consumes the lease.
#[must_use = "a lease that is dropped keeps its job until it expires"]
#[derive(Debug)]
pub struct Lease {
    /// The fence for this lease.
    pub fence: Fence,
    /// The run's number, which is also its scan's.
    pub run: i32,
    /// The id of its scan or live crawl.
    pub subject: Uuid,
    /// The kind of job.
    pub kind: JobKind,
    /// The index of the job's shard, file, hostname range, map region or order, or slot range.
    pub part: i32,
    /// Lease duration from the start or the last renewal.
    pub length: Duration,
    /// Number of earlier attempts that failed.
    pub attempts: i32,
    /// Number of earlier leases that expired.
    pub crashes: i32,
    /// Whether the worker must process one item at a time, and record each item before it starts.
    pub uses_isolation: bool,
    /// The fleet's icon requests per second. `None` if unlimited.
    pub rate: Option<i32>,
    /// The fleet's source requests per second. `None` if unlimited.
    pub archive_rate: Option<i32>,
}
