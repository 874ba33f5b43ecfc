//! One scan in a folder: its database, its sample, its workers, from the start to the end.

use std::path::{Path, PathBuf};

use everytab_coordinator::{Coordinator, ScanState, ScanStatus};
use everytab_operations::{
    LineSink, OperationError, crawl, progress,
    scan_start::{self, ScanOptions, ScanStores, StartedScan},
    site_identity, source,
};
use everytab_runner::DRAIN;
use everytab_testbed::Running;
use tokio::sync::watch;
use uuid::Uuid;

use crate::{
    folder::{self, LocalFolder},
    sample::{self, SampleNetwork, SampleOptions},
    sites::{self, CrawledSites, SitesOptions},
    watch::watch_scan,
    worker_processes::WorkerProcesses,
};

/// The option of a worker that says as whom it asks.
const USER_AGENT: &str = "--user-agent";
/// For how long a host of a list of sites that does not answer is asked again: a person waits.
const HOST_PATIENCE: &str = "30s";
/// What is said where the options name nothing to scan.
const NOTHING_TO_SCAN: &str = "what to scan? give --sample for a small internet, --sample DIR for \
                               a recorded one, --sites FILE for a list of sites, or --crawl ID \
                               (latest is the newest) with --limit N";

/// What is scanned on this machine, and where to.
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// The small internet to scan; without it, a crawl.
    pub sample: Option<SampleOptions>,
    /// The sites that are crawled first; then that crawl is scanned.
    pub sites: Option<SitesOptions>,
    /// The id of the crawl, or `latest`.
    pub crawl: Option<String>,
    /// The URL of the crawl's bucket.
    pub source: Option<String>,
    /// Whether an S3 bucket is read without credentials.
    pub source_is_public: bool,
    /// Where the icons are archived; without it, in the folder `archive` of the scan's folder.
    pub archive: Option<String>,
    /// Where the site is published; without it, in the folder `site` of the scan's folder.
    pub site: Option<String>,
    /// How many worker processes there are.
    pub workers: u16,
    /// Whether another scan is started although the folder holds a finished one.
    pub again: bool,
    /// What makes this scan different from another.
    pub scan: ScanOptions,
}

impl LocalOptions {
    /// Checks what can be known to fail before anything is made or started. A folder that holds a
    /// database may hold a scan to go on with, which may need less than a new one.
    fn check(&self, dir: &Path) -> Result<(), OperationError> {
        let ScanOptions { internet, site_url, contact, .. } = &self.scan;
        if self.sample.is_none() && self.sites.as_ref().is_some_and(|sites| sites.file.is_none()) {
            return Err(OperationError::usage(sites::NO_LIST));
        }
        match &self.sample {
            Some(sample) => sample::settings(sample, PathBuf::new()).map(drop),
            None if self.scans_something() && folder::holds_database(dir) => Ok(()),
            None if self.scans_something() => {
                site_identity::user_agent(*internet, site_url.as_deref(), contact.as_deref())
                    .map(drop)
            }
            None => Err(OperationError::usage(NOTHING_TO_SCAN)),
        }
    }

    fn scans_something(&self) -> bool {
        self.crawl.is_some() || self.sites.is_some()
    }
}

/// How a local scan ended.
#[derive(Debug)]
pub enum LocalScanEnd {
    /// It was asked to stop; the same command goes on from here.
    Stopped,
    /// The scan has ended.
    Ended {
        /// The URL of the published site.
        site: String,
        /// One line about the discarded jobs, if there are any.
        discards: Option<String>,
    },
}

/// A scan in a folder.
#[derive(Debug)]
pub struct LocalScan {
    folder: LocalFolder,
}

/// The crawl and the stores that the options mean.
struct LocalPlan {
    crawl: String,
    stores: ScanStores,
}

impl LocalScan {
    /// Opens the folder `dir`, and starts its Postgres. Must be called on a thread that lives as
    /// long as the scan: the server ends with it.
    ///
    /// # Errors
    /// When the options name nothing to scan, the folder cannot be written, another process has it,
    /// or there is no Postgres. Nothing is made then where the options are at fault.
    pub fn open(dir: &Path, options: &LocalOptions) -> Result<Self, OperationError> {
        options.check(dir)?;
        if let Some(file) = options.sites.as_ref().and_then(|sites| sites.file.as_ref()) {
            // A list that cannot be read is told before anything is made.
            std::fs::File::open(file).map_err(|error| {
                OperationError::usage(format!("--sites {}: {error}", file.display()))
            })?;
        }
        Ok(Self { folder: LocalFolder::open(dir)? })
    }

    /// Stops Postgres.
    ///
    /// # Errors
    /// When it does not stop.
    pub fn close(self) -> Result<(), OperationError> {
        self.folder.close()
    }

    /// Starts or goes on with the scan, watches it, and gives its summary as lines of data.
    /// `worker_arguments` makes a worker's options for fetching, with those that reach the small
    /// internet if there is one.
    ///
    /// # Errors
    /// When a part cannot be started, or the folder holds another unfinished scan.
    pub async fn run(
        &self,
        options: &LocalOptions,
        processes: &WorkerProcesses,
        worker_arguments: impl FnOnce(Option<SampleNetwork>) -> Vec<String>,
        mut stop: watch::Receiver<bool>,
        sink: &dyn LineSink,
    ) -> Result<LocalScanEnd, OperationError> {
        let coordinator = self.folder.prepare_database().await?;
        let internet = match &options.sample {
            Some(sample) => Some(sample::start(sample, self.folder.dir()).await?),
            None => None,
        };
        let network = internet.as_ref().map(sample::network).transpose()?;
        let arguments = worker_arguments(network);
        let crawled = match &options.sites {
            Some(sites) => {
                let list = sites::read_list(sites, internet.as_ref())?;
                let started = (options.again, sink);
                let id =
                    sites::find_or_start(&coordinator, self.folder.dir(), sites, &list, started);
                let crawl = (id.await?, &arguments[..]);
                match self.crawl(options, &coordinator, processes, crawl, &mut stop, sink).await? {
                    Some(crawled) => Some(crawled),
                    None => return Ok(LocalScanEnd::Stopped),
                }
            }
            None => None,
        };
        let plan = plan(options, self.folder.dir(), internet.as_ref(), crawled).await?;
        folder::prepare_store("--archive", &plan.stores.archive)?;
        folder::prepare_store("--site", &plan.stores.site)?;
        let number =
            find_or_start(options, &coordinator, self.folder.named_dir(), &plan, sink).await?;
        if !*stop.borrow() {
            let mode = ["--exit-when-done".to_owned()];
            let arguments = [&mode[..], &arguments].concat();
            processes.start(self.folder.worker_start(options.workers, arguments, sink)?)?;
        }
        let watched = watch_scan(&coordinator, number, processes, &mut stop, sink).await;
        sink.end_painting();
        let status = watched?;
        processes.stop(DRAIN).await;
        coordinator.close().await;
        for line in progress::summary(&status, sink.columns()) {
            sink.data(format_args!("{line}"))?;
        }
        if status.state.is_open() {
            sink.note(format_args!("stopped; the same command goes on from here"));
            return Ok(LocalScanEnd::Stopped);
        }
        let site = plan.stores.site;
        sink.data(format_args!("site     {site}"))?;
        Ok(LocalScanEnd::Ended { site, discards: discards(&status) })
    }

    /// Has workers crawl until the crawl has ended and is indexed; none if they were asked to stop.
    async fn crawl(
        &self,
        options: &LocalOptions,
        coordinator: &Coordinator,
        processes: &WorkerProcesses,
        (id, arguments): (Uuid, &[String]),
        stop: &mut watch::Receiver<bool>,
        sink: &dyn LineSink,
    ) -> Result<Option<CrawledSites>, OperationError> {
        let ScanOptions { internet, site_url, contact, .. } = &options.scan;
        let user_agent =
            site_identity::user_agent(*internet, site_url.as_deref(), contact.as_deref())?;
        let mut arguments = arguments.to_vec();
        arguments.extend(["--exit-when-done", "--role", "crawl"].map(str::to_owned));
        if options.scan.is_confined() {
            arguments.extend(["--internet", "small"].map(str::to_owned));
        }
        if std::env::var_os("EVERYTAB_HOST_PATIENCE").is_none() {
            arguments.extend(["--host-patience".to_owned(), HOST_PATIENCE.to_owned()]);
        }
        if let Some(user_agent) = user_agent.filter(|_| !arguments.contains(&USER_AGENT.into())) {
            arguments.extend([USER_AGENT.to_owned(), user_agent]);
        }
        if !*stop.borrow() {
            processes.start(self.folder.worker_start(options.workers, arguments, sink)?)?;
        }
        let crawled = sites::watch_crawl(coordinator, id, processes, stop, sink).await;
        sink.end_painting();
        let crawled = crawled?;
        processes.stop(DRAIN).await;
        match &crawled {
            Some(crawled) => {
                sink.data(format_args!("crawl    {} in {}", crawled.name, crawled.store))?
            }
            None => sink.note(format_args!("stopped; the same command goes on from here")),
        }
        Ok(crawled)
    }
}

/// The crawl and the stores that the options mean; `crawled` is the crawl of a list of sites.
async fn plan(
    options: &LocalOptions,
    dir: &Path,
    internet: Option<&Running>,
    crawled: Option<CrawledSites>,
) -> Result<LocalPlan, OperationError> {
    let folder = |name: &str| dir.join(name).display().to_string();
    let source = match (internet, &options.source) {
        _ if crawled.is_some() => {
            crawled.as_ref().map(|crawled| crawled.store.clone()).unwrap_or_default()
        }
        (Some(internet), _) => internet.client.bucket_dir.display().to_string(),
        (None, Some(source)) => source.clone(),
        (None, None) => source::PUBLIC_SOURCE.to_owned(),
    };
    let is_public = options.source_is_public;
    let crawl = match (&options.crawl, internet) {
        _ if crawled.is_some() => crawled.map(|crawled| crawled.name).unwrap_or_default(),
        (Some(crawl), _) => crawl::resolve(&source, is_public, crawl).await?,
        (None, Some(internet)) => internet.client.crawl.clone(),
        (None, None) => return Err(OperationError::usage(NOTHING_TO_SCAN)),
    };
    let stores = ScanStores {
        source,
        source_is_public: is_public,
        archive: options.archive.clone().unwrap_or_else(|| folder("archive")),
        site: options.site.clone().unwrap_or_else(|| folder("site")),
        private: None,
    }
    .absolute()?;
    Ok(LocalPlan { crawl, stores })
}

/// The scan to work on: the one that the folder holds, if it is the same, else a new one.
async fn find_or_start(
    options: &LocalOptions,
    coordinator: &Coordinator,
    dir: &Path,
    plan: &LocalPlan,
    sink: &dyn LineSink,
) -> Result<i32, OperationError> {
    if let Some(newest) = coordinator.scan_number(None).await? {
        let info = coordinator.load_scan(newest).await?;
        let is_same = info.crawl == plan.crawl
            && scan_start::settings_match(info.settings, &plan.stores, &options.scan)?;
        let status = coordinator.scan_status(newest).await?;
        let is_running = status.state.is_open();
        if is_running && !is_same && !options.again {
            return Err(OperationError::new(format!(
                "{} holds an unfinished scan of {} with other settings: run the command that \
                 began it, choose another --dir, or give --again to cancel it and begin anew",
                dir.display(),
                info.crawl
            )));
        }
        let is_cancelled = status.state == ScanState::Cancelled;
        if is_same && !is_cancelled && (is_running || !options.again) {
            // The cause of a discarded job may have been mended since.
            let again = coordinator.retry_jobs(newest, None, None, None).await?;
            if again > 0 {
                sink.note(format_args!("{again} discarded jobs are done again"));
            }
            return Ok(newest);
        }
        if is_running {
            coordinator.cancel_run(newest).await?;
        }
    }
    let scan = scan_start::start(coordinator, &plan.crawl, &plan.stores, &options.scan).await?;
    let StartedScan { id, number, crawl, index_files } = scan;
    tracing::info!(scan = %id, crawl, index_files, "scan started");
    Ok(number)
}

/// One line about the discarded jobs of a scan that ended with some.
fn discards(status: &ScanStatus) -> Option<String> {
    if status.state != ScanState::FinishedWithDiscards {
        return None;
    }
    let last = status.errors.iter().find(|error| error.event == "discard");
    Some(format!(
        "error: {} jobs were discarded, the last one ({}) because: {}; put it right and run the \
         same command again",
        status.events_of("discard"),
        last.map_or("unknown", |last| last.kind.as_str()),
        last.and_then(|last| last.message.as_deref()).unwrap_or("unknown")
    ))
}
