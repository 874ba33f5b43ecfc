//! Jobs and leases as values.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::Error;

/// The kinds of jobs, those of a scan and those of a live crawl each in pipeline order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobKind {
    /// Reads one parquet file of the crawl's index.
    Index,
    /// Reads a shard's home pages.
    Warc,
    /// Fetches the icons of a shard.
    Icon,
    /// Selects, converts and writes the bundles of a shard.
    BundleShard,
    /// Merges one hostname range of the search index.
    Search,
    /// Draws one region of the map.
    Map,
    /// Publishes the scan.
    Publish,
    /// Writes the indexes of a range of slots in a finished live crawl.
    CrawlIndex,
    /// Writes the lists and the document of a live crawl, after its indexes.
    CrawlClose,
}

impl JobKind {
    /// All kinds: those of a scan, then those of a live crawl, each in pipeline order.
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
    /// The kinds of a scan in pipeline order.
    pub const OF_SCANS: [Self; 7] = [
        Self::Index,
        Self::Warc,
        Self::Icon,
        Self::BundleShard,
        Self::Search,
        Self::Map,
        Self::Publish,
    ];
    /// The kinds of a live crawl in pipeline order.
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

    /// Returns whether a job of this kind works on one shard, whose number is then [`Lease::part`].
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

/// The proof that every write of a job must show: (job, lease number, random lease token).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fence {
    /// The job.
    pub job_id: i64,
    /// The lease number, which increases with each lease of the job.
    pub lease_number: i32,
    /// A random token that Postgres generates for each lease.
    pub token: Uuid,
}

/// The right to work on a job for a limited time. Finishing the job consumes it.
#[must_use = "a lease that is dropped keeps its job until it expires"]
#[derive(Debug)]
pub struct Lease {
    /// The fence of this lease.
    pub fence: Fence,
    /// The number of the job's run in this database; a scan has the same number as its run.
    pub run: i32,
    /// The id of the run's scan or live crawl.
    pub subject: Uuid,
    /// The kind of job.
    pub kind: JobKind,
    /// Number of the job's shard, index file, hostname range, map region or range of slots; 0 for
    /// publish and crawl-close.
    pub part: i32,
    /// Duration of the lease from its start or its last renewal.
    pub length: Duration,
    /// Earlier attempts that failed.
    pub attempts: i32,
    /// Earlier leases that expired.
    pub crashes: i32,
    /// Whether the job is performed under poison-item isolation: one item at a time, each recorded
    /// before it is handled.
    pub uses_isolation: bool,
    /// The fleet's icon requests per second, if limited.
    pub rate: Option<i32>,
    /// The fleet's requests per second to the source, if limited.
    pub archive_rate: Option<i32>,
}
