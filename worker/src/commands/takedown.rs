//! `takedown`: takes hosts, titles and icons off a published site.

use clap::Args;
use everytab_operations::takedown::{self, TakedownOptions};

use crate::{
    cli_error::{CliResult, Exit},
    commands::{blocklist::PatternArgs, stdout::StandardStreams},
    options::parse_distribution,
};

/// Options of `takedown`.
#[derive(Debug, Args)]
pub struct TakedownArgs {
    #[command(flatten)]
    patterns: PatternArgs,
    /// The published site (file:// or s3://)
    #[arg(long, env = "EVERYTAB_SITE")]
    site: String,
    /// Private prefix whose blocklist.txt keeps it out of the next scans
    #[arg(long, env = "EVERYTAB_PRIVATE")]
    private: Option<String>,
    /// CloudFront distribution to invalidate
    #[arg(long, env = "EVERYTAB_DISTRIBUTION", value_name = "ID",
          value_parser = parse_distribution)]
    distribution: Option<String>,
    /// Why; kept beside the patterns in blocklist.txt
    #[arg(long, env = "EVERYTAB_REASON")]
    reason: Option<String>,
}

/// Takes down what was named; one line a tab on stdout.
///
/// # Errors
/// When a store refuses or holds no site. A pattern that has no tab is exit code 1, unless it was
/// taken down before.
pub async fn run(args: TakedownArgs) -> CliResult {
    let TakedownArgs { patterns, site, private, distribution, reason } = args;
    let patterns = patterns.checked()?;
    let options = TakedownOptions { patterns, site, private, distribution, reason };
    let are_all_down = takedown::take_down(options, &StandardStreams).await?;
    Ok(if are_all_down { Exit::Done } else { Exit::Failed })
}
