//! Runs one scan in a directory, with its database, sample and workers.

use std::path::{Path, PathBuf};

use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{Coordinator, JobKind, ScanState, ScanStatus};
use everytab_operations::{
    crawl, progress, published_site,
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

const USER_AGENT: &str = "--user-agent";
/// How long a host in a site list is retried. It is short because a person is waiting for the scan.
const HOST_PATIENCE: &str = "30s";
const NOTHING_TO_SCAN: &str = "what to scan? give --sample for a small internet, --sample DIR for \
                               a recorded one, --sites FILE for a list of sites, or --crawl ID \
                               (latest is the newest) with --limit N";

/// Options for a local scan.
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// The small internet to scan. If `None`, a crawl is scanned.
    pub sample: Option<SampleOptions>,
    /// The sites to crawl before the scan. The scan then reads this crawl.
    pub sites: Option<SitesOptions>,
    /// The crawl's name, or `latest`.
    pub crawl: Option<String>,
    /// The URL of the crawl's bucket. The default is Common Crawl's.
    pub source: Option<String>,
    /// Whether to read an S3 bucket without credentials.
    pub source_is_public: bool,
    /// URL of the store for icon archives. The default is `archive` in the scan's directory.
    pub archive: Option<String>,
    /// URL of the store for the published site. The default is `site` in the scan's directory.
    pub site: Option<String>,
    /// Number of worker processes.
    pub workers: u16,
    /// Whether to start another scan if the directory has a finished scan, or an unfinished one
    /// with other settings, which is then cancelled.
    pub again: bool,
    /// The scan's own options.
    pub scan: ScanOptions,
}

impl LocalOptions {
    /// An unfinished scan in the directory needs fewer options than a new one.
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

/// A local scan's result.
#[derive(Debug)]
pub enum LocalScanEnd {
    /// The scan was stopped. The same command continues it.
    Stopped,
    /// The scan has finished.
    Ended {
        /// The published site's URL.
        site: String,
        /// A message about the discarded jobs. `None` if there are none.
        discards: Option<String>,
    },
}

/// A scan in a directory.
#[derive(Debug)]
pub struct LocalScan {
    folder: LocalFolder,
}

struct LocalPlan {
    crawl: String,
    stores: ScanStores,
}

impl LocalScan {
    /// Opens the directory `dir` and starts its Postgres, which stops with this process.
    ///
    /// # Errors
    ///
    /// Returns an error if the options do not specify anything to scan, the site list cannot be
    /// read, the directory is not writable, another process uses it, or Postgres is not installed.
    pub fn open(dir: &Path, options: &LocalOptions) -> Result<Self, OperationError> {
        options.check(dir)?;
        if let Some(file) = options.sites.as_ref().and_then(|sites| sites.file.as_ref()) {
            // Report an unreadable list before anything is created.
            std::fs::File::open(file).map_err(|error| {
                OperationError::usage(format!("--sites {}: {error}", file.display()))
            })?;
        }
        Ok(Self { folder: LocalFolder::open(dir)? })
    }

    /// Stops Postgres.
    ///
    /// # Errors
    /// Returns an error if it does not stop.
    pub fn close(self) -> Result<(), OperationError> {
        self.folder.close()
    }

    /// Crawls the site list, if there is one. Then starts or continues the scan, watches it, and
    /// writes its summary. `worker_arguments` builds a worker's fetch options.
    ///
    /// # Errors
    ///
    /// Returns an error if a process or server cannot be started, if workers keep crashing, or if
    /// the directory has another unfinished scan and `again` is false.
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
            sink.note(format_args!("stopped; run the same command again to continue"));
            return Ok(LocalScanEnd::Stopped);
        }
        let site = plan.stores.site;
        sink.data(format_args!("site     {site}"))?;
        Ok(LocalScanEnd::Ended { site, discards: discards(&status) })
    }

    /// Returns `None` if `stop` becomes true before the crawl is indexed.
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
            None => sink.note(format_args!("stopped; run the same command again to continue")),
        }
        Ok(crawled)
    }
}

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

/// Returns the number of the directory's newest scan if it has equal settings and was not
/// cancelled, and retries its discarded jobs. Otherwise, or if `again` is set and this scan has
/// finished, starts a new scan. Returns an error if the newest scan is unfinished and has other
/// settings, unless `again` is set.
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
                "{} has an unfinished scan of {} with other settings: run the command that started \
                 it, choose another --dir, or use --again to cancel it and start another",
                dir.display(),
                info.crawl
            )));
        }
        let is_cancelled = status.state == ScanState::Cancelled;
        if is_same && !is_cancelled && (is_running || !options.again) {
            // Whatever made these jobs fail may have been fixed.
            let mut again = coordinator.retry_jobs(newest, None, None, None).await?;
            if again == 0
                && status.state.is_publishable()
                && !published_site::shows_a_scan(&plan.stores.site).await?
            {
                again = coordinator.retry_jobs(newest, Some(JobKind::Publish), None, None).await?;
            }
            if again > 0 {
                sink.note(format_args!("retrying {again} discarded jobs"));
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

fn discards(status: &ScanStatus) -> Option<String> {
    if status.state != ScanState::FinishedWithDiscards {
        return None;
    }
    let last = status.errors.iter().find(|error| error.event == "discard");
    // `publish` does not work here, because this database runs only while this command runs.
    let remedy = match last {
        Some(last) if last.kind == JobKind::Publish => {
            "; in this directory, remove the site's manifest.json to publish anyway"
        }
        _ => "; fix this",
    };
    Some(format!(
        "error: {} jobs were discarded, the last one ({}) because: {}{remedy} and run the same \
         command again",
        status.events_of("discard"),
        last.map_or("unknown", |last| last.kind.as_str()),
        last.and_then(|last| last.message.as_deref()).unwrap_or("unknown")
    ))
}
