//! Test fixture: a served graph of sites, a database, a store, and workers.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use everytab_commoncrawl::crawl_layout::LiveCrawlName;
use everytab_coordinator::{
    ConnectSettings, Coordinator, CrawlStatus, FetchFilter, FetchPosition, LinksRow, NewCrawl,
    schema_digest,
};
use everytab_crawl_settings::{CrawlSettings, Seed, parse_seed};
use everytab_crawler::{CrawlerEnd, CrawlerSettings, OwnHosts};
use everytab_fetcher::{FetchSettings, Fetcher};
use everytab_frontier::{
    CanonicalUrl, DEFAULT_SUFFIX_LIST, Link, ParameterList, SuffixList, pack_links, slot_of_site,
};
use everytab_patience::{LIMIT, LongWait};
use everytab_postgres::{ADMIN_USER, shared_for_tests};
use everytab_storage::StoreSettings;
use everytab_testbed::{
    AccessLine, AccessLogTarget, ClosedCrawl, ExpectedEnding, GraphPage, GraphSettings, Running,
    Settings, SiteGraph, SmallInternet,
};
use tempfile::TempDir;
use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
    task::JoinHandle,
};
use tracing::{Dispatch, Subscriber, dispatcher::set_default};
use uuid::Uuid;

const MAX_LINES: usize = 1_000_000;

pub(crate) struct World {
    pub running: Running,
    pub owner: Coordinator,
    database: String,
    worker_url: String,
    directory: TempDir,
}

pub(crate) struct TestWorker {
    stop: watch::Sender<bool>,
    task: JoinHandle<CrawlerEnd>,
    runtime: Runtime,
}

impl TestWorker {
    pub(crate) fn request_stop(&self) {
        self.stop.send(true).unwrap();
    }

    pub(crate) async fn stop(self) -> CrawlerEnd {
        self.stop.send(true).ok();
        self.finish().await
    }

    /// Cancels all the worker's tasks, so that nothing more is recorded or released.
    pub(crate) fn kill(self) {
        self.runtime.shutdown_background();
    }

    pub(crate) async fn finish(self) -> CrawlerEnd {
        let end = self.task.await.unwrap();
        self.runtime.shutdown_background();
        end
    }
}

fn template() -> String {
    let server = shared_for_tests();
    let name = format!("crawler_{}", schema_digest());
    server.template(&name, |url| {
        std::thread::scope(|scope| {
            let migrated = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(async {
                    let settings = ConnectSettings::default();
                    let coordinator = Coordinator::connect(url, &settings).await.unwrap();
                    coordinator.migrate().await.unwrap();
                    coordinator.close().await;
                });
            });
            migrated.join().unwrap();
        });
    });
    name
}

impl World {
    pub(crate) async fn new(seed: u64, graph: GraphSettings) -> Self {
        let directory = TempDir::new().unwrap();
        let settings = Settings::graph(seed, graph, directory.path().join("internet"));
        let running = SmallInternet::start(settings).await.unwrap();
        running.log_accesses(&AccessLogTarget::Memory(MAX_LINES)).unwrap();
        let server = shared_for_tests();
        let name = server.fresh_database(Some(&template()));
        let owner_url = server.url(&name, ADMIN_USER);
        let settings = ConnectSettings::default();
        let owner = Coordinator::connect(&owner_url, &settings).await.unwrap();
        let worker_url = server.url(&name, "everytab_worker");
        Self { running, owner, database: name, worker_url, directory }
    }

    /// Panics if there are no requests, or if the log lost some.
    pub(crate) fn requests(&self) -> Vec<AccessLine> {
        let lines = self.running.access_lines();
        assert!(!lines.is_empty() && self.running.lost_accesses() == 0);
        lines
    }

    pub(crate) fn sql(&self, statement: &str) -> String {
        shared_for_tests().psql(&self.database, statement).unwrap().trim().to_owned()
    }

    /// Expires all leases, as if their workers had died long ago.
    pub(crate) fn expire_leases(&self) {
        self.sql(
            "update everytab.slots set lease_until = now() - interval '1 s' where holder <> ''",
        );
    }

    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn graph(&self) -> &SiteGraph {
        self.running.graph().unwrap()
    }

    pub(crate) fn fetcher(&self) -> FetchSettings {
        let client = &self.running.client;
        FetchSettings {
            dns: Some(client.dns),
            ca_file: Some(client.ca_file.clone()),
            allow_ranges: client.allow_ranges.iter().map(|r| r.parse().unwrap()).collect(),
            dial_ports: client.dial_ports.iter().copied().collect(),
            // Servers and workers share this process, so they may be slow on a busy host. This must
            // not make a worker consider a server dead.
            dns_timeout: LIMIT,
            connect_timeout: LIMIT,
            first_byte_timeout: LIMIT,
            total_timeout: LIMIT,
            breaker_minimum: 256,
            ..FetchSettings::default()
        }
    }

    pub(crate) async fn start(
        &self,
        settings: &CrawlSettings,
        page_limit: Option<i64>,
        seeds: &[GraphPage],
    ) -> Uuid {
        let settings = serde_json::to_value(settings).unwrap();
        self.start_with(settings, page_limit, seeds).await.1
    }

    pub(crate) async fn start_with(
        &self,
        settings: serde_json::Value,
        page_limit: Option<i64>,
        seeds: &[GraphPage],
    ) -> (i32, Uuid) {
        self.start_as("test", settings, page_limit, seeds).await
    }

    pub(crate) async fn start_as(
        &self,
        owner: &str,
        settings: serde_json::Value,
        page_limit: Option<i64>,
        seeds: &[GraphPage],
    ) -> (i32, Uuid) {
        let (number, id) = self.new_crawl(owner, settings, page_limit).await;
        let urls: Vec<String> = seeds.iter().map(|page| self.graph().url(*page)).collect();
        assert!(self.owner.add_links(number, &rows_of(&urls, false), true).await.unwrap());
        (number, id)
    }

    async fn new_crawl(
        &self,
        owner: &str,
        settings: serde_json::Value,
        page_limit: Option<i64>,
    ) -> (i32, Uuid) {
        let id = Uuid::new_v4();
        let micros = chrono::Utc::now().timestamp_micros();
        let name = LiveCrawlName::new(micros, id.as_fields().0).unwrap();
        let crawl = NewCrawl {
            id,
            name: name.as_str().to_owned(),
            owner: owner.to_owned(),
            store: format!("file://{}", self.directory.path().join("store").display()),
            settings,
            page_limit,
            ends_at: None,
            max_store_bytes: None,
        };
        (self.owner.start_crawl(&crawl).await.unwrap(), id)
    }

    pub(crate) async fn add_urgent(&self, crawl: i32, pages: &[GraphPage]) {
        let urls: Vec<String> = pages.iter().map(|page| self.graph().url(*page)).collect();
        self.add_urgent_urls(crawl, &urls).await;
    }

    pub(crate) async fn start_urls(
        &self,
        owner: &str,
        settings: &CrawlSettings,
        urls: &[String],
    ) -> (i32, Uuid) {
        let settings = serde_json::to_value(settings).unwrap();
        let (number, id) = self.new_crawl(owner, settings, None).await;
        assert!(self.owner.add_links(number, &rows_of(urls, false), true).await.unwrap());
        (number, id)
    }

    pub(crate) async fn add_urgent_urls(&self, crawl: i32, urls: &[String]) {
        assert!(self.owner.add_links(crawl, &rows_of(urls, true), false).await.unwrap());
    }

    pub(crate) fn worker(
        &self,
        name: &str,
        change: impl FnOnce(&mut CrawlerSettings),
    ) -> TestWorker {
        self.worker_with(name, self.fetcher(), change)
    }

    /// Starts a worker that writes to this log and does not exit when no crawl is open.
    pub(crate) fn worker_with_log(
        &self,
        name: &str,
        log: impl Subscriber + Send + Sync,
    ) -> TestWorker {
        let go_on = |settings: &mut CrawlerSettings| settings.exit_when_done = false;
        self.start_worker(name, self.fetcher(), go_on, Some(Dispatch::new(log)))
    }

    pub(crate) fn worker_with(
        &self,
        name: &str,
        fetcher_settings: FetchSettings,
        change: impl FnOnce(&mut CrawlerSettings),
    ) -> TestWorker {
        self.start_worker(name, fetcher_settings, change, None)
    }

    fn start_worker(
        &self,
        name: &str,
        fetcher_settings: FetchSettings,
        change: impl FnOnce(&mut CrawlerSettings),
        log: Option<Dispatch>,
    ) -> TestWorker {
        let temporary = self.directory.path().to_path_buf();
        let mut settings =
            CrawlerSettings::new(name.to_owned(), temporary, StoreSettings::default());
        settings.exit_when_done = true;
        let sites = (0..self.graph().sites()).map(|site| self.graph().site_name(site));
        settings.own = OwnHosts::new(sites);
        settings.record_after = Duration::from_secs(2);
        // The patience covers three pauses, because a request may fail on a busy host, and any
        // Retry-After in these tests.
        settings.host_patience = Duration::from_secs(16);
        settings.origin_pause = Duration::from_secs(2);
        settings.retry_pause = Duration::ZERO;
        change(&mut settings);
        let (stop, stopped) = watch::channel(false);
        let worker_url = self.worker_url.clone();
        let mut builder = Builder::new_multi_thread();
        // Set the log per thread, because other workers in this process have another log or none.
        builder.worker_threads(2).enable_all().on_thread_start(move || {
            if let Some(log) = &log {
                std::mem::forget(set_default(log));
            }
        });
        let runtime = builder.build().unwrap();
        let task = runtime.spawn(async move {
            let fetcher = Fetcher::new(fetcher_settings).unwrap();
            let connect = ConnectSettings::default();
            let coordinator = Coordinator::connect(&worker_url, &connect).await.unwrap();
            everytab_crawler::run(coordinator, fetcher, settings, stopped).await.unwrap()
        });
        TestWorker { stop, task, runtime }
    }

    pub(crate) async fn status(&self, id: Uuid) -> CrawlStatus {
        self.owner.crawl_status(Some(id)).await.unwrap().pop().unwrap()
    }

    /// Waits until a crawl has ended. Checks at every poll that its sums add up.
    pub(crate) async fn ended(&self, id: Uuid) -> CrawlStatus {
        self.waited(id, |status| status.state == "ended").await
    }

    /// Waits until a crawl's status satisfies `is_so`. Checks at every poll that its sums add up.
    pub(crate) async fn waited(
        &self,
        id: Uuid,
        is_so: impl Fn(&CrawlStatus) -> bool,
    ) -> CrawlStatus {
        let mut wait = LongWait::new();
        loop {
            let status = self.status(id).await;
            assert_adds_up(&status);
            if is_so(&status) {
                return status;
            }
            wait.note(format!("{status:?}"));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Returns each URL's recorded outcome in a crawl, by the URL's key.
    pub(crate) async fn recorded(&self, id: Uuid) -> BTreeMap<String, String> {
        let mut recorded = BTreeMap::new();
        let mut after = FetchPosition::default();
        loop {
            let all = FetchFilter::default();
            let page = self.owner.crawl_fetches(id, after, 1_000, &all).await.unwrap();
            for fetch in page.fetches {
                let key = CanonicalUrl::parse(&fetch.url, &ParameterList::default()).unwrap();
                let before = recorded.insert(key.key().to_owned(), fetch.outcome);
                assert_eq!(before, None, "{} is recorded twice", fetch.url);
            }
            let Some(next) = page.next else { return recorded };
            after = next;
        }
    }

    pub(crate) fn expected(&self, crawl: ClosedCrawl) -> BTreeMap<String, String> {
        let fetches = self.graph().oracle(crawl);
        fetches.map(|fetch| (fetch.url, fetch.outcome.to_owned())).collect()
    }

    pub(crate) fn count(&self, crawl: ClosedCrawl, ending: ExpectedEnding) -> i64 {
        let fetches = self.graph().oracle(crawl).filter(|fetch| fetch.ending == ending);
        i64::try_from(fetches.count()).unwrap()
    }
}

fn rows_of(urls: &[String], is_urgent: bool) -> Vec<LinksRow> {
    let suffixes = SuffixList::parse(DEFAULT_SUFFIX_LIST, &[]).unwrap();
    let rows = urls.iter().map(|url| {
        let Seed { url, is_bare } = parse_seed(url, &ParameterList::default()).unwrap();
        let slot = slot_of_site(suffixes.site_of(url.host()));
        let link = Link::submitted(url, is_urgent, 0);
        let link = if is_bare { link.bare() } else { link };
        LinksRow {
            // The call sets the crawl.
            crawl: 0,
            slot_group: i16::from(slot / 16),
            slot_mask: 1 << (slot % 16),
            is_urgent,
            amount: 1,
            data: pack_links(&[link]).remove(0),
        }
    });
    rows.collect()
}

fn sum_of(counts: &serde_json::Value) -> i64 {
    counts.as_object().unwrap().values().map(|count| count.as_i64().unwrap()).sum()
}

pub(crate) fn assert_adds_up(status: &CrawlStatus) {
    let CrawlStatus { known, pending, captured, failed, failures, refused, left, .. } = status;
    assert_eq!(*failed, sum_of(failures), "{status:?}");
    let sum = pending + captured + failed + sum_of(refused) + sum_of(left);
    assert_eq!(*known, sum, "{status:?}");
}

pub(crate) fn settings(scope: &str) -> CrawlSettings {
    CrawlSettings {
        scope: scope.parse().unwrap(),
        depth: 1_000,
        site_pages: 100_000,
        delay_ms: 0,
        ..CrawlSettings::default()
    }
}

pub(crate) fn assert_same(
    recorded: &BTreeMap<String, String>,
    expected: &BTreeMap<String, String>,
) {
    let wrong: Vec<String> = expected
        .iter()
        .filter(|(url, outcome)| recorded.get(*url) != Some(*outcome))
        .map(|(url, outcome)| format!("{url}: {outcome}, found {:?}", recorded.get(url)))
        .take(12)
        .collect();
    let more: Vec<_> =
        recorded.iter().filter(|(url, _)| !expected.contains_key(*url)).take(12).collect();
    let numbers = (recorded.len(), expected.len());
    assert!(wrong.is_empty() && more.is_empty(), "{numbers:?}\n{wrong:#?}\n{more:#?}");
}
