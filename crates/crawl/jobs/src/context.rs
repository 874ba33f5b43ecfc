//! The environment of a closing job: the crawl's stores, and a directory for temporary files.
//!
//! This module does not depend on Postgres.

use std::{collections::HashMap, fmt, path::PathBuf, sync::Arc};

use everytab_storage::{StorageError, Store, StoreSettings};
use tokio::sync::Mutex;

/// The environment of all closing jobs in a worker.
pub(crate) struct Context {
    settings: StoreSettings,
    /// Open stores by URL. Jobs share them, and thereby their connections.
    open: Mutex<HashMap<String, Arc<dyn Store>>>,
    /// Directory for sorted rows and unfinished files.
    pub(crate) temporary: PathBuf,
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Context").field("temporary", &self.temporary).finish()
    }
}

impl Context {
    /// Creates a context that opens stores with `settings`.
    pub(crate) fn new(settings: StoreSettings, temporary: PathBuf) -> Self {
        Self { settings, open: Mutex::default(), temporary }
    }

    /// Returns the store at a URL, and opens it on the first call.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened.
    pub(crate) async fn store(&self, url: &str) -> Result<Arc<dyn Store>, StorageError> {
        let mut open = self.open.lock().await;
        if let Some(store) = open.get(url) {
            return Ok(Arc::clone(store));
        }
        let store = everytab_storage::open(url, &self.settings).await?;
        open.insert(url.to_owned(), Arc::clone(&store));
        Ok(store)
    }
}
