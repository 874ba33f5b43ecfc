//! A small internet's settings.

use std::{path::PathBuf, time::Duration};

use crate::{graph::GraphSettings, mix::Mix};

/// A small internet's content.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Content {
    /// A directory with `index/cc-index/...`, the WARC files that its rows name, and `icons/`.
    Recorded {
        /// The directory.
        dir: PathBuf,
    },
    /// Pages and icons made by code.
    Generated {
        /// Number of hostnames with a home page in the crawl.
        hosts: u64,
    },
    /// A site graph for a crawler. The bucket is empty, the mix is not used, and only the `base`
    /// latency applies.
    Graph(Box<GraphSettings>),
}

/// Response times, determined by the URL.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Latency {
    /// The delay before every response.
    pub base: Duration,
    /// The median of an additional delay. It depends on the URL and is 0.5 to 1.5 times this.
    pub median: Duration,
    /// A slow host's minimum additional delay.
    pub slow_at_least: Duration,
    /// A slow host's maximum additional delay.
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

/// Everything that determines a small internet's responses.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The seed for all random choices.
    pub seed: u64,
    /// Recorded content, generated content or a site graph.
    pub content: Content,
    /// The shares of hosts that misbehave.
    pub behaviours: Mix,
    /// The directory for the bucket and the certificate. It is created if it is missing, and reused
    /// if it was created from equal settings.
    pub scratch_dir: PathBuf,
    /// Response times.
    pub latency: Latency,
    /// Whether the servers use the ports 80, 443 and 53 instead of free ones, for programs that
    /// support no others.
    pub standard_ports: bool,
}

impl Settings {
    /// Returns the settings for a generated internet with the light mix.
    #[must_use]
    pub fn generated(seed: u64, hosts: u64, scratch_dir: impl Into<PathBuf>) -> Self {
        Self {
            seed,
            content: Content::Generated { hosts },
            behaviours: Mix::light(),
            scratch_dir: scratch_dir.into(),
            latency: Latency::default(),
            standard_ports: false,
        }
    }

    /// Returns the settings for a site graph.
    #[must_use]
    pub fn graph(seed: u64, graph: GraphSettings, scratch_dir: impl Into<PathBuf>) -> Self {
        Self {
            content: Content::Graph(Box::new(graph)),
            behaviours: Mix::none(),
            ..Self::generated(seed, 0, scratch_dir)
        }
    }

    /// Returns the settings for a recorded internet in which every host is fine.
    #[must_use]
    pub fn recorded(seed: u64, dir: impl Into<PathBuf>, scratch_dir: impl Into<PathBuf>) -> Self {
        Self {
            content: Content::Recorded { dir: dir.into() },
            behaviours: Mix::none(),
            ..Self::generated(seed, 0, scratch_dir)
        }
    }
}
