//! What a small internet is made from. Two equal settings give equal bytes everywhere.

use std::path::PathBuf;
use std::time::Duration;

use crate::mix::Mix;

/// What the small internet holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Content {
    /// A folder with `index/cc-index/...`, the WARC files that its rows name, and `icons/`.
    Recorded {
        /// The folder.
        dir: PathBuf,
    },
    /// Pages and icons made by code.
    Generated {
        /// How many hostnames have a home page in the crawl.
        hosts: u64,
    },
}

/// How long answers take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Latency {
    /// Every answer waits this long.
    pub base: Duration,
    /// And a time fixed by its URL, of this median: from half of it to one and a half.
    pub median: Duration,
    /// The least that an answer of a slow host waits on top.
    pub slow_at_least: Duration,
    /// The most that an answer of a slow host waits on top.
    pub slow_at_most: Duration,
}

impl Default for Latency {
    fn default() -> Self {
        Self {
            base: Duration::ZERO,
            median: Duration::ZERO,
            slow_at_least: Duration::from_millis(300),
            slow_at_most: Duration::from_secs(1),
        }
    }
}

/// Everything a small internet is a function of, and where it may keep files.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The one number that everything else is drawn from.
    pub seed: u64,
    /// Recorded or generated.
    pub content: Content,
    /// In which shares hosts misbehave.
    pub behaviours: Mix,
    /// Folder for the bucket and the certificate; made if missing, reused when it fits.
    pub scratch_dir: PathBuf,
    /// How long answers take.
    pub latency: Latency,
}

impl Settings {
    /// A generated internet with the light mix.
    #[must_use]
    pub fn generated(seed: u64, hosts: u64, scratch_dir: impl Into<PathBuf>) -> Self {
        Self {
            seed,
            content: Content::Generated { hosts },
            behaviours: Mix::light(),
            scratch_dir: scratch_dir.into(),
            latency: Latency::default(),
        }
    }

    /// A recorded internet in which every host is fine.
    #[must_use]
    pub fn recorded(seed: u64, dir: impl Into<PathBuf>, scratch_dir: impl Into<PathBuf>) -> Self {
        Self {
            content: Content::Recorded { dir: dir.into() },
            behaviours: Mix::none(),
            ..Self::generated(seed, 0, scratch_dir)
        }
    }
}
