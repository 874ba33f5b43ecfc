//! What a job's run is given: stores, the fetcher, a folder for temporary files. Never Postgres.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use everytab_fetcher::{Fetcher, Trouble};
use everytab_storage::{StorageError, Store, StoreSettings};
use tokio::sync::Mutex;

use crate::limits;

/// The surroundings of every job of a worker.
#[derive(Clone)]
pub struct Context {
    stores: Arc<Stores>,
    /// Strangers' URLs, by whether robots.txt is obeyed.
    pub fetchers: Arc<Fetchers>,
    /// For spools and archives under way; emptied by the kernel when the worker dies.
    pub temporary: PathBuf,
}

/// A fetcher that obeys robots.txt and one that does not: the scan says which is used.
pub struct Fetchers {
    /// Asks for robots.txt first.
    pub obeying: Fetcher,
    /// Does not.
    pub ignoring: Fetcher,
}

impl Fetchers {
    /// Requests on the wire, and how many there may be.
    pub fn slots(&self) -> (usize, usize) {
        let (obeying, slots) = self.obeying.slots();
        (obeying + self.ignoring.slots().0, slots)
    }

    /// Whether another shard's requests would find room.
    pub fn have_room(&self) -> bool {
        self.obeying.has_room() && self.ignoring.has_room()
    }

    /// The limits per address are the fleet's; so many workers are alive.
    pub fn share_addresses_with(&self, live_workers: u32) {
        let live_workers = usize::try_from(live_workers).unwrap_or(usize::MAX);
        self.obeying.share_addresses_with(live_workers);
        self.ignoring.share_addresses_with(live_workers);
    }

    /// The fleet's requests a second, of which each of so many live workers takes its part. None
    /// takes the limit away. Where the number of workers is not known yet, the part is a small one.
    pub fn set_rate(&self, rate: Option<i32>, live_workers: Option<u32>) {
        let share = live_workers.unwrap_or(limits::WORKERS_AT_MOST).max(1);
        let per_second = rate.map(|rate| f64::from(rate.max(1)) / f64::from(share));
        self.obeying.set_pace(per_second);
        self.ignoring.set_pace(per_second);
    }

    /// Whether the network is there again, by asking the resolver about some hostnames.
    ///
    /// # Errors
    /// What is still wrong.
    pub async fn canaries(&self, names: &[String]) -> Result<(), Trouble> {
        self.obeying.canaries(names).await?;
        self.ignoring.canaries(names).await
    }

    /// The one that a scan's settings ask for.
    pub fn for_scan(&self, obey_robots: bool) -> &Fetcher {
        if obey_robots { &self.obeying } else { &self.ignoring }
    }
}

/// Opened stores by URL and access, so that connections are shared.
struct Stores {
    settings: StoreSettings,
    open: Mutex<HashMap<(String, bool), Arc<dyn Store>>>,
}

impl Context {
    /// A context whose stores are opened with `settings`.
    pub fn new(settings: StoreSettings, fetchers: Fetchers, temporary: PathBuf) -> Self {
        let stores = Stores { settings, open: Mutex::new(HashMap::new()) };
        Self { stores: Arc::new(stores), fetchers: Arc::new(fetchers), temporary }
    }

    /// The store at a URL, opened once.
    ///
    /// # Errors
    /// When the URL names no store.
    pub async fn store(&self, url: &str) -> Result<Arc<dyn Store>, StorageError> {
        self.open(url, false).await
    }

    /// The store at a URL, read without credentials if `is_public`.
    ///
    /// # Errors
    /// When the URL names no store.
    pub async fn source(&self, url: &str, is_public: bool) -> Result<Arc<dyn Store>, StorageError> {
        self.open(url, is_public).await
    }

    async fn open(&self, url: &str, is_public: bool) -> Result<Arc<dyn Store>, StorageError> {
        let mut open = self.stores.open.lock().await;
        let key = (url.to_owned(), is_public);
        if let Some(store) = open.get(&key) {
            return Ok(Arc::clone(store));
        }
        let settings = StoreSettings { no_credentials: is_public, ..self.stores.settings.clone() };
        let store = everytab_storage::open(url, &settings).await?;
        open.insert(key, Arc::clone(&store));
        Ok(store)
    }
}
