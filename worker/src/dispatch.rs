//! Runs the command that the command line names.

use crate::{
    cli::{Cli, Command},
    cli_error::CliResult,
    commands::{
        backup, blocklist, crawl, doctor, filter, inspect, keys, list, local, migrate, plan,
        publish, restore, run, scan, serve, signing_key, takedown,
    },
};

/// Returns the default log filter. Commands that print results log only warnings.
pub fn log_filter(cli: &Cli) -> &'static str {
    let is_quiet = matches!(
        cli.command,
        Some(
            Command::Inspect(_)
                | Command::Plan(_)
                | Command::Scan(_)
                | Command::Crawl(_)
                | Command::Keys(_)
                | Command::Doctor(_)
        )
    );
    if is_quiet { "warn" } else { "info" }
}

/// Returns whether the command line requests a metrics endpoint.
pub fn serves_metrics(cli: &Cli) -> bool {
    match &cli.command {
        None => cli.run.metrics.is_some(),
        Some(Command::Run(args)) => args.metrics.is_some(),
        Some(Command::Scan(args)) => args.serves_metrics(),
        Some(Command::Crawl(args)) => args.serves_metrics(),
        Some(_) => false,
    }
}

/// Runs the command.
///
/// # Errors
/// Returns an error with a line for a person; [`crate::cli_error::Exit::of`] gives its exit code.
pub async fn dispatch(cli: Cli) -> CliResult {
    match cli.command {
        None => run::run(cli.run).await,
        Some(Command::Run(args)) => run::run(*args).await,
        Some(Command::Local(args)) => local::run(*args).await,
        Some(Command::Scan(args)) => scan::run(args).await,
        Some(Command::Crawl(args)) => crawl::run(args).await,
        Some(Command::List(args)) => list::run(args).await,
        Some(Command::Filter(args)) => filter::run(args).await,
        Some(Command::Keys(args)) => keys::run(args).await,
        Some(Command::Migrate(args)) => migrate::run(args).await,
        Some(Command::Serve(args)) => serve::run(args).await,
        Some(Command::Publish(args)) => publish::run(args).await,
        Some(Command::Backup(args)) => backup::run(args).await,
        Some(Command::Restore(args)) => restore::run(args).await,
        Some(Command::Blocklist(args)) => blocklist::run(args).await,
        Some(Command::Doctor(args)) => doctor::run(*args).await,
        Some(Command::Plan(args)) => plan::run(*args).await,
        Some(Command::Takedown(args)) => takedown::run(args).await,
        Some(Command::SigningKey(args)) => signing_key::run(args).await,
        Some(Command::Inspect(args)) => inspect::run(*args).await,
    }
}
