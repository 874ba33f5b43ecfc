//! `local` in a program that was built without the feature `local`. Names the package that has it.

use clap::Args;

use crate::cli_error::{CliError, CliResult};

pub use IgnoredArguments as LocalArgs;

/// Options of `local`, which this program takes and does not read.
#[derive(Debug, Args)]
pub struct IgnoredArguments {
    #[arg(hide = true, num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
    _ignored: Vec<String>,
}

/// Refuses to run.
///
/// # Errors
/// Always returns an error, because this program has no Postgres and no small internet of its own.
pub async fn run(_args: IgnoredArguments) -> CliResult {
    Err(CliError::usage("this package has no `local`: install everytab-local, which has it"))
}
