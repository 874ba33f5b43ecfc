//! The command line: all commands and their options, without their implementation.

use clap::{Parser, Subcommand};

#[cfg(feature = "scan")]
use crate::commands::{backup, plan, publish, restore, scan, takedown};
#[cfg(feature = "crawl")]
use crate::commands::{crawl, keys, list};
use crate::{
    commands::{blocklist, doctor, filter, inspect, local, run, serve, signing_key},
    options::DatabaseArgs,
};

/// A page full of browser tabs, one for every website on the internet.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, arg_required_else_help = false)]
pub struct Cli {
    /// What to do; without one, `run`.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of `run`.
    #[command(flatten)]
    pub run: run::RunArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Take jobs from the database and do them (the default)
    Run(Box<run::RunArgs>),
    /// Run a whole scan, or a crawl service, on this machine, with a private Postgres
    Local(Box<local::LocalArgs>),
    /// Start, watch and change scans
    #[cfg(feature = "scan")]
    Scan(scan::ScanArgs),
    /// Start, watch and change live crawls, which fetch the web itself
    #[cfg(feature = "crawl")]
    Crawl(crawl::CrawlArgs),
    /// Import lists of names or countries for filters of live crawls, and show them
    #[cfg(feature = "crawl")]
    List(list::ListArgs),
    /// Keep filters of live crawls: patterns, lists, words, languages and more
    Filter(filter::FilterCommandArgs),
    /// Make, list and revoke keys of the HTTP service
    #[cfg(feature = "crawl")]
    Keys(keys::KeysArgs),
    /// Bring the database to this program's schema
    Migrate(DatabaseArgs),
    /// Serve a published site from a directory
    Serve(serve::ServeArgs),
    /// Publish a scan's site again
    #[cfg(feature = "scan")]
    Publish(publish::PublishArgs),
    /// Copy a scan's rows and objects to a store
    #[cfg(feature = "scan")]
    Backup(backup::BackupArgs),
    /// Bring a backup into an empty database and its stores
    #[cfg(feature = "scan")]
    Restore(restore::RestoreArgs),
    /// Keep hosts and titles out of the next scans
    Blocklist(blocklist::BlocklistArgs),
    /// Check that this machine has what a run needs
    Doctor(Box<doctor::DoctorArgs>),
    /// Estimate what a scan of a crawl will take
    #[cfg(feature = "scan")]
    Plan(Box<plan::PlanArgs>),
    /// Take hosts off a published site immediately
    #[cfg(feature = "scan")]
    Takedown(takedown::TakedownArgs),
    /// Make and publish the key by which sites recognise the robot
    SigningKey(signing_key::SigningKeyArgs),
    /// Show how files and URLs are understood, mostly as one JSON object a line
    Inspect(Box<inspect::InspectArgs>),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
