//! `takedown`: takes hosts off a published site.

use clap::Args;
use everytab_operations::takedown::{self, TakedownOptions};

use crate::{
    cli_error::{CliResult, Exit},
    commands::stdout::StandardStreams,
    options::parse_distribution,
};

/// Options of `takedown`.
#[derive(Debug, Args)]
pub struct TakedownArgs {
    /// Hostnames, exactly as the tabs have them: www.example.com is another host than example.com
    #[arg(required = true)]
    hosts: Vec<String>,
    /// The published site (file:// or s3://)
    #[arg(long, env = "EVERYTAB_SITE")]
    site: String,
    /// Private prefix whose blocklist.txt keeps the hosts out of the next scans
    #[arg(long, env = "EVERYTAB_PRIVATE")]
    private: Option<String>,
    /// CloudFront distribution to invalidate
    #[arg(long, env = "EVERYTAB_DISTRIBUTION", value_name = "ID",
          value_parser = parse_distribution)]
    distribution: Option<String>,
    /// Why; kept beside the hosts in blocklist.txt
    #[arg(long, env = "EVERYTAB_REASON")]
    reason: Option<String>,
}

/// Takes each host down; one line a host on stdout.
///
/// # Errors
/// When a store refuses or holds no site. A host that has no tab is exit code 1, unless it was
/// taken down before.
pub async fn run(args: TakedownArgs) -> CliResult {
    let TakedownArgs { hosts, site, private, distribution, reason } = args;
    let options = TakedownOptions { hosts, site, private, distribution, reason };
    let are_all_down = takedown::take_down(options, &StandardStreams).await?;
    Ok(if are_all_down { Exit::Done } else { Exit::Failed })
}
