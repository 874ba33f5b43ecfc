//! `scan exclude`: stops a running scan's requests to hosts or networks.

use std::path::PathBuf;

use clap::Args;
use everytab_operations::exclude::{self, ExclusionPattern};

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{one_scan::OneScan, stdout::StandardStreams},
};

/// Options for `scan exclude`.
#[derive(Debug, Args)]
pub struct ExcludeArgs {
    #[command(flatten)]
    scan: OneScan,
    /// Hosts (www.example.com), domains including all hosts below them (*.example.com), and
    /// networks (192.0.2.0/24, or one address)
    #[arg(required_unless_present_any = ["file", "list"], value_parser = ExclusionPattern::parse)]
    patterns: Vec<ExclusionPattern>,
    /// File with more patterns, one per line; # starts a comment
    #[arg(long, env = "EVERYTAB_EXCLUDE_FILE", value_name = "FILE")]
    file: Option<PathBuf>,
    /// Show the exclusions so far, with their times
    #[arg(long, conflicts_with_all = ["patterns", "file"])]
    list: bool,
    /// Private prefix whose blocklist.txt excludes the hosts from the next scans
    #[arg(long, env = "EVERYTAB_PRIVATE")]
    private: Option<String>,
    /// Reason, stored with the hosts in blocklist.txt
    #[arg(long, env = "EVERYTAB_REASON")]
    reason: Option<String>,
}

/// Adds or lists exclusions, one line each on stdout.
///
/// # Errors
/// Returns an error if the file is not a list of patterns, if the scan has ended, or if the
/// database or the private store fails.
pub async fn run(args: ExcludeArgs) -> CliResult {
    let ExcludeArgs { scan, mut patterns, file, list, private, reason } = args;
    if let Some(file) = file {
        let text = std::fs::read_to_string(&file)
            .map_err(|error| CliError::usage(format!("--file {}: {error}", file.display())))?;
        let more = exclude::read_list(&text)
            .map_err(|error| CliError::usage(format!("--file {}: {error}", file.display())))?;
        patterns.extend(more);
    }
    let (coordinator, number) = scan.find().await?;
    if list {
        exclude::list(&coordinator, number, &StandardStreams).await?;
        return Ok(Exit::Done);
    }
    let (private, reason) = (private.as_deref(), reason.as_deref());
    exclude::exclude(&coordinator, number, &patterns, private, reason, &StandardStreams).await?;
    Ok(Exit::Done)
}
