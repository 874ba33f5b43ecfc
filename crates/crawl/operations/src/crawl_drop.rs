//! `crawl drop`: removes a finished live crawl's rows and archives.
//!
//! An archive is removed only after all rows that name it. If other crawls name it, it is removed
//! when the last such crawl is dropped. An interrupted run leaves a mark, so that the next run
//! continues.

use std::{
    collections::{BTreeMap, HashSet},
    future::ready,
    sync::Arc,
};

use everytab_commoncrawl::{
    collinfo::without_crawl, crawl_layout::LiveCrawlName, crawl_objects::COLLINFO,
};
use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{Coordinator, DropCounts, DropObstacle, DroppedCrawl};
use everytab_crawl_jobs::store_urls;
use everytab_storage::{ObjectChange, ObjectInfo, PutOptions, Store, StoreSettings, Tagged};
use futures_util::StreamExt as _;
use uuid::Uuid;

/// Maximum rows per table that are deleted in one transaction.
const ROWS_A_CALL: i32 = 20_000;
/// Maximum objects in one call to a store. S3 accepts a thousand.
const KEYS_A_CALL: usize = 1_000;

/// Object count and total size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Volume {
    /// Object count.
    pub objects: u64,
    /// Total size in bytes.
    pub bytes: u64,
}

impl Volume {
    fn add(&mut self, object: &ObjectInfo) {
        self.objects += 1;
        self.bytes += object.size;
    }
}

/// Counts from one run. A dry run counts what it would remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DropReport {
    /// The crawl's fetches in Postgres before this run.
    pub fetches: u64,
    /// Removed objects.
    pub removed: Volume,
    /// Objects kept because other crawls name records in them.
    pub kept: Volume,
    /// Records in kept objects that other crawls name.
    pub kept_records: u64,
}

/// Removes a crawl's rows and archives. With `dry_run`, only counts them.
///
/// # Errors
/// Returns an error if the crawl is running or in use, or if Postgres or a store cannot be reached.
/// The next run continues where this one stopped.
pub async fn drop_crawl(
    coordinator: &Coordinator,
    (id, number): (Uuid, i32),
    dry_run: bool,
    sink: &dyn LineSink,
) -> Result<DropReport, OperationError> {
    check(coordinator, id).await?;
    if !dry_run {
        coordinator.mark_dropping(id, true).await?;
        // A recrawl that uses this crawl's records may have been started since the first check.
        if let Err(error) = check(coordinator, id).await {
            coordinator.mark_dropping(id, false).await?;
            return Err(error);
        }
    }
    let DropCounts { fetches, named_records } = coordinator.drop_counts(number).await?;
    let mut report = DropReport {
        fetches: fetches.unsigned_abs(),
        kept_records: named_records.unsigned_abs(),
        ..DropReport::default()
    };
    if !dry_run {
        let mut rows = 0;
        loop {
            let deleted = coordinator.drop_crawl_rows(number, ROWS_A_CALL).await?;
            if deleted == 0 {
                break;
            }
            rows += deleted;
        }
        sink.note(format_args!("deleted {rows} rows"));
    }
    let crawls = coordinator.dropped_crawls(number).await?;
    let but: Vec<i32> = crawls.iter().map(|crawl| crawl.crawl).collect();
    let mut sweep = Sweep { coordinator, stores: BTreeMap::new(), but, dry_run, report };
    for crawl in &crawls {
        sweep.sweep(crawl, crawl.crawl == number).await?;
    }
    report = sweep.report;
    if !dry_run {
        coordinator.finish_drop(number).await?;
    }
    Ok(report)
}

async fn check(coordinator: &Coordinator, id: Uuid) -> Result<(), OperationError> {
    let Some(obstacle) = coordinator.drop_obstacle(id).await? else { return Ok(()) };
    Err(OperationError::new(match obstacle {
        DropObstacle::Unknown => format!("there is no crawl {id}; `crawl list` shows them"),
        DropObstacle::Running(state) => {
            format!("crawl {id} is {state}; end it with `crawl cancel`, then drop it")
        }
        DropObstacle::Indexing => {
            format!(
                "the indexes of crawl {id} are being written; wait until `crawl status` shows them"
            )
        }
        DropObstacle::Repeated(name) => {
            format!("crawl {name} repeats crawl {id} and needs its records until {name} has ended")
        }
        DropObstacle::Scanned(scan) => {
            format!("scan {scan} reads crawl {id}; drop the crawl after the scan has ended")
        }
    }))
}

struct Sweep<'a> {
    coordinator: &'a Coordinator,
    stores: BTreeMap<String, Arc<dyn Store>>,
    /// This crawl, and the dropped crawls that it repeats. Their rows do not keep an archive.
    but: Vec<i32>,
    dry_run: bool,
    report: DropReport,
}

impl Sweep<'_> {
    async fn store(&mut self, url: &str) -> Result<Arc<dyn Store>, OperationError> {
        if let Some(store) = self.stores.get(url) {
            return Ok(Arc::clone(store));
        }
        let store = everytab_storage::open(url, &StoreSettings::default()).await?;
        self.stores.insert(url.to_owned(), Arc::clone(&store));
        Ok(store)
    }

    /// Removes a crawl's objects from its stores, except those that other crawls name. If
    /// `is_first` is false, an earlier run dropped this crawl and already counted the objects that
    /// it kept.
    async fn sweep(&mut self, crawl: &DroppedCrawl, is_first: bool) -> Result<(), OperationError> {
        let Ok(name) = LiveCrawlName::parse(&crawl.name) else { return Ok(()) };
        if is_first && !self.dry_run {
            let store = self.store(&crawl.store).await?;
            remove_from_list(&*store, &name).await?;
        }
        for url in store_urls(&crawl.store, &crawl.settings) {
            let store = self.store(&url).await?;
            let mut listed = store.list(&name.prefix()).chunks(KEYS_A_CALL);
            while let Some(chunk) = listed.next().await {
                let objects = chunk.into_iter().collect::<Result<Vec<_>, _>>()?;
                self.remove(&*store, &objects, is_first).await?;
            }
        }
        Ok(())
    }

    async fn remove(
        &mut self,
        store: &dyn Store,
        objects: &[ObjectInfo],
        is_first: bool,
    ) -> Result<(), OperationError> {
        let keys: Vec<String> = objects.iter().map(|object| object.key.clone()).collect();
        let named = self.coordinator.named_objects(&self.but, &keys).await?;
        let named: HashSet<String> = named.into_iter().collect();
        let (kept, gone): (Vec<_>, Vec<_>) =
            objects.iter().partition(|object| named.contains(&object.key));
        if !self.dry_run && !gone.is_empty() {
            let keys: Vec<String> = gone.iter().map(|object| object.key.clone()).collect();
            store.delete(&keys).await?;
        }
        gone.into_iter().for_each(|object| self.report.removed.add(object));
        kept.into_iter().filter(|_| is_first).for_each(|object| self.report.kept.add(object));
        Ok(())
    }
}

async fn remove_from_list(store: &dyn Store, name: &LiveCrawlName) -> Result<(), OperationError> {
    let options = PutOptions::new("application/json", "no-cache");
    let change = |before: Option<Tagged>| {
        let list = before.as_ref().map(|tagged| without_crawl(&tagged.bytes, name)).transpose();
        ready(match list {
            Ok(Some(Some(list))) => Ok(ObjectChange::Write(list.into(), ())),
            Ok(_) => Ok(ObjectChange::Keep(())),
            Err(error) => Err(OperationError::new(format!("{COLLINFO}: {error}"))),
        })
    };
    store.update(COLLINFO, options, change).await
}
