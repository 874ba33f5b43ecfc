//! The roles `crawl` and `api` in a program without the feature `crawl`, which rejects them.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use everytab_coordinator::Coordinator;
use everytab_fetcher::{FetchSettings, Fetcher};
use everytab_job_result::JobSet;
use everytab_jobs::Context;
use everytab_runner::WorkerSettings;
use everytab_storage::StoreSettings;
use tokio::sync::watch;

use super::{crawler_args::CrawlerArgs, crawling_end::CrawlingEnd};
use crate::cli_error::{CliError, CliResult};

/// An empty set of options, because this program has no HTTP service.
#[derive(Debug, Clone, Args)]
pub(super) struct ServiceArgs {}

pub(super) fn check(_args: &ServiceArgs, _is_service: bool) -> Result<(), CliError> {
    Err(refused())
}

fn refused() -> CliError {
    CliError::usage("this program has no live crawls: it was built without the feature crawl")
}

pub(super) async fn serve(
    _args: &ServiceArgs,
    _temporary: Option<PathBuf>,
    _fetch: FetchSettings,
    _coordinator: Coordinator,
    _stop: watch::Receiver<bool>,
) -> CliResult {
    Err(refused())
}

pub(super) fn closing_jobs(_stores: StoreSettings, _temporary: PathBuf) -> Option<Arc<dyn JobSet>> {
    None
}

pub(super) struct NoCrawler;

pub(super) fn crawler_settings(
    _args: &CrawlerArgs,
    _exit_when_done: bool,
    _worker_id: String,
    _temporary: PathBuf,
    _stores: StoreSettings,
) -> NoCrawler {
    NoCrawler
}

pub(super) async fn crawl(
    _coordinator: Coordinator,
    _context: Context,
    _settings: (Fetcher, NoCrawler, WorkerSettings),
    _stop: watch::Receiver<bool>,
) -> Result<CrawlingEnd, CliError> {
    Err(refused())
}
