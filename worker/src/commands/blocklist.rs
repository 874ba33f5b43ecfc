//! `blocklist`: what the next scans leave out. A scan that runs keeps the list it began with.

use clap::{Args, Subcommand};
use everytab_commoncrawl::check_hostname;
use serde_json::json;
use url::Host;

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{database, stdout},
    options::DatabaseArgs,
};

/// Longest pattern, in characters; the database holds no longer one.
const MAX_PATTERN_CHARACTERS: usize = 300;

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
        patterns: Patterns,
        /// Why; kept beside the pattern
        #[arg(long, env = "EVERYTAB_REASON")]
        reason: Option<String>,
    },
    /// Take patterns off the list
    Remove(Patterns),
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
struct Patterns {
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

impl Patterns {
    fn kind(&self) -> &'static str {
        match (self.suffix, self.title) {
            (true, _) => "suffix",
            (_, true) => "title",
            _ => "hostname",
        }
    }

    /// The patterns as the database compares them; all are checked before any is sent.
    fn checked(&self) -> Result<Vec<String>, CliError> {
        let kind = self.kind();
        let check = |pattern: &String| match kind {
            "title" => title_pattern(pattern),
            "suffix" => hostname(pattern.trim_start_matches("*.").trim_start_matches('.')),
            _ => hostname(pattern),
        };
        let checked = self.patterns.iter().map(check).collect::<Result<_, _>>();
        checked.map_err(CliError::usage)
    }
}

/// Changes or shows the list.
///
/// # Errors
/// When a pattern cannot match anything, or the database refuses.
pub async fn run(args: BlocklistArgs) -> CliResult {
    match args.command {
        BlocklistCommand::Add { patterns, reason } => add(&patterns, reason.as_deref()).await,
        BlocklistCommand::Remove(patterns) => remove(&patterns).await,
        BlocklistCommand::List { database, json } => list(&database, json).await,
    }
}

async fn add(args: &Patterns, reason: Option<&str>) -> CliResult {
    let (kind, patterns) = (args.kind(), args.checked()?);
    let coordinator = database::connect(&args.database).await?;
    for pattern in patterns {
        coordinator.block(kind, &pattern, reason).await?;
        stdout::line(format_args!("{kind}\t{pattern}"))?;
        if kind == "title" && !pattern.contains(['%', '_']) {
            eprintln!("{pattern:?} has no %: it matches only titles that are exactly so");
        }
    }
    eprintln!("left out from the next `scan start` on; `takedown` changes a site at once");
    Ok(Exit::Done)
}

async fn remove(args: &Patterns) -> CliResult {
    let (kind, patterns) = (args.kind(), args.checked()?);
    let coordinator = database::connect(&args.database).await?;
    let mut absent = Vec::new();
    for pattern in patterns {
        if coordinator.unblock(kind, &pattern).await? {
            stdout::line(format_args!("{kind}\t{pattern}"))?;
        } else {
            absent.push(pattern);
        }
    }
    if absent.is_empty() {
        return Ok(Exit::Done);
    }
    let names = absent.join(", ");
    Err(CliError::new(format!(
        "not on the blocklist as {kind}: {names}; `blocklist list` shows it"
    )))
}

async fn list(args: &DatabaseArgs, as_json: bool) -> CliResult {
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
            stdout::line(format_args!(
                "{kind}\t{pattern}\t{since}\t{}",
                reason.as_deref().unwrap_or("")
            ))?;
        }
    }
    Ok(Exit::Done)
}

/// A hostname as scans write it: lower case, IDNA applied, no dot at the end.
pub(super) fn hostname(text: &str) -> Result<String, String> {
    let text = text.trim();
    let refused = |reason: &str| format!("{text:?} is no hostname: {reason}");
    if text.contains("://") || text.contains('/') {
        return Err(refused("give it without scheme and path, such as example.com"));
    }
    let host =
        Host::parse(text.trim_end_matches('.')).map_err(|error| refused(&error.to_string()))?;
    let name = host.to_string();
    check_hostname(&name).map_err(|error| refused(&error.to_string()))?;
    Ok(name)
}

fn title_pattern(text: &str) -> Result<String, String> {
    let characters = text.chars().count();
    if !(1..=MAX_PATTERN_CHARACTERS).contains(&characters) {
        return Err(format!("a title pattern has 1 to {MAX_PATTERN_CHARACTERS} characters"));
    }
    if text.chars().any(char::is_control) {
        return Err(format!("{text:?} holds control characters, which no title does"));
    }
    if text.chars().all(|character| character == '%') {
        return Err(format!("{text:?} matches every title"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostnames_are_written_as_scans_write_them() {
        for (text, name) in [
            ("Example.COM", "example.com"),
            (" www.example.com. ", "www.example.com"),
            ("bücher.example", "xn--bcher-kva.example"),
        ] {
            assert_eq!(hostname(text).as_deref(), Ok(name));
        }
        for bad in ["", ".", "https://example.com/", "example.com/x", "a b", "exa%mple"] {
            assert!(hostname(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_title_pattern_that_would_empty_the_site_is_refused() {
        assert_eq!(title_pattern("%casino%").as_deref(), Ok("%casino%"));
        for bad in ["", "%", "%%", "a\nb", &"x".repeat(301)] {
            assert!(title_pattern(bad).is_err(), "{bad:?}");
        }
    }
}
