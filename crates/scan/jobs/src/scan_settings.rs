//! A scan's settings, frozen by `scan start` and applied by every worker.

use everytab_bundler::MAX_LOSS_PERCENT;
use everytab_icon::png::Colours;
use serde::{Deserialize, Serialize};

/// Tabs per bundle unless the scan sets another number. The page reads a bundle as one object of
/// about 110 KB.
pub const ENTRIES_PER_BUNDLE: u32 = 120;

/// The internet from which a scan fetches icons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Internet {
    /// The public internet, with the robot that the scan's User-Agent names.
    Public,
    /// A small one that the operator runs: only addresses that a worker's `--allow-range` names.
    Small,
}

/// The settings that determine the bundles, together with the crawl, the blocklist and the web's
/// responses, and the stores' locations. A worker needs nothing but the database to read them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanSettings {
    /// The crawl's bucket: `file://`, `s3://`, `https://` or `http://`.
    pub source: String,
    /// Whether the bucket is read without credentials.
    pub source_is_public: bool,
    /// The store for archived icons.
    pub archive: String,
    /// The store in which the site is published.
    pub site: String,
    /// Maximum hosts. `None` if unlimited.
    pub limit: Option<u64>,
    /// Tabs per bundle.
    pub entries_per_bundle: u32,
    /// Whether an origin's robots.txt is fetched and obeyed before its first icon.
    pub obey_robots: bool,
    /// Colours that an icon keeps.
    pub icon_colours: Colours,
    /// The CloudFront distribution to invalidate.
    pub distribution: Option<String>,
    /// The public URL of the site, with a slash at the end.
    pub site_url: Option<String>,
    /// The contact for website owners: a mail address or an https address.
    pub contact: Option<String>,
    /// The private prefix with `blocklist.txt`, which publishing reads again.
    pub private: Option<String>,
    /// The internet from which icons are fetched.
    pub internet: Internet,
    /// The User-Agent of every request for an icon or a robots.txt. It overrides the worker's own.
    pub user_agent: Option<String>,
    /// The host ranks by which search orders its results. `None` if shorter names come first.
    pub host_ranks: Option<PinnedRanks>,
    /// Seed that shuffles the order of fetching, and nothing else.
    pub seed: u64,
    /// Percentage of its tabs, icons, titles, framed pages or bundles that the published site may
    /// lose to this scan. A scan that would take more is not published without force.
    pub max_loss: u8,
}

/// The host ranks that `scan start` read and wrote into the archive for the search jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedRanks {
    /// The source that the operator gave: `latest`, or a path or URL.
    pub asked: String,
    /// The path or URL from which they were read.
    pub read_from: String,
    /// Host count.
    pub hosts: u64,
    /// The SHA-256 of the list in the archive, in hexadecimal digits.
    pub sha256: String,
}

impl ScanSettings {
    /// Returns settings with every choice at its default.
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
