//! Runs live crawls in a worker: the scheduler for its slots, and the background tasks next to it.

use std::sync::Arc;

use everytab_coordinator::Coordinator;
use everytab_crawl_start::FilterLists;
use everytab_fetcher::{Fetcher, PageOptions};
use everytab_frontier::{DEFAULT_SUFFIX_LIST, ParameterList, SuffixError, SuffixList};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
};

use crate::{
    archives::{ArchiveSettings, Archives, MAX_WAITING},
    blocked,
    fetch::FetchContext,
    leases::Leases,
    metrics,
    pending_uploads::PendingUploads,
    repeat::{EarlierFetches, serve_lookups},
    scheduler::{
        CrawlerEnd,
        state::{Scheduler, State},
    },
    stored_bodies::LastForgetTime,
    webhooks::Webhooks,
    worker_settings::CrawlerSettings,
};

/// The reason why a worker cannot crawl.
#[derive(Debug, thiserror::Error)]
pub enum CrawlerError {
    /// The built-in public suffix list is invalid.
    #[error("invalid public suffix list: {0}")]
    Suffixes(#[from] SuffixError),
    /// Postgres cannot be reached, or returned an error.
    #[error(transparent)]
    Database(#[from] everytab_coordinator::Error),
}

/// Crawls until `stop` becomes true or, if `exit_when_done` is set, until no crawl is open. Then
/// records all state and releases the slots.
///
/// # Errors
/// Returns an error if the public suffix list cannot be parsed, or if Postgres cannot be reached at
/// the start.
pub async fn run(
    coordinator: Coordinator,
    fetcher: Fetcher,
    settings: CrawlerSettings,
    mut stop: watch::Receiver<bool>,
) -> Result<CrawlerEnd, CrawlerError> {
    metrics::begin_at_zero();
    let options = Arc::new(PageOptions::default());
    blocked::read_all(&coordinator, &options.exclusions).await?;
    let mut tasks = JoinSet::new();
    let exclusions = options.exclusions.clone();
    tasks.spawn(blocked::poll_blocklist(coordinator.clone(), fetcher.clone(), exclusions));
    let webhooks = Webhooks::new(coordinator.clone(), fetcher.clone(), Arc::clone(&options));
    let (finish, finished) = oneshot::channel();
    let mut webhook_tasks = JoinSet::new();
    webhook_tasks.spawn(webhooks.send_until(finished));
    let suffixes = SuffixList::parse(DEFAULT_SUFFIX_LIST, &[])?;
    let archive_settings = ArchiveSettings {
        temporary: settings.temporary.clone(),
        worker: archive_name(&settings.worker_id),
        max_bytes: settings.archive_bytes,
        max_age: settings.record_after,
        operator: settings.operator.clone().unwrap_or_else(|| fetcher.user_agent().to_owned()),
        user_agent: fetcher.user_agent().to_owned(),
    };
    let (upload_sender, uploaded) = mpsc::unbounded_channel();
    let (archives, commands) = mpsc::channel(MAX_WAITING);
    let pending_uploads = PendingUploads::default();
    let forgotten = LastForgetTime::default();
    let archive_task =
        Archives::new(archive_settings, upload_sender, pending_uploads.clone(), forgotten.clone());
    tasks.spawn(archive_task.run(commands));
    let leases = Leases::default();
    let (renewal_sender, renewed) = mpsc::unbounded_channel();
    let worker = settings.worker_id.clone();
    let renewal = leases.clone().renew_repeatedly(coordinator.clone(), worker, renewal_sender);
    tasks.spawn(renewal);
    let (event_sender, events) = mpsc::unbounded_channel();
    let (earlier, lookups) = EarlierFetches::new();
    tasks.spawn(serve_lookups(coordinator.clone(), lookups));
    let context = FetchContext::new(fetcher, (ParameterList::default(), suffixes), earlier);
    let lists = Arc::new(FilterLists::new(settings.temporary.clone()));
    let scheduler = Scheduler {
        settings,
        lists,
        coordinator,
        context: Arc::new(context),
        options,
        leases,
        archives,
        uploaded,
        pending_uploads,
        forgotten,
        renewed,
        event_sender,
        events,
        state: State::default(),
    };
    let end = scheduler.run(stop.clone()).await;
    if end == CrawlerEnd::Finished {
        // Send the event of the last crawl's end now, because there may be no other worker to send
        // it.
        finish.send(()).ok();
        tokio::select! {
            _ = webhook_tasks.join_next() => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }
    // Dropping the sets cancels the background tasks.
    Ok(end)
}

/// Archive names may contain only letters, digits and `-` of the worker's name.
fn archive_name(worker: &str) -> String {
    let name = worker.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    name.collect()
}
