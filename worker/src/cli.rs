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
    /// Command to run. `run` if it is missing.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options for `run`.
    #[command(flatten)]
    pub run: run::RunArgs,
}

/// Subcommands of `everytab-worker`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Take jobs from the database and run them (the default)
    Run(Box<run::RunArgs>),
    /// Run a whole scan, or a crawl service, on this host, with a private Postgres
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
    /// Store, list and remove filters for live crawls: patterns, lists, words, languages and more
    Filter(filter::FilterCommandArgs),
    /// Create, list and revoke keys for the HTTP service
    #[cfg(feature = "crawl")]
    Keys(keys::KeysArgs),
    /// Migrate the database to this program's schema
    Migrate(DatabaseArgs),
    /// Serve a published site from a directory
    Serve(serve::ServeArgs),
    /// Publish a scan's site again
    #[cfg(feature = "scan")]
    Publish(publish::PublishArgs),
    /// Copy a scan's database rows and objects to a store
    #[cfg(feature = "scan")]
    Backup(backup::BackupArgs),
    /// Restore a backup into an empty database and its stores
    #[cfg(feature = "scan")]
    Restore(restore::RestoreArgs),
    /// Exclude hosts, titles and icons from the next scans
    Blocklist(blocklist::BlocklistArgs),
    /// Check that this host meets the requirements of a run
    Doctor(Box<doctor::DoctorArgs>),
    /// Estimate the work, time and cost of a scan
    #[cfg(feature = "scan")]
    Plan(Box<plan::PlanArgs>),
    /// Remove hosts from a published site immediately
    #[cfg(feature = "scan")]
    Takedown(takedown::TakedownArgs),
    /// Create and publish the key by which sites recognise this robot's requests
    SigningKey(signing_key::SigningKeyArgs),
    /// Show how files and URLs are parsed, mostly as one JSON object per line
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
