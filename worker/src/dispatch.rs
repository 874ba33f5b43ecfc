//! Runs the command named on the command line.

#[cfg(feature = "scan")]
use crate::commands::{backup, plan, publish, restore, scan, takedown};
#[cfg(feature = "crawl")]
use crate::commands::{crawl, keys, list};
use crate::{
    cli::{Cli, Command},
    cli_error::CliResult,
    commands::{blocklist, doctor, filter, inspect, local, migrate, run, serve, signing_key},
};

/// Returns the default log filter for a command: `warn` or `info`.
pub fn log_filter(cli: &Cli) -> &'static str {
    let is_quiet = match cli.command {
        Some(Command::Inspect(_) | Command::Doctor(_)) => true,
        #[cfg(feature = "scan")]
        Some(Command::Plan(_) | Command::Scan(_)) => true,
        #[cfg(feature = "crawl")]
        Some(Command::Crawl(_) | Command::Keys(_)) => true,
        _ => false,
    };
    if is_quiet { "warn" } else { "info" }
}

/// Returns whether the command line requests a metrics endpoint.
pub fn serves_metrics(cli: &Cli) -> bool {
    match &cli.command {
        None => cli.run.metrics.is_some(),
        Some(Command::Run(args)) => args.metrics.is_some(),
        #[cfg(feature = "scan")]
        Some(Command::Scan(args)) => args.serves_metrics(),
        #[cfg(feature = "crawl")]
        Some(Command::Crawl(args)) => args.serves_metrics(),
        Some(_) => false,
    }
}

/// Runs the command.
///
/// # Errors
/// Returns an error whose message is one line.
pub async fn dispatch(cli: Cli) -> CliResult {
    match cli.command {
        None => run::run(cli.run).await,
        Some(Command::Run(args)) => run::run(*args).await,
        Some(Command::Local(args)) => local::run(*args).await,
        #[cfg(feature = "scan")]
        Some(Command::Scan(args)) => scan::run(args).await,
        #[cfg(feature = "crawl")]
        Some(Command::Crawl(args)) => crawl::run(args).await,
        #[cfg(feature = "crawl")]
        Some(Command::List(args)) => list::run(args).await,
        Some(Command::Filter(args)) => filter::run(args).await,
        #[cfg(feature = "crawl")]
        Some(Command::Keys(args)) => keys::run(args).await,
        Some(Command::Migrate(args)) => migrate::run(args).await,
        Some(Command::Serve(args)) => serve::run(args).await,
        #[cfg(feature = "scan")]
        Some(Command::Publish(args)) => publish::run(args).await,
        #[cfg(feature = "scan")]
        Some(Command::Backup(args)) => backup::run(args).await,
        #[cfg(feature = "scan")]
        Some(Command::Restore(args)) => restore::run(args).await,
        Some(Command::Blocklist(args)) => blocklist::run(args).await,
        Some(Command::Doctor(args)) => doctor::run(*args).await,
        #[cfg(feature = "scan")]
        Some(Command::Plan(args)) => plan::run(*args).await,
        #[cfg(feature = "scan")]
        Some(Command::Takedown(args)) => takedown::run(args).await,
        Some(Command::SigningKey(args)) => signing_key::run(args).await,
        Some(Command::Inspect(args)) => inspect::run(*args).await,
    }
}
