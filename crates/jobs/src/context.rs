//! What a job is performed with: stores, the fetcher, a folder for temporary files.
//!
//! Must not know: Postgres, which a job reaches only through the item journal of its assignment.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use everytab_fetcher::Fetcher;
use everytab_storage::{StorageError, Store, StoreSettings};
use tokio::sync::Mutex;

/// Attempts of one request to a store by a worker. With their pauses twelve attempts take about 50
/// s in the mean: a shorter outage mostly costs no attempt of a job.
pub const STORE_ATTEMPTS: u32 = 12;

/// What every job of a worker is performed with; clones share it.
#[derive(Clone)]
pub struct Context {
    stores: Arc<Stores>,
    /// Fetches URLs from the web: one for all jobs, so that its limits hold for all of them.
    pub fetcher: Fetcher,
    /// The folder for spools and archives under way.
    pub temporary: PathBuf,
}

/// Opened stores by URL and access, so that connections are shared.
struct Stores {
    settings: StoreSettings,
    open: Mutex<HashMap<(String, bool), Arc<dyn Store>>>,
}

impl Context {
    /// A context whose stores are opened with `settings`.
    pub fn new(settings: StoreSettings, fetcher: Fetcher, temporary: PathBuf) -> Self {
        let stores = Stores { settings, open: Mutex::new(HashMap::new()) };
        Self { stores: Arc::new(stores), fetcher, temporary }
    }

    /// The store at a URL. A store is opened once, and then shared.
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
