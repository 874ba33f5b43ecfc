//! `crawl`: starts, watches and changes live crawls.

mod drop;
mod fetches;
mod forget;
mod listings;
mod option_args;
mod patterns;
mod report;
mod robots;
mod schedule;
mod seeds;
mod set;
mod start;
mod status;

use clap::{Args, Subcommand};
use everytab_coordinator::{CrawlVerb, MovedCrawl};

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{
        one_crawl::{self, OneCrawl},
        stdout,
    },
    options::DatabaseArgs,
};

/// Options for `crawl`.
#[derive(Debug, Args)]
pub struct CrawlArgs {
    #[command(subcommand)]
    command: CrawlCommand,
}

impl CrawlArgs {
    /// Returns whether the command serves metrics.
    pub fn serves_metrics(&self) -> bool {
        matches!(&self.command, CrawlCommand::Status(args) if args.metrics.is_some())
    }
}

#[derive(Debug, Subcommand)]
enum CrawlCommand {
    /// Start a crawl of URLs and the pages that they link to; prints its id and name
    Start(Box<start::StartArgs>),
    /// Show a crawl's progress
    Status(status::StatusArgs),
    /// List all crawls, newest first
    List {
        #[command(flatten)]
        database: DatabaseArgs,
        /// Print one JSON object per line
        #[arg(long, env = "EVERYTAB_JSON")]
        json: bool,
    },
    /// Pause a crawl: send no more requests, and keep its state
    Pause(OneCrawl),
    /// Resume a paused crawl
    Resume(OneCrawl),
    /// End a crawl, and keep its captures
    Cancel(OneCrawl),
    /// Add URLs to a crawl that has not ended
    Add(start::AddArgs),
    /// Change a running crawl's limits and rates, such as limit=5000, for=2h or rate=0.5, or its
    /// URL patterns
    Set(set::SetArgs),
    /// List hosts with pending URLs, starting with the one that is due first
    Hosts(listings::HostsArgs),
    /// List fetches in the order in which they were recorded
    Fetches(fetches::FetchesArgs),
    /// Count fetches by outcome, status, type, depth and hour, and show the worst hosts
    Report(report::ReportArgs),
    /// Write the indexes of an ended crawl if they are missing or incomplete
    Index(OneCrawl),
    /// Stop serving all captures of a site or URL
    Forget(forget::ForgetArgs),
    /// Remove forgotten captures from the archives; prints one line per changed archive
    Gc(forget::ClearArgs),
    /// Remove the rows and archives of an ended crawl, except records that other crawls refer to
    Drop(drop::DropArgs),
    /// Start crawls regularly
    Schedule(schedule::ScheduleArgs),
    /// Add robots.txt rules that the operator's crawls obey in addition to those of the sites
    Robots(robots::RobotsOverrideArgs),
}

/// Runs a command on crawls.
///
/// # Errors
/// Returns an error if an option or a seed is invalid, if nothing can be changed, or if Postgres or
/// a store is unreachable.
pub async fn run(args: CrawlArgs) -> CliResult {
    match args.command {
        CrawlCommand::Start(args) => start::start(*args).await,
        CrawlCommand::Status(args) => status::status(args).await,
        CrawlCommand::List { database, json } => listings::list(&database, json).await,
        CrawlCommand::Pause(crawl) => apply(&crawl, CrawlVerb::Pause).await,
        CrawlCommand::Resume(crawl) => apply(&crawl, CrawlVerb::Resume).await,
        CrawlCommand::Cancel(crawl) => apply(&crawl, CrawlVerb::Cancel).await,
        CrawlCommand::Add(args) => start::add(args).await,
        CrawlCommand::Set(args) => set::set(args).await,
        CrawlCommand::Hosts(args) => listings::hosts(args).await,
        CrawlCommand::Fetches(args) => fetches::fetches(args).await,
        CrawlCommand::Report(args) => report::report(args).await,
        CrawlCommand::Index(crawl) => index(&crawl).await,
        CrawlCommand::Forget(args) => forget::forget(args).await,
        CrawlCommand::Gc(args) => forget::gc(args).await,
        CrawlCommand::Drop(args) => drop::run(args).await,
        CrawlCommand::Schedule(args) => schedule::run(args).await,
        CrawlCommand::Robots(args) => robots::run(args).await,
    }
}

async fn index(crawl: &OneCrawl) -> CliResult {
    let (coordinator, found) = crawl.find().await?;
    let name = &found.name;
    match coordinator.index_crawl(found.id).await?.as_deref() {
        Some("opened" | "reopened") => {
            stdout::line("the indexes are written by workers of --role crawl or all")?;
            Ok(Exit::Done)
        }
        Some("running") => {
            stdout::line("the indexes are being written")?;
            Ok(Exit::Done)
        }
        Some("written") => {
            stdout::line("the indexes are written already")?;
            Ok(Exit::Done)
        }
        Some(_) => Err(CliError::new(format!(
            "crawl {name} has not ended; its indexes are written when it does"
        ))),
        None => Err(one_crawl::unknown(name)),
    }
}

async fn apply(crawl: &OneCrawl, verb: CrawlVerb) -> CliResult {
    let (coordinator, found) = crawl.find().await?;
    let before = one_crawl::status_of(&coordinator, &found).await?;
    let (done, is_so) = match verb {
        CrawlVerb::Pause => ("paused", before.paused_by.as_deref() == Some("operator")),
        CrawlVerb::Resume => ("running", before.state == "running"),
        CrawlVerb::Cancel => ("cancelled", false),
    };
    if before.state == "ended" {
        return Err(one_crawl::has_ended(&found));
    } else if is_so {
        let name = found.name;
        return Err(CliError::new(format!("nothing was changed: crawl {name} is {done} already")));
    }
    match coordinator.move_crawl(found.id, verb).await? {
        // The crawl may have ended since its status was read.
        Some(moved) if moved.state == "ended" && moved.ended_by.as_deref() != Some("cancel") => {
            Err(one_crawl::has_ended(&found))
        }
        Some(MovedCrawl { paused_by: Some(why), .. }) if verb == CrawlVerb::Resume => {
            let name = found.name;
            Err(CliError::new(format!(
                "crawl {name} stays paused ({why}), because its owner {} may not continue it; \
                 `keys list` shows the limits and usage of all keys",
                before.owner
            )))
        }
        Some(_) => {
            stdout::line(done)?;
            Ok(Exit::Done)
        }
        None => Err(one_crawl::unknown(&found.name)),
    }
}
