//! A scan's settings, frozen by `scan start` and applied by every worker.

use everytab_bundler::MAX_LOSS_PERCENT;
use everytab_icon::png::Colours;
use serde::{Deserialize, Serialize};

/// Default number of tabs per bundle, which then has about 110 KB.
pub const ENTRIES_PER_BUNDLE: u32 = 120;

/// The internet from which a scan fetches icons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Internet {
    /// The public internet, with the robot that the scan's User-Agent names.
    Public,
    /// A small internet that the operator runs, restricted to addresses in a worker's
    /// `--allow-range`.
    Small,
}

/// A scan's settings, including the locations of its stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanSettings {
    /// The crawl's bucket: `file://`, `s3://`, `https://` or `http://`.
    pub source: String,
    /// Whether requests to the bucket carry no credentials.
    pub source_is_public: bool,
    /// The store for archived icons.
    pub archive: String,
    /// The store in which the site is published.
    pub site: String,
    /// Maximum number of hosts. `None` if unlimited.
    pub limit: Option<u64>,
    /// Tabs per bundle.
    pub entries_per_bundle: u32,
    /// Whether an origin's robots.txt is fetched and obeyed before its first icon.
    pub obey_robots: bool,
    /// The colours that converted icons may have.
    pub icon_colours: Colours,
    /// The CloudFront distribution to invalidate.
    pub distribution: Option<String>,
    /// The site's public URL, with a slash at the end.
    pub site_url: Option<String>,
    /// The contact for website owners, an email address or an https URL.
    pub contact: Option<String>,
    /// The private prefix with `blocklist.txt`, which publishing reads again.
    pub private: Option<String>,
    /// The internet from which this scan fetches icons.
    pub internet: Internet,
    /// The User-Agent for icon and robots.txt requests. It overrides the worker's own.
    pub user_agent: Option<String>,
    /// The host ranks by which search orders its results. `None` if shorter names come first.
    pub host_ranks: Option<PinnedRanks>,
    /// Seed that shuffles the order of fetching, and has no other effect.
    pub seed: u64,
    /// The published site may lose at most this percentage of its tabs, icons, titles, framed pages
    /// or bundles to this scan. Otherwise, the scan is published only with `--force`.
    pub max_loss: u8,
}

/// The host ranks that `scan start` wrote into the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedRanks {
    /// The source that the operator specified: `latest`, a path or a URL.
    pub asked: String,
    /// The path or URL from which the ranks were read.
    pub read_from: String,
    /// Number of hosts.
    pub hosts: u64,
    /// The SHA-256 of this list in the archive, in hexadecimal digits.
    pub sha256: String,
}

impl ScanSettings {
    /// Returns settings with these stores, and defaults for everything else.
    pub fn new(source: String, archive: String, site: String) -> Self {
        Self {
            source,
            source_is_public: false,
            archive,
            site,
            limit: None,
            entries_per_bundle: ENTRIES_PER_BUNDLE,
            obey_robots: true,
            icon_colours: Colours::Auto,
            distribution: None,
            site_url: None,
            contact: None,
            private: None,
            internet: Internet::Small,
            user_agent: None,
            host_ranks: None,
            seed: 0,
            max_loss: MAX_LOSS_PERCENT,
        }
    }
}
