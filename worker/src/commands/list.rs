//! `list`: imports and shows public lists for filters in live crawls.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use everytab_coordinator::StoredFilterList;
use everytab_crawl_operations::filter_list;
use everytab_operations::scan_start;
use serde_json::json;

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{
        database,
        stdout::{self, StandardStreams},
    },
    options::DatabaseArgs,
};

/// Options for `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(subcommand)]
    command: ListCommand,
}

#[derive(Debug, Subcommand)]
enum ListCommand {
    /// Import a list: a hosts file, names or URLs one per line, UT1's category directories or a
    /// .tar.gz of them, or delegated-* files of the regional internet registries
    Import {
        #[command(flatten)]
        database: DatabaseArgs,
        /// The list's name; crawls that start after the import use the new version
        name: String,
        /// File or directory of the list
        #[arg(value_name = "FILE|DIR")]
        from: PathBuf,
        /// Store from which workers read the list (file:// or s3://)
        #[arg(long, env = "EVERYTAB_LIST_TO", value_name = "STORE")]
        to: String,
    },
    /// Show the newest version of each list, or one list with its categories
    Show {
        #[command(flatten)]
        database: DatabaseArgs,
        /// The list's name
        name: Option<String>,
        /// Print one JSON object per line
        #[arg(long, env = "EVERYTAB_JSON")]
        json: bool,
    },
}

/// Imports or shows lists.
///
/// # Errors
/// Returns an error if the list cannot be read, or if the store or the database fails.
pub async fn run(args: ListArgs) -> CliResult {
    match args.command {
        ListCommand::Import { database, name, from, to } => {
            let to = scan_start::absolute(to)?;
            let source = from.display().to_string();
            let list = tokio::task::spawn_blocking(move || filter_list::read(&from)).await??;
            let coordinator = database::connect(&database).await?;
            let list = (list, source.as_str());
            filter_list::import(&coordinator, &name, list, &to, &StandardStreams).await?;
        }
        ListCommand::Show { database, name, json } => {
            let coordinator = database::connect(&database).await?;
            let names = name.as_deref().map(|name| vec![name]);
            let lists = coordinator.filter_lists(names.as_deref()).await?;
            if let Some(name) = name.as_ref().filter(|_| lists.is_empty()) {
                return Err(CliError::new(format!(
                    "there is no list {name:?}; `list show` shows them"
                )));
            }
            for list in &lists {
                show(list, json, name.is_some())?;
            }
        }
    }
    Ok(Exit::Done)
}

fn show(list: &StoredFilterList, as_json: bool, with_categories: bool) -> Result<(), CliError> {
    let StoredFilterList { name, version, kind, entries, bytes, source, .. } = list;
    if as_json {
        return stdout::line(json!({
            "name": name, "version": version, "kind": kind, "entries": entries, "bytes": bytes,
            "categories": list.categories, "store": list.store, "object": list.object,
            "sha256": hex::encode(&list.sha256), "source": source,
            "imported_at": list.imported_at,
        }));
    }
    let since = list.imported_at.format("%Y-%m-%d");
    stdout::line(format_args!("{name}\t{version}\t{kind}\t{entries}\t{bytes}\t{since}\t{source}"))?;
    let categories = list.categories.as_object().into_iter().flatten();
    for (category, entries) in categories.filter(|_| with_categories) {
        stdout::line(format_args!("{name}\t{category}\t{entries}"))?;
    }
    Ok(())
}
