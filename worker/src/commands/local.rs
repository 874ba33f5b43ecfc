//! `local`: a whole scan on this machine, by the same worker processes that a fleet runs.

use std::{net::SocketAddr, os::unix::fs::MetadataExt, path::PathBuf, time::Duration};

use clap::Args;
use everytab_jobs::scan_settings::Internet;
use everytab_local::{
    LocalOptions, LocalScan, LocalScanEnd, SampleOptions, SitesOptions, WorkerProcesses,
};
use tokio::sync::watch;
use url::Url;

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{
        stdout::{self, StandardStreams},
        stop,
    },
    options::{FetchArgs, ScanOptionArgs, parse_duration},
    serve::{self, ReservedAddress},
};

/// Options of `local`.
#[derive(Debug, Args)]
pub struct LocalArgs {
    /// Scan a small internet on loopback: recorded in DIR, or generated without it
    #[arg(long, env = "EVERYTAB_SAMPLE", value_name = "DIR", num_args = 0..=1,
          default_missing_value = "", conflicts_with = "source")]
    sample: Option<String>,
    /// Crawl the sites of FILE first, a URL or hostname a line, and scan that crawl; with --sample
    /// and no FILE, all hosts of the small internet
    #[arg(long, env = "EVERYTAB_SITES", value_name = "FILE", num_args = 0..=1,
          default_missing_value = "", conflicts_with_all = ["crawl", "source"])]
    sites: Option<String>,
    /// Links from a site's home page that --sites follows at most; 0: the home pages only
    #[arg(long, env = "EVERYTAB_SITES_DEPTH", value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u16).range(0..=1_000))]
    depth: u16,
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
    options: ScanOptionArgs,
    #[command(flatten)]
    fetch: FetchArgs,
}

impl LocalArgs {
    fn options(&self) -> LocalOptions {
        let sample = self.sample.as_ref().map(|folder| SampleOptions {
            recording: Some(PathBuf::from(folder)).filter(|folder| !folder.as_os_str().is_empty()),
            hosts: self.sample_hosts,
            seed: self.sample_seed,
            mix: self.sample_mix.clone(),
            latency: self.sample_latency,
        });
        let sites = self.sites.as_ref().map(|file| SitesOptions {
            file: Some(PathBuf::from(file)).filter(|file| !file.as_os_str().is_empty()),
            depth: self.depth,
        });
        let mut scan = self.options.scan_options();
        if sample.is_some() {
            scan.internet = Internet::Small;
        }
        LocalOptions {
            sample,
            sites,
            crawl: self.crawl.clone(),
            source: self.source.clone(),
            source_is_public: self.public,
            archive: self.archive.clone(),
            site: self.site.clone(),
            workers: self.workers,
            again: self.again,
            scan,
        }
    }
}

/// Scans on this machine.
///
/// # Errors
/// When a part cannot be started, or the folder holds another unfinished scan.
pub async fn run(args: LocalArgs) -> CliResult {
    let address = reserve(&args)?;
    check_worker(&args)?;
    if args.sample.is_none() && is_root() {
        eprintln!(
            "warning: this runs as root, so what it fetches from the web is decoded with root's \
             rights; `sudo -u USER` before the command, or `make demo`, takes another user"
        );
    }
    let processes = WorkerProcesses::default();
    let at_second_signal = processes.clone();
    let stop = stop::on_signal(move || at_second_signal.kill())?;
    // Workers and Postgres end with the thread that starts them: this one, which lives longest.
    let scan = LocalScan::open(&args.dir, &args.options())?;
    let result = scan_and_serve(&args, &scan, &processes, address, stop).await;
    processes.kill();
    scan.close()?;
    result
}

async fn scan_and_serve(
    args: &LocalArgs,
    scan: &LocalScan,
    processes: &WorkerProcesses,
    address: Option<ReservedAddress>,
    stop: watch::Receiver<bool>,
) -> CliResult {
    let worker_arguments = |network| {
        let mut fetch = args.fetch.clone();
        if let Some(network) = network {
            fetch.use_network(network);
        }
        fetch.arguments()
    };
    let options = args.options();
    let end = scan.run(&options, processes, worker_arguments, stop.clone(), &StandardStreams);
    let LocalScanEnd::Ended { site, discards } = end.await? else {
        return Ok(Exit::Drained);
    };
    if let Some(address) = address {
        serve(&site, address, stop).await?;
    }
    Ok(match discards {
        Some(line) => {
            eprintln!("{line}");
            Exit::Discards
        }
        None => Exit::Done,
    })
}

/// Reserves the address where the page will be served, before the scan's work, so that one that is
/// taken is refused now and not at the end.
fn reserve(args: &LocalArgs) -> Result<Option<ReservedAddress>, CliError> {
    let Some(address) = args.serve.filter(|_| !args.exit_when_done) else { return Ok(None) };
    if let Some(site) = args.site.as_deref().filter(|site| site.starts_with("s3://")) {
        return Err(cannot_serve(site));
    }
    Ok(Some(ReservedAddress::new(address)?))
}

/// Checks what a worker would fail at, and be started again and again for.
fn check_worker(args: &LocalArgs) -> Result<(), CliError> {
    args.fetch.fetcher(Vec::new())?;
    // Only one process can listen there, so several workers are not told of it.
    let metrics = std::env::var("EVERYTAB_METRICS").ok().filter(|_| args.workers == 1);
    if let Some(address) = metrics.and_then(|address| address.parse().ok()) {
        ReservedAddress::new(address)?;
    }
    Ok(())
}

fn cannot_serve(site: &str) -> CliError {
    CliError::usage(format!("--serve serves a folder, and the site is at {site}"))
}

async fn serve(
    site: &str,
    address: ReservedAddress,
    mut stop: watch::Receiver<bool>,
) -> Result<(), CliError> {
    let dir = Url::parse(site)
        .ok()
        .and_then(|url| url.to_file_path().ok())
        .ok_or_else(|| cannot_serve(site))?;
    let until = async move {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let serving = serve::serve_on(dir, address, until).await?;
    stdout::line(format_args!("page     http://{}/   (Ctrl-C ends)", serving.address))?;
    serving.finished.await?;
    Ok(())
}

/// Whether this process runs as root: the kernel has its folder in /proc belong to its user.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
