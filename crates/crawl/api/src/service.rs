//! State shared by all requests: the database, waiting requests, and the operator's settings.

use std::{path::PathBuf, sync::Arc};

use axum::body::Bytes;
use everytab_coordinator::{ApiCaller, Coordinator, StandingCrawl};
use everytab_crawl_settings::SeedPorts;
use everytab_crawl_start::FilterLists;
use everytab_frontier::{ParameterList, SuffixList};
use everytab_storage::StoreSettings;
use everytab_webpage::{PortList, address::Guard};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    captures::Captures, key_checks::KeyChecks, key_ports::KeyPorts, problem::Problem,
    store_health::StoreHealth, submissions::Submissions, trials::Trials, waiters::Waiters,
};

/// The operator's settings.
#[derive(Debug, Clone)]
pub struct ApiSettings {
    /// URL of the store to which the keys' crawls write.
    pub store: String,
    /// The URL from which this process reads the same store.
    pub from: String,
    /// Settings for requests to stores.
    pub stores: StoreSettings,
    /// Directory for imported lists, which have up to 400 MiB each.
    pub temporary: PathBuf,
    /// The program's version.
    pub version: String,
    /// User-Agent that workers send, according to this process's own options.
    pub user_agent: String,
    /// Addresses to which workers may send webhooks, according to this process's own options.
    pub guard: Guard,
}

#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) coordinator: Coordinator,
    pub(crate) settings: ApiSettings,
    pub(crate) standing: StandingCrawl,
    pub(crate) parameters: ParameterList,
    pub(crate) suffixes: SuffixList,
    pub(crate) key_checks: KeyChecks,
    pub(crate) ports: KeyPorts,
    pub(crate) waiters: Arc<Waiters>,
    pub(crate) submissions: Submissions,
    pub(crate) captures: Captures,
    pub(crate) store: StoreHealth,
    /// The reason in the response to the last probe, so that only changes are logged.
    pub(crate) last_probe: Mutex<Option<&'static str>>,
    pub(crate) lists: FilterLists,
    pub(crate) trials: Arc<Trials>,
    pub(crate) description: Bytes,
    pub(crate) stop: watch::Receiver<bool>,
}

impl Service {
    pub(crate) async fn ports_of(&self, caller: &ApiCaller) -> Result<SeedPorts, Problem> {
        let ports = self.ports.of(&self.coordinator, caller).await?;
        Ok(SeedPorts::Listed(PortList::clone(&ports)))
    }
}
