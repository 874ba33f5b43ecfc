//! `local`: a whole scan or a crawl service on this host, with the worker processes of a fleet.

mod args;
mod given;
mod service;
mod service_key;

use everytab_local::{LocalScan, LocalScanEnd, WorkerProcesses};
use tokio::sync::watch;
use url::Url;

pub use self::args::LocalArgs;
use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{
        stdout::{self, StandardStreams},
        stop,
    },
    serve::{self, ReservedAddress},
};

/// Runs a scan or a service on this host.
///
/// # Errors
/// Returns an error if a part cannot be started, or if the directory has another unfinished scan.
pub async fn run(args: LocalArgs) -> CliResult {
    if let Some(address) = args.api {
        return service::run(&args, address).await;
    }
    if args.given.has("to") {
        return Err(CliError::usage(
            "--to sets the store of a crawl service, so it requires --api",
        ));
    }
    let address = reserve(&args)?;
    check_worker(&args)?;
    args.warn_as_root();
    let processes = WorkerProcesses::default();
    let at_second_signal = processes.clone();
    let stop = stop::on_signal(move || at_second_signal.kill())?;
    // Workers end with the thread that starts them, so this must be the main thread.
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

/// Reserves the page's address before the scan, so that an address in use is rejected now and not
/// at the end.
fn reserve(args: &LocalArgs) -> Result<Option<ReservedAddress>, CliError> {
    let Some(address) = args.serve.filter(|_| !args.exit_when_done) else { return Ok(None) };
    if let Some(site) = args.site.as_deref().filter(|site| site.starts_with("s3://")) {
        return Err(cannot_serve(site));
    }
    Ok(Some(ReservedAddress::new(address)?))
}

/// Rejects options with which each worker would fail and be restarted.
fn check_worker(args: &LocalArgs) -> Result<(), CliError> {
    args.fetch.fetcher(Vec::new())?;
    // Several workers do not get this address, because only one could listen on it.
    let metrics = std::env::var("EVERYTAB_METRICS").ok().filter(|_| args.workers == 1);
    if let Some(address) = metrics.and_then(|address| address.parse().ok()) {
        ReservedAddress::new(address)?;
    }
    Ok(())
}

fn cannot_serve(site: &str) -> CliError {
    CliError::usage(format!("--serve needs a local directory, but the site is at {site}"))
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
