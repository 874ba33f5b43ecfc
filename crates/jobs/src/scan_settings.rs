//! The settings of a scan, frozen at `scan start` and obeyed by every worker.

use everytab_icon::png::Colours;
use serde::{Deserialize, Serialize};

/// Tabs per bundle unless the scan says otherwise; the page reads a bundle as one object of about
/// 110 KB.
pub const ENTRIES_PER_BUNDLE: u32 = 120;

/// The internet that a scan asks for icons.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Internet {
    /// The scan was started by a version that did not ask which. It goes on as it began: with the
    /// User-Agent of each worker, and to any address that the worker may dial.
    #[default]
    Unstated,
    /// The public one, as the robot that the scan's User-Agent names.
    Public,
    /// A small one that the operator runs: only addresses that a worker's `--allow-range` names.
    Small,
}

/// What the bundles are a function of, beside the crawl, the blocklist and the web's answers; and
/// where things lie. Any box that can reach the database learns the rest from here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanSettings {
    /// The crawl's bucket: `file://`, `s3://`, `https://` or `http://`.
    pub source: String,
    /// Whether the bucket is read without credentials.
    #[serde(default)]
    pub source_is_public: bool,
    /// Where the icons are archived.
    pub archive: String,
    /// Where the site is published.
    pub site: String,
    /// Hosts wanted at most.
    pub limit: Option<u64>,
    /// Tabs of a bundle.
    pub entries_per_bundle: u32,
    /// Whether robots.txt is asked and obeyed before an origin's first icon.
    pub obey_robots: bool,
    /// How many colours an icon keeps.
    #[serde(default)]
    pub icon_colours: Colours,
    /// The CloudFront distribution to invalidate.
    pub distribution: Option<String>,
    /// Where the site is to be found by people, with a slash at the end.
    #[serde(default)]
    pub site_url: Option<String>,
    /// Where people write to about their sites: a mail address or an https address.
    #[serde(default)]
    pub contact: Option<String>,
    /// The private prefix with `blocklist.txt`, which publishing reads once more.
    #[serde(default)]
    pub private: Option<String>,
    /// The internet that is asked for icons.
    #[serde(default)]
    pub internet: Internet,
    /// The User-Agent of every request for an icon or a robots.txt, whatever a worker's own is.
    #[serde(default)]
    pub user_agent: Option<String>,
    /// The ranks of hosts by which search orders its answers; none: shorter names come first.
    #[serde(default)]
    pub host_ranks: Option<PinnedRanks>,
    /// Shuffles the order of fetching, and nothing else.
    #[serde(default)]
    pub seed: u64,
}

/// The ranks of hosts that `scan start` read, and wrote into the archive for the search jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedRanks {
    /// What the operator asked for: `latest`, or a path or URL.
    pub asked: String,
    /// Where they were read from.
    pub read_from: String,
    /// Number of hosts.
    pub hosts: u64,
    /// The SHA-256 of the list in the archive, in hexadecimal digits.
    pub sha256: String,
}

impl ScanSettings {
    /// Settings with every choice at its default.
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
            internet: Internet::Unstated,
            user_agent: None,
            host_ranks: None,
            seed: 0,
        }
    }
}
