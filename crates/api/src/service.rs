//! What all requests share: the database, what waits, and what the operator has set.
//!
//! Must not know: which paths there are.

use std::{path::PathBuf, sync::Arc};

use axum::body::Bytes;
use everytab_coordinator::{ApiCaller, Coordinator, StandingCrawl};
use everytab_crawler::{FilterLists, SeedPorts};
use everytab_frontier::{ParameterList, SuffixList};
use everytab_storage::StoreSettings;
use everytab_webpage::{PortList, address::Guard};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    captures::Captures, key_checks::KeyChecks, key_ports::KeyPorts, problem::Problem,
    store_health::StoreHealth, submissions::Submissions, trials::Trials, waiters::Waiters,
};

/// What the operator has set.
#[derive(Debug, Clone)]
pub struct ApiSettings {
    /// The URL of the store of the keys' crawls.
    pub store: String,
    /// The URL of the same store where this process reads it.
    pub from: String,
    /// How stores are asked.
    pub stores: StoreSettings,
    /// The folder for temporary files: imported lists, of up to 400 MiB each
    /// and 1 GiB beside those that are in use.
    pub temporary: PathBuf,
    /// The program's version.
    pub version: String,
    /// The User-Agent with which workers ask, as far as this process knows.
    pub user_agent: String,
    /// The addresses that workers may send webhooks to, as far as this process knows.
    pub guard: Guard,
}

/// What all requests share.
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
    /// The state of the store that captures are read from.
    pub(crate) store: StoreHealth,
    /// What the last probe was told, for the log.
    pub(crate) last_probe: Mutex<Option<&'static str>>,
    /// The lists that tests of filters ask.
    pub(crate) lists: FilterLists,
    /// Turns of requests that test URLs against a filter.
    pub(crate) trials: Arc<Trials>,
    /// The description, as it is served.
    pub(crate) description: Bytes,
    /// Turns true when the process stops.
    pub(crate) stop: watch::Receiver<bool>,
}

impl Service {
    /// Returns the ports that the caller's URLs may name.
    ///
    /// # Errors
    /// Returns a problem if Postgres cannot be reached.
    pub(crate) async fn ports_of(&self, caller: &ApiCaller) -> Result<SeedPorts, Problem> {
        let ports = self.ports.of(&self.coordinator, caller).await?;
        Ok(SeedPorts::Listed(PortList::clone(&ports)))
    }
}
