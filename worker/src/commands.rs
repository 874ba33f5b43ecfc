//! The commands: their options and their output.

#[cfg(feature = "crawl")]
pub mod api;
#[cfg(feature = "scan")]
pub mod backup;
pub mod blocklist;
#[cfg(feature = "crawl")]
pub mod crawl;
pub mod database;
pub mod doctor;
#[cfg(feature = "scan")]
pub mod exclude;
pub mod filter;
#[cfg(feature = "scan")]
pub mod gc;
pub mod inspect;
#[cfg(feature = "crawl")]
pub mod keys;
#[cfg(feature = "crawl")]
pub mod list;
#[cfg(feature = "local")]
pub mod local;
#[cfg(not(feature = "local"))]
pub mod local {
    //! Replaces `local` in a program that was built without this feature.

    pub use IgnoredArguments as LocalArgs;

    use crate::cli_error::{CliError, CliResult};

    /// Arguments that are accepted and ignored.
    #[derive(Debug, clap::Args)]
    pub struct IgnoredArguments {
        #[arg(hide = true, num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
        _ignored: Vec<String>,
    }

    /// Rejects the command.
    ///
    /// # Errors
    /// Always returns an error that names the package with `local`.
    pub async fn run(_args: IgnoredArguments) -> CliResult {
        Err(CliError::usage("this package does not include `local`; install everytab-local"))
    }
}
pub mod migrate;
pub mod one_crawl;
#[cfg(feature = "scan")]
pub mod one_scan;
#[cfg(feature = "scan")]
pub mod plan;
#[cfg(feature = "scan")]
pub mod publish;
#[cfg(feature = "scan")]
pub mod requests;
#[cfg(feature = "scan")]
pub mod restore;
pub mod run;
#[cfg(feature = "scan")]
pub mod scan;
pub mod serve;
pub mod signing_key;
pub mod stdout;
pub mod stop;
#[cfg(feature = "scan")]
pub mod takedown;
