//! The roles `crawl` and `api` in a program that was built without the feature `crawl`.

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

/// The HTTP service's options, of which there are none.
#[derive(Debug, Clone, Args)]
pub(super) struct ServiceArgs {}

/// Rejects the roles.
pub(super) fn check(_args: &ServiceArgs, _is_service: bool) -> Result<(), CliError> {
    Err(refused())
}

fn refused() -> CliError {
    CliError::usage("this program has no live crawls: it was built without the feature crawl")
}

/// Returns an error, because this program has no HTTP service.
pub(super) async fn serve(
    _args: &ServiceArgs,
    _temporary: Option<PathBuf>,
    _fetch: FetchSettings,
    _coordinator: Coordinator,
    _stop: watch::Receiver<bool>,
) -> CliResult {
    Err(refused())
}

/// Returns no jobs.
pub(super) fn closing_jobs(_stores: StoreSettings, _temporary: PathBuf) -> Option<Arc<dyn JobSet>> {
    None
}

/// Settings for a crawler that this program does not have.
pub(super) struct NoCrawler;

/// Returns no settings.
pub(super) fn crawler_settings(
    _args: &CrawlerArgs,
    _exit_when_done: bool,
    _worker_id: String,
    _temporary: PathBuf,
    _stores: StoreSettings,
) -> NoCrawler {
    NoCrawler
}

/// Returns an error, because this program cannot crawl.
pub(super) async fn crawl(
    _coordinator: Coordinator,
    _context: Context,
    _settings: (Fetcher, NoCrawler, WorkerSettings),
    _stop: watch::Receiver<bool>,
) -> Result<CrawlingEnd, CliError> {
    Err(refused())
}
