//! `blocklist`: changes and shows the hosts, titles and icons that the next scans exclude.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use everytab_coordinator::ImportedList;
use everytab_operations::blocklist::{
    self, PatternKind, Patterns,
    import::{HostList, MAX_LIST_BYTES, import},
};
use serde_json::json;

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{
        database,
        stdout::{self, StandardStreams},
    },
    options::DatabaseArgs,
};

/// Options for `blocklist`.
#[derive(Debug, Args)]
pub struct BlocklistArgs {
    #[command(subcommand)]
    command: BlocklistCommand,
}

#[derive(Debug, Subcommand)]
enum BlocklistCommand {
    /// Exclude hosts, titles or icons from the next scans
    Add {
        #[command(flatten)]
        patterns: DatabasePatternArgs,
        /// Reason, stored with the pattern
        #[arg(long, env = "EVERYTAB_REASON")]
        reason: Option<String>,
    },
    /// Remove patterns from the blocklist
    Remove(DatabasePatternArgs),
    /// Import a public list of hosts: a hosts file, plain names, URLs, or ||name^ rules
    Import(ImportArgs),
    /// Remove an imported list
    RemoveList {
        #[command(flatten)]
        database: DatabaseArgs,
        /// The list's name
        list: String,
    },
    /// Show the imported lists, tab-separated: name, number of patterns, import time and source
    Lists {
        #[command(flatten)]
        database: DatabaseArgs,
    },
    /// Show the added patterns, tab-separated: kind, pattern, time and reason
    List {
        #[command(flatten)]
        database: DatabaseArgs,
        /// Print one JSON object per line
        #[arg(long, env = "EVERYTAB_JSON")]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct ImportArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The list's name; an existing list of this name is replaced
    #[arg(long, env = "EVERYTAB_LIST", value_name = "NAME")]
    list: String,
    /// Origin of the list, stored for reference [default: the file's name]
    #[arg(long, env = "EVERYTAB_LIST_SOURCE", value_name = "URL")]
    source: Option<String>,
    /// Block each name as a domain, including all hostnames below it
    #[arg(long, env = "EVERYTAB_SUFFIX")]
    suffix: bool,
    /// File with the list; - reads standard input
    file: PathBuf,
}

#[derive(Debug, Args)]
struct DatabasePatternArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    patterns: PatternArgs,
}

#[derive(Debug, Args)]
pub(super) struct PatternArgs {
    /// Domains, including all hostnames below them, such as example.com
    #[arg(long, env = "EVERYTAB_SUFFIX")]
    suffix: bool,
    /// Title patterns, ignoring case: % matches any characters, _ matches one character
    #[arg(long, env = "EVERYTAB_TITLE", conflicts_with = "suffix")]
    title: bool,
    /// SHA-256 digests of icon files as their hosts serve them; the host's next best icon is shown
    #[arg(long, env = "EVERYTAB_SHA256", conflicts_with_all = ["suffix", "title"])]
    sha256: bool,
    /// Hostnames, or the patterns that --suffix, --title or --sha256 selects
    #[arg(required = true)]
    patterns: Vec<String>,
}

impl PatternArgs {
    pub(super) fn checked(&self) -> Result<Patterns, CliError> {
        Patterns::check(self.kind(), &self.patterns)
    }

    fn kind(&self) -> PatternKind {
        match (self.suffix, self.title, self.sha256) {
            (true, _, _) => PatternKind::Suffix,
            (_, true, _) => PatternKind::Title,
            (_, _, true) => PatternKind::Sha256,
            _ => PatternKind::Hostname,
        }
    }
}

/// Changes or shows the list.
///
/// # Errors
/// Returns an error if a pattern cannot match anything, or if the database fails.
pub async fn run(args: BlocklistArgs) -> CliResult {
    match args.command {
        BlocklistCommand::Add { patterns: args, reason } => {
            let patterns = args.patterns.checked()?;
            let coordinator = database::connect(&args.database).await?;
            let reason = reason.as_deref();
            blocklist::add(&coordinator, patterns, reason, &StandardStreams).await?;
        }
        BlocklistCommand::Remove(args) => {
            let patterns = Patterns::listed(args.patterns.kind(), &args.patterns.patterns);
            let coordinator = database::connect(&args.database).await?;
            blocklist::remove(&coordinator, patterns, &StandardStreams).await?;
        }
        BlocklistCommand::Import(args) => import_list(args).await?,
        BlocklistCommand::RemoveList { database, list } => {
            let coordinator = database::connect(&database).await?;
            if !coordinator.remove_list(&list).await? {
                return Err(CliError::new(format!(
                    "there is no imported list {list:?}; `blocklist lists` shows them"
                )));
            }
            stdout::line(list)?;
        }
        BlocklistCommand::Lists { database } => {
            let coordinator = database::connect(&database).await?;
            for found in coordinator.imported_lists().await? {
                let ImportedList { list, source, imported_at, patterns } = found;
                let since = imported_at.format("%Y-%m-%d");
                stdout::line(format_args!("{list}\t{patterns}\t{since}\t{source}"))?;
            }
        }
        BlocklistCommand::List { database, json } => list(&database, json).await?,
    }
    Ok(Exit::Done)
}

async fn import_list(args: ImportArgs) -> Result<(), CliError> {
    let read = |error| CliError::new(format!("{}: {error}", args.file.display()));
    let mut bytes = Vec::new();
    let input: Box<dyn Read> = if args.file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(File::open(&args.file).map_err(read)?)
    };
    input.take(MAX_LIST_BYTES + 1).read_to_end(&mut bytes).map_err(read)?;
    if bytes.len() as u64 > MAX_LIST_BYTES {
        return Err(CliError::new(format!(
            "{}: the list has more than {MAX_LIST_BYTES} bytes; import it in parts, each with its \
             own --list",
            args.file.display()
        )));
    }
    let list = HostList::read(&String::from_utf8_lossy(&bytes), args.suffix)?;
    let source = args.source.unwrap_or_else(|| args.file.display().to_string());
    let coordinator = database::connect(&args.database).await?;
    import(&coordinator, &args.list, &source, &list, &StandardStreams).await?;
    Ok(())
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
