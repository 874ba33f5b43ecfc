//! `filter`: stores, shows and removes filters for live crawls.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use everytab_coordinator::OPERATOR;
use everytab_filters::{FilterSettings, MAX_FILTER_BYTES, check_filter_name};

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{database, stdout},
    options::DatabaseArgs,
};

/// Options for `filter`.
#[derive(Debug, Args)]
pub struct FilterCommandArgs {
    #[command(subcommand)]
    command: FilterCommand,
}

#[derive(Debug, Subcommand)]
enum FilterCommand {
    /// Store a filter under a name; started crawls keep their version
    Put {
        #[command(flatten)]
        database: DatabaseArgs,
        /// The filter's name
        name: String,
        /// File with the filter as JSON
        file: PathBuf,
    },
    /// List the filters, tab-separated: name, version, time of the change, and the filter
    List {
        #[command(flatten)]
        database: DatabaseArgs,
        /// Print one JSON object per line
        #[arg(long, env = "EVERYTAB_JSON")]
        json: bool,
    },
    /// Remove a filter; started crawls keep their version
    Remove {
        #[command(flatten)]
        database: DatabaseArgs,
        /// The filter's name
        name: String,
    },
}

/// Stores, lists or removes a filter.
///
/// # Errors
/// Returns an error if a filter is invalid or unknown, or if the database fails.
pub async fn run(args: FilterCommandArgs) -> CliResult {
    match args.command {
        FilterCommand::Put { database, name, file } => {
            check_filter_name(&name).map_err(CliError::usage)?;
            let filter = read(&file)?;
            let coordinator = database::connect(&database).await?;
            let body = serde_json::to_value(&filter)?;
            let kept = coordinator.put_filter(OPERATOR, &name, &body).await?;
            stdout::line(format_args!("{name}\t{}", kept.version))?;
        }
        FilterCommand::List { database, json } => {
            let coordinator = database::connect(&database).await?;
            for filter in coordinator.list_filters(OPERATOR, None).await? {
                if json {
                    stdout::line(serde_json::to_string(&filter)?)?;
                    continue;
                }
                let since = filter.changed_at.format("%Y-%m-%d");
                let (name, version, body) = (filter.name, filter.version, filter.body);
                stdout::line(format_args!("{name}\t{version}\t{since}\t{body}"))?;
            }
        }
        FilterCommand::Remove { database, name } => {
            let coordinator = database::connect(&database).await?;
            if !coordinator.remove_filter(OPERATOR, &name).await? {
                return Err(CliError::new(format!(
                    "there is no filter {name:?}; `filter list` shows them"
                )));
            }
            stdout::line(name)?;
        }
    }
    Ok(Exit::Done)
}

/// Reads and checks a filter.
///
/// # Errors
/// Returns an error if the file cannot be read, or if its filter is invalid.
pub(super) fn read(file: &Path) -> Result<FilterSettings, CliError> {
    let of_file = |error: String| CliError::usage(format!("{}: {error}", file.display()));
    let size = std::fs::metadata(file).map_err(|error| of_file(error.to_string()))?.len();
    if size > MAX_FILTER_BYTES as u64 {
        return Err(of_file(format!("the filter has more than {MAX_FILTER_BYTES} bytes")));
    }
    let bytes = std::fs::read(file).map_err(|error| of_file(error.to_string()))?;
    FilterSettings::parse(&bytes).map_err(|error| of_file(error.to_string()))
}
