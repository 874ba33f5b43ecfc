//! What a job is performed with: stores, the fetcher, a folder for temporary files.
//!
//! Must not know: Postgres, which a job reaches only through the item journal of its assignment.

use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

use everytab_fetcher::Fetcher;
use everytab_sandbox::Sandbox;
use everytab_storage::{PRODUCT, Pace, StorageError, Store, StoreSettings};
use tokio::sync::Mutex;

use crate::{icon_processes, live_exclusions::LiveExclusions, scan_settings::ScanSettings};

/// Attempts of one request to a store by a worker. With their pauses twelve attempts take about 50
/// s in the mean: a shorter outage mostly ends no job. A longer one gives jobs back.
pub const STORE_ATTEMPTS: u32 = 12;

/// How long a store may take to answer the one request that asks whether it answers.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// What every job of a worker is performed with; clones share it.
#[derive(Clone)]
pub struct Context {
    stores: Arc<Stores>,
    /// Fetches URLs from the web: one for all jobs, so that its limits hold for all of them.
    pub fetcher: Fetcher,
    /// What must not be asked any more, by scan.
    pub exclusions: Arc<LiveExclusions>,
    /// The folder for spools and archives under way.
    pub temporary: PathBuf,
    /// Where icons are decoded.
    pub sandbox: Arc<Sandbox>,
}

/// Opened stores by URL and access, so that connections are shared.
struct Stores {
    settings: StoreSettings,
    /// What requests to any scan's source wait for.
    source_pace: Arc<Pace>,
    open: Mutex<HashMap<StoreKey, Arc<dyn Store>>>,
}

/// What makes two stores different.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct StoreKey {
    url: String,
    is_source: bool,
    is_public: bool,
    user_agent: String,
    /// Whether each request is made once, with little patience.
    is_probe: bool,
}

impl Context {
    /// A context whose stores are opened with `settings`. Its program calls
    /// [`icon_processes::serve_if_asked`] first.
    pub fn new(settings: StoreSettings, fetcher: Fetcher, temporary: PathBuf) -> Self {
        let stores = Stores { settings, source_pace: Arc::default(), open: Mutex::default() };
        Self {
            stores: Arc::new(stores),
            fetcher,
            exclusions: Arc::default(),
            temporary,
            sandbox: Arc::new(icon_processes::sandbox()),
        }
    }

    /// The archive or the site at a URL. A store is opened once, and then shared.
    ///
    /// # Errors
    /// When the URL names no store.
    pub async fn store(&self, url: &str) -> Result<Arc<dyn Store>, StorageError> {
        self.open_own(url, false).await
    }

    /// As [`Context::store`], to see whether the store answers.
    pub(crate) async fn probing_store(&self, url: &str) -> Result<Arc<dyn Store>, StorageError> {
        self.open_own(url, true).await
    }

    async fn open_own(&self, url: &str, is_probe: bool) -> Result<Arc<dyn Store>, StorageError> {
        let (url, user_agent) = (url.to_owned(), self.stores.settings.user_agent.clone());
        self.open(StoreKey { url, is_source: false, is_public: false, user_agent, is_probe }).await
    }

    /// The source of a scan, whose requests say who reads it, and wait for the fleet's rate.
    ///
    /// # Errors
    /// When the URL names no store.
    pub async fn source(&self, settings: &ScanSettings) -> Result<Arc<dyn Store>, StorageError> {
        self.open_source(settings, false).await
    }

    /// As [`Context::source`], to see whether the store answers.
    pub(crate) async fn probing_source(
        &self,
        settings: &ScanSettings,
    ) -> Result<Arc<dyn Store>, StorageError> {
        self.open_source(settings, true).await
    }

    async fn open_source(
        &self,
        settings: &ScanSettings,
        is_probe: bool,
    ) -> Result<Arc<dyn Store>, StorageError> {
        let ScanSettings { source, source_is_public, site_url, contact, .. } = settings;
        let user_agent = user_agent(site_url.as_deref(), contact.as_deref());
        let (url, is_public) = (source.clone(), *source_is_public);
        self.open(StoreKey { url, is_source: true, is_public, user_agent, is_probe }).await
    }

    /// Sets the most requests a second that this worker sends to sources; none takes the limit
    /// away.
    pub fn allow_source_requests(&self, per_second: Option<f64>) {
        self.stores.source_pace.allow(per_second);
    }

    /// The requests a second that this worker may send to sources now; none without a limit.
    pub fn source_requests(&self) -> Option<f64> {
        self.stores.source_pace.rate()
    }

    async fn open(&self, key: StoreKey) -> Result<Arc<dyn Store>, StorageError> {
        let mut open = self.stores.open.lock().await;
        if let Some(store) = open.get(&key) {
            return Ok(Arc::clone(store));
        }
        let mut settings = StoreSettings {
            no_credentials: key.is_public,
            user_agent: key.user_agent.clone(),
            pace: key.is_source.then(|| Arc::clone(&self.stores.source_pace)),
            ..self.stores.settings.clone()
        };
        if key.is_probe {
            (settings.max_attempts, settings.attempt_timeout) = (1, PROBE_TIMEOUT);
        }
        let store = everytab_storage::open(&key.url, &settings).await?;
        open.insert(key, Arc::clone(&store));
        Ok(store)
    }
}

/// The User-Agent of requests to a source: the program, the site and whom to write to.
pub fn user_agent(site_url: Option<&str>, contact: Option<&str>) -> String {
    let site = site_url.map(|url| format!("+{url}"));
    let about: Vec<String> = site.into_iter().chain(contact.map(str::to_owned)).collect();
    match about.is_empty() {
        true => PRODUCT.to_owned(),
        false => format!("{PRODUCT} ({})", about.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_agent_names_the_site_and_whom_to_write_to_as_far_as_they_are_known() {
        let (site, contact) = (Some("https://tabs.example/"), Some("me@tabs.example"));
        let both = format!("{PRODUCT} (+https://tabs.example/; me@tabs.example)");
        assert_eq!(user_agent(site, contact), both);
        assert_eq!(user_agent(None, contact), format!("{PRODUCT} (me@tabs.example)"));
        assert_eq!(user_agent(None, None), PRODUCT);
    }
}
