//! `blocklist`: changes and shows what the next scans leave out.

use clap::{Args, Subcommand};
use everytab_operations::blocklist::{self, PatternKind, Patterns};
use serde_json::json;

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{
        database,
        stdout::{self, StandardStreams},
    },
    options::DatabaseArgs,
};

/// Options of `blocklist`.
#[derive(Debug, Args)]
pub struct BlocklistArgs {
    #[command(subcommand)]
    command: BlocklistCommand,
}

#[derive(Debug, Subcommand)]
enum BlocklistCommand {
    /// Leave hosts or titles out of the next scans
    Add {
        #[command(flatten)]
        patterns: PatternArgs,
        /// Why; kept beside the pattern
        #[arg(long, env = "EVERYTAB_REASON")]
        reason: Option<String>,
    },
    /// Take patterns off the list
    Remove(PatternArgs),
    /// Show the list: kind, pattern, since when, and why, by tabs
    List {
        #[command(flatten)]
        database: DatabaseArgs,
        /// One JSON object a line
        #[arg(long, env = "EVERYTAB_JSON")]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct PatternArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Domains with all hostnames below them, such as example.com
    #[arg(long, env = "EVERYTAB_SUFFIX")]
    suffix: bool,
    /// Patterns of titles, any case: % stands for anything, _ for one character
    #[arg(long, env = "EVERYTAB_TITLE", conflicts_with = "suffix")]
    title: bool,
    /// Hostnames, unless --suffix or --title says otherwise
    #[arg(required = true)]
    patterns: Vec<String>,
}

impl PatternArgs {
    fn checked(&self) -> Result<Patterns, CliError> {
        let kind = match (self.suffix, self.title) {
            (true, _) => PatternKind::Suffix,
            (_, true) => PatternKind::Title,
            _ => PatternKind::Hostname,
        };
        Patterns::check(kind, &self.patterns)
    }
}

/// Changes or shows the list.
///
/// # Errors
/// When a pattern cannot match anything, or the database refuses.
pub async fn run(args: BlocklistArgs) -> CliResult {
    match args.command {
        BlocklistCommand::Add { patterns: args, reason } => {
            let patterns = args.checked()?;
            let coordinator = database::connect(&args.database).await?;
            let reason = reason.as_deref();
            blocklist::add(&coordinator, patterns, reason, &StandardStreams).await?;
        }
        BlocklistCommand::Remove(args) => {
            let patterns = args.checked()?;
            let coordinator = database::connect(&args.database).await?;
            blocklist::remove(&coordinator, patterns, &StandardStreams).await?;
        }
        BlocklistCommand::List { database, json } => list(&database, json).await?,
    }
    Ok(Exit::Done)
}

async fn list(args: &DatabaseArgs, as_json: bool) -> Result<(), CliError> {
    let coordinator = database::connect(args).await?;
    for blocked in coordinator.list_blocked().await? {
        let (kind, pattern, reason) = (&blocked.kind, &blocked.pattern, &blocked.reason);
        if as_json {
            let since = blocked.added_at;
            let line =
                json!({"kind": kind, "pattern": pattern, "reason": reason, "added_at": since});
            stdout::line(format_args!("{line}"))?;
        } else {
            let since = blocked.added_at.format("%Y-%m-%d");
            let reason = reason.as_deref().unwrap_or("");
            stdout::line(format_args!("{kind}\t{pattern}\t{since}\t{reason}"))?;
        }
    }
    Ok(())
}
