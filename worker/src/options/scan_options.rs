//! A scan's options.

use std::time::Duration;

use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use everytab_bundler::MAX_LOSS_PERCENT;
use everytab_icon::png::Colours;
use everytab_jobs::scan_settings::ENTRIES_PER_BUNDLE;
use everytab_operations::{archive_rate::ArchiveRate, host_ranks::LATEST, scan_start::ScanOptions};

use super::identity::IdentityArgs;

/// Whether robots.txt is obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RobotsOption {
    /// Fetch robots.txt before an origin's first icon, and obey it
    Obey,
    /// Do not fetch robots.txt
    Off,
}

/// Options that are frozen with a scan.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The scan")]
pub struct ScanOptionArgs {
    /// Maximum number of hosts, sampled evenly from the index; each scan of a crawl selects the
    /// same hosts
    #[arg(long, env = "EVERYTAB_LIMIT", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Whether to fetch and obey robots.txt
    #[arg(long, env = "EVERYTAB_ROBOTS", value_enum, default_value = "obey")]
    pub robots: RobotsOption,
    /// Number of tabs per bundle
    #[arg(long, env = "EVERYTAB_ENTRIES_PER_BUNDLE", default_value_t = ENTRIES_PER_BUNDLE,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub entries_per_bundle: u32,
    /// Colours of an icon: auto (at most 64 if the change is invisible, otherwise all), palette (at
    /// most 64), or lossless (all)
    #[arg(long, env = "EVERYTAB_ICONS", default_value = "auto",
          value_parser = PossibleValuesParser::new(Colours::ALL.map(Colours::name))
              .try_map(|name| name.parse::<Colours>()))]
    pub icons: Colours,
    /// Duration of a job's lease
    #[arg(long, env = "EVERYTAB_LEASE", value_name = "DURATION", default_value = "5m",
          value_parser = parse_duration)]
    pub lease: Duration,
    /// Id of the CloudFront distribution to invalidate after publishing
    #[arg(long, env = "EVERYTAB_DISTRIBUTION", value_name = "ID",
          value_parser = parse_distribution)]
    pub distribution: Option<String>,
    /// Who sends the requests.
    #[command(flatten)]
    pub identity: IdentityArgs,
    /// Host ranks that order search results: latest (the newest of the source), none, or a file in
    /// Common Crawl's format, given as a path in the source, a local path that starts with / or ./,
    /// or a URL
    #[arg(long, env = "EVERYTAB_HOST_RANKS", value_name = "FILE", default_value = LATEST)]
    pub host_ranks: String,
    /// Seed for the order of fetching; results do not depend on it
    #[arg(long, env = "EVERYTAB_SHUFFLE", default_value_t = 0)]
    pub shuffle: u64,
    /// Maximum percentage of its tabs, icons, titles, framed pages or bundles that the published
    /// site may lose. If it would lose more, the scan is not published without `publish --force`
    #[arg(long, env = "EVERYTAB_MAX_LOSS", value_name = "PERCENT",
          default_value_t = MAX_LOSS_PERCENT, value_parser = clap::value_parser!(u8).range(0..=99))]
    pub max_loss: u8,
    /// Maximum requests per second to the crawl's source, for all workers together, or off
    /// [default: 1000 for S3; 9 over HTTPS, which Common Crawl requests; no limit for a local
    /// directory]
    #[arg(long, env = "EVERYTAB_ARCHIVE_RATE", value_name = "RATE")]
    pub archive_rate: Option<ArchiveRate>,
}

impl ScanOptionArgs {
    /// Converts the options to those of operations.
    pub fn scan_options(&self) -> ScanOptions {
        let Self {
            limit,
            robots,
            entries_per_bundle,
            icons,
            lease,
            distribution,
            identity,
            host_ranks,
            shuffle,
            max_loss,
            archive_rate,
        } = self.clone();
        let internet = identity.internet();
        let IdentityArgs { site_url, contact, .. } = identity;
        ScanOptions {
            limit,
            obey_robots: robots == RobotsOption::Obey,
            entries_per_bundle,
            icon_colours: icons,
            lease,
            distribution,
            site_url,
            contact,
            internet,
            host_ranks,
            shuffle,
            max_loss,
            archive_rate,
        }
    }
}

/// Parses the id of a CloudFront distribution. Rejects it if this program cannot invalidate one.
pub fn parse_distribution(text: &str) -> Result<String, String> {
    if !cfg!(feature = "cloudfront") {
        return Err("this program was built without the feature `cloudfront`".to_owned());
    }
    let is_id = (1..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric());
    is_id
        .then(|| text.to_owned())
        .ok_or_else(|| format!("{text:?} is not the id of a distribution, such as E2QWRUHAPOMQZL"))
}

/// Parses `90s`, `5m`, `250ms`, `2h`, or a number of seconds, up to a day.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let milliseconds = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(milliseconds))
        .filter(|total| *total > 0 && *total <= 86_400_000)
        .map(Duration::from_millis)
        .ok_or_else(|| format!("{text:?} is not a duration such as 90s, 5m or 250ms, up to a day"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_bounds() {
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(parse_duration("7"), Ok(Duration::from_secs(7)));
        for bad in ["", "0s", "5x", "-1s", "25h", "99999999999999999999s", "m"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
