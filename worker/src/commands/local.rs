//! `local`: a whole scan on this machine, by the same worker processes that a fleet runs, against
//! a private Postgres. Killed or stopped at any moment, it goes on from there when run again.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use everytab_coordinator::{ConnectSettings, Coordinator};
use everytab_postgres::{PostgresSettings, PrivatePostgres};
use everytab_testbed::{Content, Latency, Mix, Running, Settings, SmallInternet};
use serde_json::Value;
use tokio::sync::watch;
use url::Url;

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{stdout, stop},
    crawl, limits,
    local::{Children, Plan, watch_scan},
    options::{FetchArgs, ScanOptions, parse_duration},
    progress,
    scan_start::{self, Places},
};

/// Options of `local`.
#[derive(Debug, Args)]
pub struct LocalArgs {
    /// Scan a small internet on loopback: recorded in DIR, or generated without it
    #[arg(long, env = "EVERYTAB_SAMPLE", value_name = "DIR", num_args = 0..=1,
          default_missing_value = "", conflicts_with = "source")]
    sample: Option<String>,
    /// Crawl to scan: its id, or latest
    #[arg(long, env = "EVERYTAB_CRAWL")]
    crawl: Option<String>,
    /// The crawl's bucket
    #[arg(long, env = "EVERYTAB_SOURCE")]
    source: Option<String>,
    /// Read an S3 bucket without credentials
    #[arg(long, env = "EVERYTAB_SOURCE_IS_PUBLIC")]
    public: bool,
    /// Folder for everything: the database, the archive, the site
    #[arg(long, env = "EVERYTAB_DIR", default_value = "./everytab-data")]
    dir: PathBuf,
    /// Where the icons are archived, instead of DIR/archive
    #[arg(long, env = "EVERYTAB_ARCHIVE")]
    archive: Option<String>,
    /// Where the site is published, instead of DIR/site
    #[arg(long, env = "EVERYTAB_SITE")]
    site: Option<String>,
    /// Worker processes
    #[arg(long, env = "EVERYTAB_WORKERS", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=64))]
    workers: u16,
    /// Serve the site here when the scan has ended
    #[arg(long, env = "EVERYTAB_SERVE", value_name = "ADDR")]
    serve: Option<SocketAddr>,
    /// End when the scan has, also with --serve
    #[arg(long, env = "EVERYTAB_EXIT_WHEN_DONE")]
    exit_when_done: bool,
    /// Start another scan although the folder holds a finished one
    #[arg(long)]
    again: bool,
    /// Hosts of the generated small internet
    #[arg(long, env = "EVERYTAB_SAMPLE_HOSTS", default_value_t = 300,
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    sample_hosts: u64,
    /// The number that the small internet is made from
    #[arg(long, env = "EVERYTAB_SAMPLE_SEED", default_value_t = 1)]
    sample_seed: u64,
    /// How its hosts misbehave: none, light or issue; light for generated, none for recorded ones
    #[arg(long, env = "EVERYTAB_SAMPLE_MIX")]
    sample_mix: Option<String>,
    /// How long its answers take at the median
    #[arg(long, env = "EVERYTAB_SAMPLE_LATENCY", value_name = "DURATION",
          value_parser = parse_duration)]
    sample_latency: Option<Duration>,
    #[command(flatten)]
    options: ScanOptions,
    #[command(flatten)]
    fetch: FetchArgs,
}

/// Scans on this machine.
///
/// # Errors
/// When a part cannot be started, or the folder holds another unfinished scan.
pub async fn run(args: LocalArgs) -> CliResult {
    let dir = absolute(&args.dir)?;
    let children = Children::default();
    let at_once = children.clone();
    let stop = stop::on_signal(move || at_once.kill())?;
    // Children and servers are bound to the thread that starts them: this one, which lives longest.
    let postgres = start_postgres(&dir)?;
    let outcome = scan(&args, &dir, &postgres, &children, stop).await;
    children.kill();
    postgres.stop()?;
    outcome
}

async fn scan(
    args: &LocalArgs,
    dir: &Path,
    postgres: &PrivatePostgres,
    children: &Children,
    mut stop: watch::Receiver<bool>,
) -> CliResult {
    let coordinator = prepare_database(postgres).await?;
    let internet = match &args.sample {
        Some(sample) => Some(start_internet(args, sample, dir).await?),
        None => None,
    };
    let plan = plan(args, dir, internet.as_ref()).await?;
    prepare_folder("--archive", &plan.places.archive)?;
    prepare_folder("--site", &plan.places.site)?;
    let number = find_or_start(args, &coordinator, &plan).await?;
    let mut fetch = args.fetch.clone();
    if let Some(internet) = &internet {
        use_small_internet(&mut fetch, internet)?;
    }
    let worker_url = postgres.url(DATABASE, "everytab_worker");
    let temporary = dir.join("temporary");
    children.start(args.workers, &worker_url, &temporary, &fetch, stop.clone()).await?;
    let status = watch_scan(&coordinator, number, children, &mut stop).await?;
    children.stop(limits::DRAIN).await;
    coordinator.close().await;
    let state = status["state"].as_str().unwrap_or_default().to_owned();
    for line in progress::summary(&status) {
        stdout::line(line)?;
    }
    if matches!(state.as_str(), "running" | "paused") {
        eprintln!("stopped; the same command goes on from here");
        return Ok(Exit::Drained);
    }
    stdout::line(format_args!("site     {}", plan.places.site))?;
    if let Some(address) = args.serve.filter(|_| !args.exit_when_done) {
        serve(&plan.places.site, address, stop).await?;
    }
    Ok(match discards(&status) {
        Some(line) => {
            eprintln!("{line}");
            Exit::Discards
        }
        None => Exit::Done,
    })
}

/// What was discarded of a scan that has ended so, in one line.
fn discards(status: &Value) -> Option<String> {
    if status["state"] != "finished_with_discards" {
        return None;
    }
    let errors = status["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = errors.iter().find(|error| error["event"] == "discard");
    let text = |name: &str| last.and_then(|last| last[name].as_str()).unwrap_or("unknown");
    Some(format!(
        "error: {} jobs were discarded, the last one ({}) because: {}; put it right and run the \
         same command again",
        status["events"]["discard"],
        text("kind"),
        text("message")
    ))
}

/// A folder that cannot be written is better found now than by every job.
fn prepare_folder(option: &str, place: &str) -> Result<(), CliError> {
    let Some(folder) = Url::parse(place).ok().and_then(|url| url.to_file_path().ok()) else {
        return Ok(());
    };
    std::fs::create_dir_all(&folder)
        .and_then(|()| tempfile::tempfile_in(&folder).map(drop))
        .map_err(|error| {
            CliError::new(format!("{option} {place}: {error}; choose a folder that can be written"))
        })
}

const DATABASE: &str = "everytab";

fn absolute(dir: &Path) -> Result<PathBuf, CliError> {
    let about = |error: std::io::Error| CliError::new(format!("--dir {}: {error}", dir.display()));
    std::fs::create_dir_all(dir).map_err(about)?;
    let dir = dir.canonicalize().map_err(about)?;
    std::fs::create_dir_all(dir.join("temporary")).map_err(about)?;
    // What a killed worker left there belongs to nobody.
    for entry in std::fs::read_dir(dir.join("temporary")).map_err(about)? {
        let path = entry.map_err(about)?.path();
        if path.is_file() {
            std::fs::remove_file(path).map_err(about)?;
        }
    }
    Ok(dir)
}

fn start_postgres(dir: &Path) -> Result<PrivatePostgres, CliError> {
    Ok(PrivatePostgres::start(PostgresSettings::new(dir.join("postgres")))?)
}

async fn prepare_database(postgres: &PrivatePostgres) -> Result<Coordinator, CliError> {
    let exists =
        postgres.psql("postgres", "select 1 from pg_database where datname = 'everytab'")?;
    if exists.trim().is_empty() {
        postgres.psql("postgres", "create database everytab")?;
    }
    let url = postgres.url(DATABASE, everytab_postgres::ADMIN_USER);
    let coordinator = Coordinator::connect(&url, &ConnectSettings::default()).await?;
    coordinator.migrate().await?;
    // Whoever held a lease of this folder is gone: its Postgres was.
    coordinator.revoke_leases(None, "local was started again").await?;
    Ok(coordinator)
}

async fn start_internet(args: &LocalArgs, sample: &str, dir: &Path) -> Result<Running, CliError> {
    let scratch_dir = dir.join("small-internet");
    let (content, behaviours) = match sample {
        "" => (Content::Generated { hosts: args.sample_hosts }, Mix::light()),
        folder => {
            let folder = Path::new(folder);
            let dir = folder.canonicalize().map_err(|error| {
                CliError::usage(format!("--sample {}: {error}", folder.display()))
            })?;
            (Content::Recorded { dir }, Mix::none())
        }
    };
    let behaviours = match &args.sample_mix {
        Some(name) => Mix::named(name)?,
        None => behaviours,
    };
    let latency = Latency { median: args.sample_latency.unwrap_or_default(), ..Latency::default() };
    let generated = Settings::generated(args.sample_seed, 0, scratch_dir);
    let settings = Settings { content, behaviours, latency, ..generated };
    Ok(SmallInternet::start(settings).await?)
}

/// The crawl and the places that the options mean.
async fn plan(args: &LocalArgs, dir: &Path, internet: Option<&Running>) -> Result<Plan, CliError> {
    let folder = |name: &str| dir.join(name).display().to_string();
    let source = match (internet, &args.source) {
        (Some(internet), _) => internet.client.bucket_dir.display().to_string(),
        (None, Some(source)) => source.clone(),
        (None, None) => crawl::PUBLIC_SOURCE.to_owned(),
    };
    let crawl = match (&args.crawl, internet) {
        (Some(crawl), _) => crawl::resolve(&source, crawl).await?,
        (None, Some(internet)) => internet.client.crawl.clone(),
        (None, None) => {
            return Err(CliError::usage(
                "what to scan? give --sample for a small internet, --sample DIR for a recorded \
                 one, or --crawl ID (latest is the newest) with --limit N",
            ));
        }
    };
    let places = Places {
        source,
        source_is_public: args.public,
        archive: args.archive.clone().unwrap_or_else(|| folder("archive")),
        site: args.site.clone().unwrap_or_else(|| folder("site")),
        private: None,
    }
    .absolute()?;
    Ok(Plan { crawl, places })
}

/// The scan to work on: the one that the folder holds, if it is the same, else a new one.
async fn find_or_start(
    args: &LocalArgs,
    coordinator: &Coordinator,
    plan: &Plan,
) -> Result<i32, CliError> {
    if let Some(newest) = coordinator.scan_number(None).await? {
        let info = coordinator.load_scan(newest).await?;
        let wanted = serde_json::to_value(scan_start::settings(&plan.places, &args.options))?;
        let is_same = info.crawl == plan.crawl && info.settings == wanted;
        let status = coordinator.scan_status(newest).await?;
        let is_running = matches!(status["state"].as_str(), Some("running" | "paused"));
        if is_running && !is_same && !args.again {
            return Err(CliError::new(format!(
                "{} holds an unfinished scan of {} with other settings: run the command that \
                 began it, choose another --dir, or give --again to cancel it and begin anew",
                args.dir.display(),
                info.crawl
            )));
        }
        let is_cancelled = status["state"] == "cancelled";
        if is_same && !is_cancelled && (is_running || !args.again) {
            // What was in the way may be mended by now.
            let again = coordinator.retry_jobs(newest, None, None, None).await?;
            if again > 0 {
                eprintln!("{again} discarded jobs are done again");
            }
            return Ok(newest);
        }
        if is_running {
            coordinator.cancel_scan(newest).await?;
        }
    }
    let started = scan_start::start(coordinator, &plan.crawl, &plan.places, &args.options).await?;
    tracing::info!(scan = %started.0, crawl = plan.crawl, index_files = started.2, "scan started");
    Ok(started.1)
}

fn use_small_internet(fetch: &mut FetchArgs, internet: &Running) -> Result<(), CliError> {
    let client = &internet.client;
    fetch.dns = Some(client.dns);
    fetch.ca_file = Some(client.ca_file.clone());
    fetch.dial_ports = client.dial_ports.clone();
    for range in &client.allow_ranges {
        fetch.allow_ranges.push(range.parse()?);
    }
    Ok(())
}

async fn serve(
    site: &str,
    address: SocketAddr,
    mut stop: watch::Receiver<bool>,
) -> Result<(), CliError> {
    let dir = Url::parse(site).ok().and_then(|url| url.to_file_path().ok()).ok_or_else(|| {
        CliError::usage(format!("--serve serves a folder, and the site is at {site}"))
    })?;
    let until = async move {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let serving = crate::serve::serve(dir, address, until).await?;
    stdout::line(format_args!("page     http://{}/   (Ctrl-C ends)", serving.address))?;
    serving.finished.await?;
    Ok(())
}
