//! `takedown`: removes hosts, titles and icons from a published site.

use clap::Args;
use everytab_operations::{
    takedown::{self, TakedownOptions},
    takedown_everywhere::{self, EverywhereOptions},
};

use crate::{
    cli_error::{CliResult, Exit},
    commands::{blocklist::PatternArgs, stdout::StandardStreams},
    options::{DatabaseArgs, parse_distribution},
};

/// Options for `takedown`.
#[derive(Debug, Args)]
pub struct TakedownArgs {
    #[command(flatten)]
    patterns: PatternArgs,
    /// The published site (file:// or s3://)
    #[arg(long, env = "EVERYTAB_SITE")]
    site: String,
    /// Private prefix whose blocklist.txt excludes the hosts and titles from the next scans
    #[arg(long, env = "EVERYTAB_PRIVATE")]
    private: Option<String>,
    /// Id of the CloudFront distribution to invalidate
    #[arg(long, env = "EVERYTAB_DISTRIBUTION", value_name = "ID",
          value_parser = parse_distribution)]
    distribution: Option<String>,
    /// Also remove hosts from old versions of objects, from the archives and rows of all ended
    /// scans, and from backups when they are restored
    #[arg(long, env = "EVERYTAB_EVERYWHERE")]
    everywhere: bool,
    /// With --everywhere: prefix of the backups, each in its own directory
    #[arg(long, value_name = "URL", requires = "everywhere")]
    backups: Option<String>,
    #[command(flatten)]
    database: DatabaseArgs,
    /// Reason, stored with the patterns in blocklist.txt
    #[arg(long, env = "EVERYTAB_REASON")]
    reason: Option<String>,
}

/// Removes all tabs that match the patterns, and prints a line for each. The exit code is 1 if a
/// pattern matches no tab and was not taken down before.
///
/// # Errors
/// Returns an error if a pattern is invalid, or if a store fails or holds no site.
pub async fn run(args: TakedownArgs) -> CliResult {
    let TakedownArgs {
        patterns,
        site,
        private,
        distribution,
        everywhere,
        backups,
        database,
        reason,
        ..
    } = args;
    let patterns = patterns.checked()?;
    let takedown = TakedownOptions { patterns, site, private, distribution, reason };
    let are_all_down = if everywhere {
        let database_url = database.database_url.filter(|url| !url.is_empty());
        let options = EverywhereOptions { takedown, database_url, backups };
        takedown_everywhere::take_down_everywhere(options, &StandardStreams).await?
    } else {
        takedown::take_down(takedown, &StandardStreams).await?
    };
    Ok(if are_all_down { Exit::Done } else { Exit::Failed })
}
