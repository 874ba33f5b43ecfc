//! `run`: takes jobs from the database and runs them.

mod crawler_args;
mod crawling_end;
#[cfg(feature = "crawl")]
mod live_crawls;
#[cfg(not(feature = "crawl"))]
#[path = "run/no_live_crawls.rs"]
mod live_crawls;

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use clap::Args;
use everytab_coordinator::{Coordinator, Digests};
use everytab_fetcher::capacity;
use everytab_icon::test_vectors::encoder_digest_hex;
use everytab_jobs::{Context, STORE_ATTEMPTS, scan_settings::Internet};
use everytab_operations::database::connect_patiently;
use everytab_runner::{DRAIN, STALL_LIMIT, WorkerEnd, WorkerSettings, worker_id};
use everytab_storage::StoreSettings;
use ipnet::IpNet;
use tokio::sync::watch;

use self::{crawler_args::CrawlerArgs, crawling_end::CrawlingEnd, live_crawls::ServiceArgs};
use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{database, stop},
    options::{DatabaseArgs, FetchArgs, IdentityArgs, Role, parse_duration},
    spot_notice::InstanceMetadata,
    telemetry,
};

/// How long to wait for a database that is still starting.
const DATABASE_PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Options for `run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Kinds of jobs to take
    #[arg(
        long = "role",
        env = "EVERYTAB_ROLE",
        value_enum,
        value_delimiter = ',',
        default_value = "all"
    )]
    pub roles: Vec<Role>,
    #[command(flatten)]
    database: DatabaseArgs,
    /// Exit when the scan ends: code 0 if it finished, 3 if jobs were discarded
    #[arg(long, env = "EVERYTAB_EXIT_WHEN_DONE")]
    pub exit_when_done: bool,
    /// Maximum time after SIGTERM for leased jobs to finish before they are released
    #[arg(long, env = "EVERYTAB_DRAIN", value_name = "DURATION", value_parser = parse_duration)]
    pub drain: Option<Duration>,
    /// How long a job may make no progress before the worker stops renewing its lease [default: 5m]
    #[arg(long, env = "EVERYTAB_STALL_LIMIT", value_name = "DURATION",
          value_parser = parse_duration)]
    pub stall_limit: Option<Duration>,
    /// Directory for temporary files [default: the system's]
    #[arg(long, env = "EVERYTAB_TEMPORARY", value_name = "DIR")]
    pub temporary: Option<PathBuf>,
    /// When to watch for EC2's notice that this instance will be terminated, and then drain: auto
    /// (on EC2), off, or the URL of a metadata service
    #[arg(
        long,
        env = "EVERYTAB_INSTANCE_METADATA",
        value_name = "auto|off|URL",
        default_value = "auto"
    )]
    instance_metadata: InstanceMetadata,
    #[command(flatten)]
    crawler: CrawlerArgs,
    /// Serve Prometheus metrics at http://ADDR/metrics; port 0 takes any free port
    #[arg(long, env = "EVERYTAB_METRICS", value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    identity: IdentityArgs,
    #[command(flatten)]
    fetch: FetchArgs,
}

/// Runs jobs until the scan is done or a signal stops the process.
///
/// # Errors
/// Returns an error if a setting is invalid, if the database stays unreachable, or if a job makes
/// no progress.
pub async fn run(mut args: RunArgs) -> CliResult {
    check_roles(&args)?;
    identify(&mut args)?;
    let metadata = args.instance_metadata.endpoint().map_err(CliError::usage)?;
    let mut stop = stop::on_signal_or_notice(metadata)?;
    if let Some(address) = args.metrics {
        telemetry::serve_metrics(address).await?;
    }
    let url = database::url(&args.database)?;
    if args.roles.contains(&Role::Api) {
        let Some(coordinator) = connected(url, &mut stop).await? else { return Ok(Exit::Drained) };
        telemetry::begin_at_zero();
        let temporary = args.temporary;
        let fetch = args.fetch.settings()?;
        return live_crawls::serve(&args.service, temporary, fetch, coordinator, stop).await;
    }
    if args.fetch.user_agent.is_some() && !args.roles.contains(&Role::Crawl) {
        tracing::warn!("--user-agent: a scan of the public internet sends its own instead");
    }
    let own = database::own_ranges(url).await;
    let context = context(&args.fetch, own.clone(), args.temporary.clone())?;
    let Some(coordinator) = connected(url, &mut stop).await? else { return Ok(Exit::Drained) };
    telemetry::begin_at_zero();
    let fetcher = context.fetcher.clone();
    everytab_fetcher::metrics::observe_in_flight(move || fetcher.in_flight());
    let worker_id = worker_id();
    let settings = WorkerSettings {
        worker_id: worker_id.clone(),
        kinds: Role::kinds(&args.roles),
        digests: Digests { encoder: encoder_digest_hex() },
        exit_when_done: args.exit_when_done,
        drain: args.drain.unwrap_or(DRAIN),
        stall_limit: args.stall_limit.unwrap_or(STALL_LIMIT),
        is_working_elsewhere: Arc::default(),
        bundle_jobs: std::thread::available_parallelism().map_or(1, usize::from),
        crawl_jobs: live_crawls::closing_jobs(store_settings(), context.temporary.clone()),
    };
    if args.roles.contains(&Role::Crawl) {
        let temporary = context.temporary.clone();
        let crawler = live_crawls::crawler_settings(
            &args.crawler,
            args.exit_when_done,
            worker_id,
            temporary.clone(),
            store_settings(),
        );
        // Each job sets its fetcher's limits, so the jobs must not share the crawler's.
        let for_jobs = Context::new(store_settings(), args.fetch.fetcher(own)?, temporary);
        let crawled = live_crawls::crawl(
            coordinator.clone(),
            for_jobs.clone(),
            (context.fetcher, crawler, settings.clone()),
            stop.clone(),
        );
        return match crawled.await? {
            CrawlingEnd::Finished => work(coordinator, for_jobs, settings, stop).await,
            CrawlingEnd::Stopped => Ok(Exit::Drained),
            CrawlingEnd::Stalled => worker_exit(WorkerEnd::Stalled),
        };
    }
    work(coordinator, context, settings, stop).await
}

/// Sets the User-Agent and the network scope of a process that crawls or serves the API. A scan has
/// its own.
///
/// # Errors
/// Returns an error if site owners could not tell who sends the requests.
fn identify(args: &mut RunArgs) -> Result<(), CliError> {
    if args.roles.iter().any(|role| matches!(role, Role::Crawl | Role::Api)) {
        args.fetch.user_agent = args.identity.user_agent(args.fetch.user_agent.as_deref())?;
        args.fetch.is_confined = args.identity.internet() == Internet::Small;
    }
    Ok(())
}

fn check_roles(args: &RunArgs) -> Result<(), CliError> {
    check_combination(&args.roles)?;
    if args.roles.iter().any(|role| matches!(role, Role::Crawl | Role::Api)) {
        live_crawls::check(&args.service, args.roles.contains(&Role::Api))?;
    }
    Ok(())
}

/// Rejects roles that one process cannot combine.
///
/// # Errors
/// Returns an error that names the role.
pub(crate) fn check_combination(roles: &[Role]) -> Result<(), CliError> {
    for (role, name) in [(Role::Crawl, "crawl"), (Role::Api, "api")] {
        if roles.contains(&role) && roles.iter().any(|other| *other != role) {
            return Err(CliError::usage(format!(
                "--role {name} cannot be combined with another role; start a process for each"
            )));
        }
    }
    Ok(())
}

/// Connects to the database, even if it is still starting. `None` if a signal stops the process
/// first.
async fn connected(
    url: &str,
    stop: &mut watch::Receiver<bool>,
) -> Result<Option<Coordinator>, CliError> {
    tokio::select! {
        connected = connect_patiently(url, DATABASE_PATIENCE) => Ok(Some(connected?)),
        _ = stop.wait_for(|stop| *stop) => Ok(None),
    }
}

async fn work(
    coordinator: Coordinator,
    context: Context,
    settings: WorkerSettings,
    stop: watch::Receiver<bool>,
) -> CliResult {
    tracing::info!(worker_id = settings.worker_id, "worker started");
    let end = everytab_runner::run(coordinator, context, settings, stop).await?;
    tracing::info!(?end, "worker ended");
    worker_exit(end)
}

fn worker_exit(end: WorkerEnd) -> CliResult {
    match end {
        WorkerEnd::Finished => Ok(Exit::Done),
        WorkerEnd::FinishedWithDiscards => Ok(Exit::Discards),
        WorkerEnd::Drained => Ok(Exit::Drained),
        WorkerEnd::Stalled => Err(CliError::new(
            "a job made no progress (see the log above); restart this worker. The job's lease \
             will expire by itself",
        )),
    }
}

/// Returns the resources that jobs use. `own_ranges` are the addresses of the operator's services.
///
/// # Errors
/// Returns an error if the fetcher or the directory for temporary files cannot be created.
pub fn context(
    fetch: &FetchArgs,
    own_ranges: Vec<IpNet>,
    temporary: Option<PathBuf>,
) -> Result<Context, CliError> {
    fetch.warn();
    let mut fetch = fetch.clone();
    for room in capacity::capacities() {
        let in_flight = fetch.in_flight.min(room.requests());
        if in_flight < fetch.in_flight {
            let said = room.describe(fetch.in_flight);
            tracing::warn!("--in-flight is too high: {}: {said}; using {in_flight}", room.name);
            fetch.in_flight = in_flight;
        }
    }
    let fetcher = fetch.fetcher(own_ranges)?;
    let temporary = temporary.unwrap_or_else(std::env::temp_dir);
    std::fs::create_dir_all(&temporary).map_err(|error| {
        CliError::new(format!(
            "cannot create the directory {}: {error}; set --temporary",
            temporary.display()
        ))
    })?;
    Ok(Context::new(store_settings(), fetcher, temporary))
}

fn store_settings() -> StoreSettings {
    StoreSettings { max_attempts: STORE_ATTEMPTS, ..StoreSettings::default() }
}
