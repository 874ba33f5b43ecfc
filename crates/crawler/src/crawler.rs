//! A worker's part in live crawls: the scheduler of its slots, and the background tasks next to it.
//!
//! Does not depend on the command line.

use std::sync::Arc;

use everytab_coordinator::Coordinator;
use everytab_fetcher::{Fetcher, PageOptions};
use everytab_frontier::{DEFAULT_SUFFIX_LIST, ParameterList, SuffixError, SuffixList};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
};

use crate::{
    archives::{ArchiveSettings, Archives, MAX_WAITING},
    blocked,
    filters::load::FilterLists,
    holder::{
        CrawlerEnd,
        state::{Holder, State},
    },
    leases::Leases,
    metrics,
    puts_under_way::PutsUnderWay,
    repeat::{EarlierFetches, answer_questions},
    stored_bodies::LastForgotten,
    visit::VisitContext,
    webhooks::Webhooks,
    worker_settings::CrawlerSettings,
};

/// The reason why a worker cannot crawl.
#[derive(Debug, thiserror::Error)]
pub enum CrawlerError {
    /// The built-in public suffix list is invalid.
    #[error("the list of public suffixes: {0}")]
    Suffixes(#[from] SuffixError),
    /// Postgres cannot be reached, or returned an error.
    #[error(transparent)]
    Database(#[from] everytab_coordinator::Error),
}

/// Crawls until `stop` becomes true or, if the settings say so, until no crawl is open. Then
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
    let mut beside = JoinSet::new();
    let (kept, asking) = (options.exclusions.clone(), fetcher.clone());
    beside.spawn(blocked::keep_up_to_date(coordinator.clone(), asking, kept));
    let webhooks = Webhooks::new(coordinator.clone(), fetcher.clone(), Arc::clone(&options));
    let (finish, finished) = oneshot::channel();
    let mut telling = JoinSet::new();
    telling.spawn(webhooks.send_until(finished));
    let suffixes = SuffixList::parse(DEFAULT_SUFFIX_LIST, &[])?;
    let archive_settings = ArchiveSettings {
        temporary: settings.temporary.clone(),
        worker: archive_name(&settings.worker_id),
        max_bytes: settings.archive_bytes,
        max_age: settings.record_after,
        operator: settings.operator.clone().unwrap_or_else(|| fetcher.user_agent().to_owned()),
        user_agent: fetcher.user_agent().to_owned(),
    };
    let (tell_put, put) = mpsc::unbounded_channel();
    let (archives, commands) = mpsc::channel(MAX_WAITING);
    let puts = PutsUnderWay::default();
    let forgotten = LastForgotten::default();
    let writing = Archives::new(archive_settings, tell_put, puts.clone(), forgotten.clone());
    beside.spawn(writing.run(commands));
    let leases = Leases::default();
    let (tell_renewed, renewed) = mpsc::unbounded_channel();
    let worker = settings.worker_id.clone();
    let renewal = leases.clone().renew_repeatedly(coordinator.clone(), worker, tell_renewed);
    beside.spawn(renewal);
    let (tell, events) = mpsc::unbounded_channel();
    let (earlier, questions) = EarlierFetches::new();
    beside.spawn(answer_questions(coordinator.clone(), questions));
    let context = VisitContext::new(fetcher, (ParameterList::default(), suffixes), earlier);
    let lists = Arc::new(FilterLists::new(settings.temporary.clone()));
    let holder = Holder {
        settings,
        lists,
        coordinator,
        context: Arc::new(context),
        options,
        leases,
        archives,
        put,
        puts,
        forgotten,
        renewed,
        tell,
        events,
        state: State::default(),
    };
    let end = holder.run(stop.clone()).await;
    if end == CrawlerEnd::Finished {
        // Tell receivers that the last crawl has ended, because no other worker may be there to do
        // it.
        finish.send(()).ok();
        tokio::select! {
            _ = telling.join_next() => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }
    // Dropping the sets ends the background tasks.
    Ok(end)
}

/// Returns the worker's name as archive names contain it: letters, digits and `-`.
fn archive_name(worker: &str) -> String {
    let name = worker.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    name.collect()
}
