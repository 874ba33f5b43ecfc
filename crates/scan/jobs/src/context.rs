//! The environment of a job.

use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

use everytab_fetcher::Fetcher;
use everytab_sandbox::Sandbox;
use everytab_storage::{AdaptiveRate, PRODUCT, StorageError, Store, StoreSettings};
use tokio::sync::Mutex;

use crate::{icon_processes, live_exclusions::LiveExclusions, scan_settings::ScanSettings};

/// Maximum attempts per store request. With their pauses they take about 50 s on average, so a
/// shorter outage rarely ends a job.
pub const STORE_ATTEMPTS: u32 = 12;

/// Timeout for a store's response to a probe, which is a single request.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// The environment that all jobs of a worker share. Clones share stores and limits.
#[derive(Clone)]
pub struct Context {
    stores: Arc<Stores>,
    /// Fetches URLs from the web. All jobs share its limits.
    pub fetcher: Fetcher,
    /// Hosts that must no longer be requested, by scan.
    pub exclusions: Arc<LiveExclusions>,
    /// The directory for spools and unfinished archives.
    pub temporary: PathBuf,
    /// The sandbox in which icons are decoded.
    pub sandbox: Arc<Sandbox>,
}

struct Stores {
    settings: StoreSettings,
    source_rate: Arc<AdaptiveRate>,
    open: Mutex<HashMap<StoreKey, Arc<dyn Store>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct StoreKey {
    url: String,
    is_source: bool,
    is_public: bool,
    user_agent: String,
    is_probe: bool,
}

impl Context {
    /// Creates a context that opens stores with `settings`. The program must have called
    /// [`icon_processes::serve_if_asked`] before.
    pub fn new(settings: StoreSettings, fetcher: Fetcher, temporary: PathBuf) -> Self {
        let stores = Stores { settings, source_rate: Arc::default(), open: Mutex::default() };
        Self {
            stores: Arc::new(stores),
            fetcher,
            exclusions: Arc::default(),
            temporary,
            sandbox: Arc::new(icon_processes::sandbox()),
        }
    }

    /// Returns the archive or site store at a URL. A store is opened once and then shared.
    ///
    /// # Errors
    /// Returns an error if the URL does not name a store.
    pub async fn store(&self, url: &str) -> Result<Arc<dyn Store>, StorageError> {
        self.open_own(url, false).await
    }

    pub(crate) async fn probing_store(&self, url: &str) -> Result<Arc<dyn Store>, StorageError> {
        self.open_own(url, true).await
    }

    async fn open_own(&self, url: &str, is_probe: bool) -> Result<Arc<dyn Store>, StorageError> {
        let url = url.to_owned();
        let user_agent = self.stores.settings.user_agent.clone();
        self.open(StoreKey { url, is_source: false, is_public: false, user_agent, is_probe }).await
    }

    /// Returns a scan's source store. Its requests identify the operator and count towards the
    /// worker's source rate.
    ///
    /// # Errors
    /// Returns an error if the URL does not name a store.
    pub async fn source(&self, settings: &ScanSettings) -> Result<Arc<dyn Store>, StorageError> {
        self.open_source(settings, false).await
    }

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
        let url = source.clone();
        let is_public = *source_is_public;
        self.open(StoreKey { url, is_source: true, is_public, user_agent, is_probe }).await
    }

    /// Sets this worker's maximum number of source requests per second. `None` removes the limit.
    pub fn allow_source_requests(&self, per_second: Option<f64>) {
        self.stores.source_rate.allow(per_second);
    }

    /// Returns this worker's current limit on source requests per second.
    pub fn source_requests(&self) -> Option<f64> {
        self.stores.source_rate.per_second()
    }

    async fn open(&self, key: StoreKey) -> Result<Arc<dyn Store>, StorageError> {
        let mut open = self.stores.open.lock().await;
        if let Some(store) = open.get(&key) {
            return Ok(Arc::clone(store));
        }
        let mut settings = StoreSettings {
            no_credentials: key.is_public,
            user_agent: key.user_agent.clone(),
            rate: key.is_source.then(|| Arc::clone(&self.stores.source_rate)),
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

/// Returns the User-Agent for requests to a source: the program, the site and the contact.
pub fn user_agent(site_url: Option<&str>, contact: Option<&str>) -> String {
    let site = site_url.map(|url| format!("+{url}"));
    let about: Vec<String> = site.into_iter().chain(contact.map(str::to_owned)).collect();
    if about.is_empty() { PRODUCT.to_owned() } else { format!("{PRODUCT} ({})", about.join("; ")) }
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
