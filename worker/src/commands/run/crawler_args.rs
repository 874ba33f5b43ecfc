//! Options for the role `crawl`.

use std::time::Duration;

use clap::Args;

use crate::options::parse_duration;

/// Options for the role `crawl`.
#[derive(Debug, Clone, Args)]
#[cfg_attr(not(feature = "crawl"), allow(dead_code))]
pub(super) struct CrawlerArgs {
    /// With --role crawl: your own domains, which may be fetched with a delay below 250 ms
    #[arg(long, env = "EVERYTAB_OWN", value_name = "DOMAIN", value_delimiter = ',')]
    pub own: Vec<String>,
    /// With --role crawl: how long to retry an origin (scheme, host and port) that only fails or
    /// whose robots.txt is unavailable. After this time, its remaining URLs get the state left.
    /// Applies to crawls without a --host-patience of their own [default: 24h]
    #[arg(long, env = "EVERYTAB_HOST_PATIENCE", value_name = "DURATION",
          value_parser = parse_duration)]
    pub host_patience: Option<Duration>,
}
