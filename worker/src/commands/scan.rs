//! `scan`: starts, watches and changes scans.

use std::{
    net::SocketAddr,
    str::FromStr,
    time::{Duration, Instant},
};

use clap::{Args, Subcommand};
use everytab_coordinator::{Coordinator, JobKind, ScanState, ScanStatus};
use everytab_operations::{
    archive_rate::{self, ArchiveRate},
    progress::{
        self, STATUS_INTERVAL, STATUS_SHARE,
        unlike::{Unlike, unlike},
    },
    scan_start::{self, ScanStores, StartedScan},
    source,
};
use serde_json::{Value, json};

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{database, exclude, gc, one_crawl, one_scan::OneScan, requests, stdout},
    display::frame::{self, Stream},
    options::{DatabaseArgs, ScanOptionArgs, parse_duration},
    telemetry,
};

/// Options for `scan`.
#[derive(Debug, Args)]
pub struct ScanArgs {
    #[command(subcommand)]
    command: ScanCommand,
}

impl ScanArgs {
    /// Returns whether the options request a metrics endpoint.
    pub fn serves_metrics(&self) -> bool {
        matches!(&self.command, ScanCommand::Status(args) if args.metrics.is_some())
    }
}

#[derive(Debug, Subcommand)]
enum ScanCommand {
    /// Start a scan of a crawl
    Start(Box<StartArgs>),
    /// Show a scan's progress
    Status(StatusArgs),
    /// List all scans, newest first
    List {
        #[command(flatten)]
        database: DatabaseArgs,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// End a scan, and keep its results so far
    Cancel(OneScan),
    /// Run discarded jobs again
    Retry(RetryArgs),
    /// Stop leasing jobs of a scan, or of one stage
    Pause(StageArgs),
    /// Resume a paused scan or stage
    Resume(StageArgs),
    /// Change a running scan, such as rate=500, rate=off, archive-rate=300 or deadline=30m
    Set {
        #[command(flatten)]
        scan: OneScan,
        /// Settings as NAME=VALUE: rate is the fleet's maximum icon requests per second;
        /// archive-rate is its maximum requests per second to the crawl's source; deadline is the
        /// maximum duration of a job (off: an hour, or two for icon jobs; a job in isolation may
        /// take 8 times as long)
        #[arg(required = true)]
        settings: Vec<Setting>,
    },
    /// Stop requests to hosts, domains or networks; takes effect everywhere within a minute
    Exclude(exclude::ExcludeArgs),
    /// Show the requests sent to a host, with their times
    Requests(requests::RequestsArgs),
    /// Show every event of a job
    History {
        #[command(flatten)]
        database: DatabaseArgs,
        /// The job's id, as `scan status` shows it
        job: i64,
    },
    /// Remove old sites and unreferenced archives
    Gc(gc::GcArgs),
}

#[derive(Debug, Args)]
struct StartArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The crawl's id, such as CC-MAIN-2026-05, or latest
    #[arg(long, env = "EVERYTAB_CRAWL", required_unless_present = "from_crawl")]
    crawl: Option<String>,
    /// An ended live crawl of this database, instead of --crawl and --source: its id, a prefix of
    /// the id, or its name
    #[arg(long, env = "EVERYTAB_FROM_CRAWL", value_name = "ID",
          conflicts_with_all = ["crawl", "source", "public"])]
    from_crawl: Option<String>,
    /// The crawl's bucket
    #[arg(long, env = "EVERYTAB_SOURCE", default_value = source::PUBLIC_SOURCE)]
    source: String,
    /// Read an S3 bucket without credentials
    #[arg(long, env = "EVERYTAB_SOURCE_IS_PUBLIC")]
    public: bool,
    /// Store for the icon archive (file:// or s3://)
    #[arg(long, env = "EVERYTAB_ARCHIVE")]
    archive: String,
    /// Store for the published site (file:// or s3://)
    #[arg(long, env = "EVERYTAB_SITE")]
    site: String,
    /// Private prefix with the blocklist.txt that takedowns write
    #[arg(long, env = "EVERYTAB_PRIVATE")]
    private: Option<String>,
    /// Do nothing if the database already has a scan of this crawl in any state (latest: any scan);
    /// safe to run concurrently
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    options: ScanOptionArgs,
}

#[derive(Debug, Args)]
struct StatusArgs {
    #[command(flatten)]
    scan: OneScan,
    /// Refresh the status until the scan ends
    #[arg(long)]
    watch: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Serve the status of the newest scan as Prometheus metrics at http://ADDR/metrics. The
    /// command then keeps running after the scan ends and while Postgres is unreachable
    // No environment variable, because EVERYTAB_METRICS is the address of this host's worker.
    #[arg(long, value_name = "ADDR:PORT", requires = "watch")]
    metrics: Option<SocketAddr>,
}

#[derive(Debug, Args)]
struct RetryArgs {
    #[command(flatten)]
    scan: OneScan,
    /// Only jobs of this kind; `map` draws the whole map again, and `publish` publishes again
    #[arg(long)]
    kind: Option<JobKind>,
    /// Only this job
    #[arg(long)]
    job: Option<i64>,
    /// Retry the icon jobs of every shard that has an icon with this outcome
    #[arg(long, conflicts_with = "kind")]
    outcome: Option<String>,
}

#[derive(Debug, Args)]
struct StageArgs {
    #[command(flatten)]
    scan: OneScan,
    /// Only this stage
    #[arg(long)]
    kind: Option<JobKind>,
}

/// Runs a subcommand.
///
/// # Errors
/// Returns an error if an option is invalid, if nothing can be changed, or if the database or a
/// store fails.
pub async fn run(args: ScanArgs) -> CliResult {
    match args.command {
        ScanCommand::Start(args) => start(*args).await,
        ScanCommand::Status(args) => status(args).await,
        ScanCommand::List { database, json } => list(&database, json).await,
        ScanCommand::Cancel(scan) => {
            let (coordinator, number) = scan.find().await?;
            said(coordinator.cancel_run(number).await?, "cancelled", "the scan has already ended")
        }
        ScanCommand::Retry(args) => retry(args).await,
        ScanCommand::Pause(args) => pause(args, true).await,
        ScanCommand::Resume(args) => pause(args, false).await,
        ScanCommand::Set { scan, settings } => set(&scan, &settings).await,
        ScanCommand::Exclude(args) => exclude::run(args).await,
        ScanCommand::Requests(args) => requests::run(args).await,
        ScanCommand::History { database, job } => history(&database, job).await,
        ScanCommand::Gc(args) => gc::run(args).await,
    }
}

fn said(changed: bool, done: &str, otherwise: &str) -> CliResult {
    if changed {
        stdout::line(done)?;
        Ok(Exit::Done)
    } else {
        Err(CliError::new(format!("nothing was changed: {otherwise}")))
    }
}

async fn start(args: StartArgs) -> CliResult {
    let (coordinator, crawl, source) = match &args.from_crawl {
        Some(crawl) => from_crawl(&args.database, crawl).await?,
        None => {
            let coordinator = database::connect(&args.database).await?;
            (coordinator, args.crawl.unwrap_or_default(), args.source)
        }
    };
    let stores = ScanStores {
        source,
        source_is_public: args.public,
        archive: args.archive,
        site: args.site,
        private: args.private,
    }
    .absolute()?;
    let options = args.options.scan_options();
    let started = if args.once {
        scan_start::start_once(&coordinator, &crawl, &stores, &options).await?
    } else {
        Some(scan_start::start(&coordinator, &crawl, &stores, &options).await?)
    };
    match started {
        Some(StartedScan { id, crawl, index_files, .. }) => {
            eprintln!("scan {id} of {crawl}: {index_files} index files; workers can start");
            stdout::line(id)?;
        }
        None => eprintln!("{crawl}: a scan was started before; nothing to do"),
    }
    Ok(Exit::Done)
}

/// Returns the database, and the name and store of an ended live crawl in it.
async fn from_crawl(
    database: &DatabaseArgs,
    crawl: &str,
) -> Result<(Coordinator, String, String), CliError> {
    let (coordinator, found) = one_crawl::find(database, Some(crawl)).await?;
    let status = one_crawl::status_of(&coordinator, &found).await?;
    let name = &status.name;
    let stores = status.settings.get("stores").and_then(Value::as_array);
    if stores.is_some_and(|stores| stores.len() > 1) {
        return Err(CliError::new(format!(
            "crawl {name} has several stores, but a scan reads only one source: copy its records \
             into one bucket, then give --crawl {name} --source BUCKET"
        )));
    }
    let why = match status.indexes.as_deref() {
        _ if status.state.starts_with("drop") => "it is dropped",
        Some("written") => return Ok((coordinator, status.name, status.store)),
        Some("incomplete") => {
            tracing::warn!(crawl = %name, "its indexes are incomplete; `crawl index` repairs them");
            return Ok((coordinator, status.name, status.store));
        }
        Some("pending") => "its indexes are not written yet; `crawl status` says when they are",
        Some(_) => "it has no indexes; `crawl index` starts the jobs that write them",
        None => "it has not ended; `crawl status --watch` waits for it",
    };
    Err(CliError::new(format!("cannot scan crawl {name}: {why}")))
}

async fn status(args: StatusArgs) -> CliResult {
    let (coordinator, mut number) = args.scan.find().await?;
    let stays = args.metrics.is_some();
    if let Some(address) = args.metrics {
        telemetry::serve_metrics(address).await?;
    }
    // The earlier scan has ended, so its outcomes no longer change.
    let mut before = coordinator.earlier_outcomes(number).await?;
    loop {
        let asked_at = Instant::now();
        let mut status = match coordinator.scan_status(number).await {
            Ok(status) => status,
            // Keep serving metrics, because an alert cannot fire without them.
            Err(error) if stays => {
                tracing::warn!(%error, "cannot read the scan's status; retrying");
                tokio::time::sleep(STATUS_INTERVAL).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        status.before.clone_from(&before);
        let took = asked_at.elapsed();
        telemetry::scan_status(&status);
        if !show(&status, &args)? {
            return Ok(Exit::Done);
        }
        if stays {
            // A newer scan may have started.
            let newest = args.scan.number(&coordinator).await.unwrap_or(number);
            if newest != number
                && let Ok(outcomes) = coordinator.earlier_outcomes(newest).await
            {
                (number, before) = (newest, outcomes);
            }
        } else if !args.watch || !status.state.is_open() {
            return Ok(match status.state {
                ScanState::FinishedWithDiscards if args.watch => Exit::Discards,
                _ => Exit::Done,
            });
        }
        tokio::time::sleep(STATUS_INTERVAL.max(took * STATUS_SHARE)).await;
    }
}

/// Prints a status. Returns false if the reader has closed the pipe.
fn show(status: &ScanStatus, args: &StatusArgs) -> Result<bool, CliError> {
    if args.json {
        let mut document = serde_json::to_value(status)?;
        if status.before.is_some() {
            document["unlike"] = unlike(status).iter().map(Unlike::to_json).collect();
        }
        stdout::print(format_args!("{document}\n"))
    } else if args.watch && Stream::Stdout.is_terminal() {
        frame::paint(Stream::Stdout, |size| progress::picture(status, size.columns))
            .map(|()| true)
            .map_err(|error| CliError::new(format!("cannot write to the terminal: {error}")))
    } else if args.watch {
        stdout::print(progress::line(status) + "\n")
    } else {
        stdout::print(progress::picture(status, Stream::Stdout.columns()).join("\n") + "\n")
    }
}

async fn list(args: &DatabaseArgs, as_json: bool) -> CliResult {
    let coordinator = database::connect(args).await?;
    for scan in coordinator.list_scans().await? {
        if as_json {
            stdout::line(json!({
                "scan": scan.scan_id, "crawl": scan.crawl, "state": scan.state.as_str(),
                "outstanding": scan.outstanding, "discarded": scan.discarded,
                "started_at": scan.started_at, "finished_at": scan.finished_at,
            }))?;
        } else {
            stdout::line(format_args!(
                "{}  {:<17} {:<22} {:>6} outstanding {:>4} discarded  {}",
                scan.scan_id,
                scan.crawl,
                scan.state.as_str(),
                scan.outstanding,
                scan.discarded,
                scan.started_at.format("%Y-%m-%d %H:%M")
            ))?;
        }
    }
    Ok(Exit::Done)
}

async fn retry(args: RetryArgs) -> CliResult {
    let (coordinator, number) = args.scan.find().await?;
    let outcome = args.outcome.as_deref();
    if let Some(outcome) = outcome
        && everytab_fetcher::Outcome::parse(outcome).is_none()
    {
        return Err(CliError::usage(format!("--outcome {outcome:?} is not an outcome of an icon")));
    }
    let reopened = coordinator.retry_jobs(number, args.kind, args.job, outcome).await?;
    if let (Some(job), 0) = (args.job, reopened) {
        return Err(CliError::new(format!(
            "nothing was changed: job {job} is not a discarded job of the scan"
        )));
    }
    stdout::line(format_args!("{reopened} jobs will be done again"))?;
    Ok(Exit::Done)
}

async fn pause(args: StageArgs, pause: bool) -> CliResult {
    let (coordinator, number) = args.scan.find().await?;
    let changed = coordinator.pause_run(number, args.kind, pause).await?;
    let done = if pause { "paused" } else { "running" };
    said(changed, done, "the scan has ended or is already in this state")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    Rate(Option<i32>),
    ArchiveRate(ArchiveRate),
    Deadline(Option<Duration>),
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("rate", "off")) => Ok(Self::Rate(None)),
            Some(("rate", rate)) => match rate.parse() {
                Ok(rate @ 1..) => Ok(Self::Rate(Some(rate))),
                _ => Err(format!("{text}: give requests per second, or off")),
            },
            Some(("archive-rate", rate)) => rate.parse().map(Self::ArchiveRate),
            Some(("deadline", "off")) => Ok(Self::Deadline(None)),
            Some(("deadline", deadline)) => parse_duration(deadline).map(Some).map(Self::Deadline),
            _ => {
                let expected = "rate=NUMBER|off, archive-rate=NUMBER|off, deadline=DURATION|off";
                Err(format!("unknown setting; expected {expected}"))
            }
        }
    }
}

async fn set(scan: &OneScan, settings: &[Setting]) -> CliResult {
    let (coordinator, number) = scan.find().await?;
    for setting in settings {
        let (changed, said) = match setting {
            Setting::Rate(rate) => {
                let said = rate.map_or("off".to_owned(), |rate| rate.to_string());
                (coordinator.set_rate(number, *rate).await?, format!("rate={said}"))
            }
            Setting::ArchiveRate(wanted) => {
                let scan = coordinator.load_scan(number).await?;
                let source = scan.settings["source"].as_str().unwrap_or_default().to_owned();
                let rate = archive_rate::of_scan(&source, Some(*wanted))?;
                let said = rate.map_or("off".to_owned(), |rate| rate.to_string());
                (coordinator.set_archive_rate(number, rate).await?, format!("archive-rate={said}"))
            }
            Setting::Deadline(deadline) => {
                let said = deadline.map_or("off".to_owned(), |it| format!("{}s", it.as_secs_f64()));
                (coordinator.set_deadline(number, *deadline).await?, format!("deadline={said}"))
            }
        };
        if !changed {
            return Err(CliError::new("nothing was changed: the scan has ended"));
        }
        stdout::line(said)?;
    }
    Ok(Exit::Done)
}

async fn history(args: &DatabaseArgs, job: i64) -> CliResult {
    let coordinator = database::connect(args).await?;
    let events = coordinator.job_history(job).await?;
    if events.is_empty() {
        return Err(CliError::new(format!("job {job} has no events yet or does not exist")));
    }
    for event in events {
        stdout::line(format_args!(
            "{}  {:<10} lease {:<4} {}  {}",
            event.at.format("%Y-%m-%d %H:%M:%S%.3f"),
            event.event,
            event.lease_number,
            event.worker_id.as_deref().unwrap_or("-"),
            event.message.as_deref().unwrap_or("")
        ))?;
    }
    Ok(Exit::Done)
}
