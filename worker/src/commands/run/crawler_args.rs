//! Options of the role `crawl`.

use std::time::Duration;

use clap::Args;

use crate::options::parse_duration;

/// Options of the role `crawl`.
#[derive(Debug, Clone, Args)]
#[cfg_attr(not(feature = "crawl"), allow(dead_code))]
pub(super) struct CrawlerArgs {
    /// With --role crawl: your own domains, which may be fetched with a delay below 250 ms
    #[arg(long, env = "EVERYTAB_OWN", value_name = "DOMAIN", value_delimiter = ',')]
    pub own: Vec<String>,
    /// With --role crawl: how long to retry a host that does not respond or whose robots.txt is
    /// unavailable. After this time, its remaining URLs are not fetched and get the state left. A
    /// silent host is given up after 13 requests in any case [default: 24h]
    #[arg(long, env = "EVERYTAB_HOST_PATIENCE", value_name = "DURATION",
          value_parser = parse_duration)]
    pub host_patience: Option<Duration>,
}
