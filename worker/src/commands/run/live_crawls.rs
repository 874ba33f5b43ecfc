//! The roles `crawl` and `api` in `run`.

use std::{path::PathBuf, sync::Arc};

use everytab_coordinator::Coordinator;
use everytab_crawl_jobs::ClosingJobs;
use everytab_crawler::{CrawlerEnd, CrawlerSettings, HOST_PATIENCE, OwnHosts};
use everytab_fetcher::{FetchSettings, Fetcher};
use everytab_job_result::JobSet;
use everytab_jobs::Context;
use everytab_runner::{WorkerEnd, WorkerSettings};
use everytab_storage::StoreSettings;
use tokio::sync::watch;

use super::{crawler_args::CrawlerArgs, crawling_end::CrawlingEnd};
pub(super) use crate::commands::api::ApiArgs as ServiceArgs;
use crate::{
    cli_error::{CliError, CliResult},
    commands::api,
    serve::ReservedAddress,
};

pub(super) fn check(args: &ServiceArgs, is_service: bool) -> Result<(), CliError> {
    if is_service {
        api::store(args)?;
    }
    Ok(())
}

pub(super) async fn serve(
    args: &ServiceArgs,
    temporary: Option<PathBuf>,
    fetch: FetchSettings,
    coordinator: Coordinator,
    stop: watch::Receiver<bool>,
) -> CliResult {
    let reserved = ReservedAddress::new(args.listen)
        .map_err(|error| CliError::new(format!("--listen: {error}")))?;
    let settings = api::settings(args, temporary, fetch)?;
    api::serve(reserved, settings, coordinator, stop, |_| Ok(())).await
}

pub(super) fn closing_jobs(stores: StoreSettings, temporary: PathBuf) -> Option<Arc<dyn JobSet>> {
    Some(Arc::new(ClosingJobs::new(stores, temporary)))
}

pub(super) fn crawler_settings(
    args: &CrawlerArgs,
    exit_when_done: bool,
    worker_id: String,
    temporary: PathBuf,
    stores: StoreSettings,
) -> CrawlerSettings {
    CrawlerSettings {
        exit_when_done,
        own: OwnHosts::new(&args.own),
        ..CrawlerSettings::new(worker_id, temporary, stores)
            .with_host_patience(args.host_patience.unwrap_or(HOST_PATIENCE))
    }
}

/// Crawls until a signal stops the process, or with `--exit-when-done` until no crawl is open. Also
/// runs the jobs that close ended crawls.
pub(super) async fn crawl(
    coordinator: Coordinator,
    context: Context,
    (fetcher, crawler, jobs): (Fetcher, CrawlerSettings, WorkerSettings),
    stop: watch::Receiver<bool>,
) -> Result<CrawlingEnd, CliError> {
    tracing::info!(worker_id = crawler.worker_id, "crawling");
    // Each future stops the other when it ends. After the crawling, running jobs may finish. A
    // stuck job needs a new process.
    let (end_crawling, crawler_stop) = watch::channel(false);
    let (end_jobs, jobs_stop) = watch::channel(false);
    let beside = WorkerSettings {
        exit_when_done: false,
        is_working_elsewhere: Arc::clone(&crawler.is_crawling),
        ..jobs
    };
    let crawling = async {
        let crawled =
            everytab_crawler::run(coordinator.clone(), fetcher, crawler, crawler_stop).await;
        end_jobs.send_replace(true);
        crawled
    };
    let working = async {
        let worked = everytab_runner::run(coordinator.clone(), context, beside, jobs_stop).await;
        end_crawling.send_replace(true);
        worked
    };
    let mut asked = stop.clone();
    let stopping = async {
        let _ = asked.wait_for(|stop| *stop).await;
        end_crawling.send_replace(true);
        end_jobs.send_replace(true);
        std::future::pending::<()>().await;
    };
    let both = async { tokio::join!(crawling, working) };
    let (crawled, worked) = tokio::select! {
        both = both => both,
        () = stopping => return Ok(CrawlingEnd::Stopped),
    };
    let end = crawled.map_err(|error| CliError::new(error.to_string()))?;
    tracing::info!(?end, "stopped crawling");
    Ok(match (end, worked?) {
        (_, WorkerEnd::Stalled) => CrawlingEnd::Stalled,
        (CrawlerEnd::Finished, _) => CrawlingEnd::Finished,
        (CrawlerEnd::Stopped, _) => CrawlingEnd::Stopped,
    })
}
