//! A closing job's environment: the crawl's stores, and a directory for temporary files.

use std::{collections::HashMap, fmt, path::PathBuf, sync::Arc};

use everytab_storage::{StorageError, Store, StoreSettings};
use tokio::sync::Mutex;

pub(crate) struct Context {
    settings: StoreSettings,
    open: Mutex<HashMap<String, Arc<dyn Store>>>,
    pub(crate) temporary: PathBuf,
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Context").field("temporary", &self.temporary).finish()
    }
}

impl Context {
    pub(crate) fn new(settings: StoreSettings, temporary: PathBuf) -> Self {
        Self { settings, open: Mutex::default(), temporary }
    }

    /// Returns the store at this URL, and opens it on the first call.
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
