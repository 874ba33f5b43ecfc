//! The filter lists that this process has in memory.
//!
//! Crawls and filter tests that use the same object share one copy in memory. A copy that has
//! started finishes even if no caller waits any longer.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use everytab_crawl_settings::{FrozenFilter, FrozenList};
use everytab_filters::{Filter, FilterSet, LoadedList};
use everytab_frontier::UrlPatterns;
use everytab_storage::StoreSettings;
use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, timeout_at},
};

use crate::list_copy::{LoadError, copy_and_open};

/// Maximum total size of the unused lists that are kept, in bytes. This is enough for two of the
/// largest lists.
const MAX_UNUSED_BYTES: u64 = 1 << 30;
/// Maximum number of lists that are copied concurrently.
const MAX_CONCURRENT_COPIES: usize = 4;

type Copied = Result<LoadedList, Arc<LoadError>>;
type Flight = watch::Receiver<Option<Copied>>;

/// The lists that this process has, by the digests of their objects.
#[derive(Debug)]
pub struct FilterLists {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    temporary: PathBuf,
    permits: Semaphore,
    held: Mutex<HeldLists>,
}

#[derive(Debug)]
struct HeldLists {
    max_unused_bytes: u64,
    here: HashMap<String, HeldList>,
    under_way: HashMap<String, Flight>,
    uses: u64,
}

#[derive(Debug)]
struct HeldList {
    list: LoadedList,
    name: String,
    /// The newest known version that has this object.
    version: i32,
    bytes: u64,
    used_at: u64,
}

impl HeldList {
    fn is_used(&self) -> bool {
        match &self.list {
            LoadedList::Names(names) => Arc::strong_count(names) > 1,
            LoadedList::Countries(ranges) => Arc::strong_count(ranges) > 1,
        }
    }
}

impl HeldLists {
    fn new(max_unused_bytes: u64) -> Self {
        let (here, under_way) = (HashMap::new(), HashMap::new());
        Self { max_unused_bytes, here, under_way, uses: 0 }
    }

    fn find(&mut self, list: &FrozenList) -> Option<LoadedList> {
        self.uses += 1;
        let found = self.here.get_mut(&list.sha256)?;
        found.used_at = self.uses;
        if found.name != list.name || found.version < list.version {
            found.name.clone_from(&list.name);
            found.version = list.version;
        }
        Some(found.list.clone())
    }

    fn flight(&self, list: &FrozenList) -> Option<Flight> {
        self.under_way.get(&list.sha256).filter(|flight| flight.has_changed().is_ok()).cloned()
    }

    fn ended(&mut self, list: &FrozenList, copied: &Copied) {
        self.under_way.remove(&list.sha256);
        let Ok(copied) = copied else { return };
        let name = list.name.clone();
        let version = list.version;
        let bytes = list.bytes;
        let held = HeldList { list: copied.clone(), name, version, bytes, used_at: self.uses };
        self.here.insert(list.sha256.clone(), held);
        self.drop_unneeded();
    }

    /// Drops older versions of unused lists. If the unused lists still exceed the limit, also drops
    /// the least recently used ones.
    fn drop_unneeded(&mut self) {
        let mut newest: HashMap<String, i32> = HashMap::new();
        for held in self.here.values() {
            let version = newest.entry(held.name.clone()).or_insert(held.version);
            *version = held.version.max(*version);
        }
        self.here.retain(|_, held| held.is_used() || newest[&held.name] == held.version);
        let unused = self.here.iter().filter(|(_, held)| !held.is_used());
        let mut unused: Vec<(u64, u64, String)> =
            unused.map(|(sha256, held)| (held.used_at, held.bytes, sha256.clone())).collect();
        unused.sort_unstable();
        let mut bytes: u64 = unused.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, of_this, sha256) in unused {
            if bytes <= self.max_unused_bytes {
                break;
            }
            self.here.remove(&sha256);
            bytes -= of_this;
        }
    }
}

impl FilterLists {
    /// Creates an empty collection that uses this directory for temporary files.
    #[must_use]
    pub fn new(temporary: PathBuf) -> Self {
        Self::with_limit(temporary, MAX_UNUSED_BYTES)
    }

    fn with_limit(temporary: PathBuf, max_unused_bytes: u64) -> Self {
        let held = Mutex::new(HeldLists::new(max_unused_bytes));
        let permits = Semaphore::new(MAX_CONCURRENT_COPIES);
        Self { shared: Arc::new(Shared { temporary, permits, held }) }
    }

    /// Compiles a crawl's filters without the lists that cannot be loaded. `patterns` contains the
    /// patterns of the filters' rules.
    ///
    /// # Errors
    /// Returns an error if a filter's settings are invalid.
    pub async fn compile(
        &self,
        crawl: &str,
        (filters, patterns): (&[FrozenFilter], Arc<UrlPatterns>),
        stores: &StoreSettings,
    ) -> Result<FilterSet, String> {
        let mut compiled = Vec::with_capacity(filters.len());
        for FrozenFilter { name, filter, lists, .. } in filters {
            let by_name = self.load_all(crawl, lists, stores, None).await;
            let with_lists = Filter::compile(filter, |list| by_name.get(list).cloned());
            compiled.push(match with_lists {
                Ok(filter) => filter,
                // The object does not contain everything that the settings expect from it, so use
                // no list.
                Err(error) if !by_name.is_empty() => {
                    tracing::error!(
                        crawl,
                        name,
                        %error,
                        "a filter's lists do not match its settings; ignoring them"
                    );
                    Filter::compile(filter, |_| None).map_err(|error| error.to_string())?
                }
                Err(error) => return Err(error.to_string()),
            });
        }
        Ok(FilterSet::with_patterns(compiled, patterns))
    }

    /// Loads lists and returns the loaded ones by name. Copies that are unfinished at `until`
    /// continue in the background. `what` identifies the caller in the log.
    pub async fn load_all<'a>(
        &self,
        what: &str,
        lists: &'a [FrozenList],
        stores: &StoreSettings,
        until: Option<Instant>,
    ) -> HashMap<&'a str, LoadedList> {
        let begun: Vec<_> = lists.iter().map(|list| (list, self.begin(list, stores))).collect();
        let mut by_name = HashMap::new();
        for (list, flight) in begun {
            let name = list.name.as_str();
            let loaded = match flight {
                Ok(loaded) => Ok(loaded),
                Err(flight) => ended(flight, until).await,
            };
            match loaded {
                Ok(loaded) => drop(by_name.insert(name, loaded)),
                Err(error) => {
                    tracing::warn!(what, list = name, %error, "cannot load a filter list now")
                }
            }
        }
        by_name
    }

    fn begin(&self, list: &FrozenList, stores: &StoreSettings) -> Result<LoadedList, Flight> {
        let mut held = self.shared.held.lock();
        if let Some(loaded) = held.find(list) {
            return Ok(loaded);
        }
        if let Some(flight) = held.flight(list) {
            return Err(flight);
        }
        let (tell, flight) = watch::channel(None);
        held.under_way.insert(list.sha256.clone(), flight.clone());
        let shared = Arc::clone(&self.shared);
        let list = list.clone();
        let stores = stores.clone();
        tokio::spawn(async move {
            let copied = shared.copy(&list, &stores).await.map_err(Arc::new);
            shared.held.lock().ended(&list, &copied);
            tell.send_replace(Some(copied));
        });
        Err(flight)
    }
}

impl Shared {
    async fn copy(
        &self,
        list: &FrozenList,
        stores: &StoreSettings,
    ) -> Result<LoadedList, LoadError> {
        let _permit = self.permits.acquire().await.map_err(|_| LoadError::Task)?;
        copy_and_open(list, stores, &self.temporary).await
    }
}

async fn ended(mut flight: Flight, until: Option<Instant>) -> Copied {
    let ended = async {
        let copied = flight.wait_for(Option::is_some).await.ok().and_then(|copied| copied.clone());
        copied.unwrap_or_else(|| Err(Arc::new(LoadError::Task)))
    };
    match until {
        None => ended.await,
        Some(until) => {
            let ended = timeout_at(until, ended).await;
            ended.unwrap_or_else(|_| Err(Arc::new(LoadError::UnderWay)))
        }
    }
}
