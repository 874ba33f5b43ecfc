//! The commands, one file each: their options, and the output that a person sees.

pub mod api;
pub mod backup;
pub mod blocklist;
pub mod crawl;
pub mod database;
pub mod doctor;
pub mod exclude;
pub mod filter;
pub mod gc;
pub mod inspect;
pub mod keys;
pub mod list;
#[cfg(feature = "local")]
pub mod local;
#[cfg(not(feature = "local"))]
pub mod local {
    //! `local` in a program that was built without it. Names the package that has it.

    pub use IgnoredArguments as LocalArgs;

    use crate::cli_error::{CliError, CliResult};

    /// Options of `local`, which this program takes and does not read.
    #[derive(Debug, clap::Args)]
    pub struct IgnoredArguments {
        #[arg(hide = true, num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
        _ignored: Vec<String>,
    }

    /// Refuses to run.
    ///
    /// # Errors
    /// Always returns an error: this program has no Postgres and no small internet of its own.
    pub async fn run(_args: IgnoredArguments) -> CliResult {
        Err(CliError::usage("this package has no `local`: install everytab-local, which has it"))
    }
}
pub mod migrate;
pub mod one_scan;
pub mod plan;
pub mod publish;
pub mod requests;
pub mod restore;
pub mod run;
pub mod scan;
pub mod serve;
pub mod signing_key;
pub mod stdout;
pub mod stop;
pub mod takedown;
