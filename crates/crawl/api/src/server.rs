//! The whole service: its background tasks, and the router that handles requests.

use std::sync::Arc;

use axum::Router;
use everytab_coordinator::Coordinator;
use everytab_crawl_start::FilterLists;
use everytab_frontier::{ParameterList, SuffixList};
use tokio::sync::watch;

use crate::{
    captures::Captures,
    key_checks::KeyChecks,
    key_ports::KeyPorts,
    metrics, routes,
    service::{ApiSettings, Service},
    store_health,
    submissions::{Submissions, standing_crawl},
    waiters::Waiters,
};

/// The service.
#[derive(Debug)]
pub struct ApiService;

impl ApiService {
    /// Starts the background tasks and builds the router. When `stop` turns true, requests that
    /// wait for a change get their responses immediately.
    ///
    /// # Errors
    /// Returns an error if the description or the settings cannot be serialized, which is a bug.
    pub fn start(
        coordinator: Coordinator,
        settings: ApiSettings,
        stop: watch::Receiver<bool>,
    ) -> Result<Router, serde_json::Error> {
        metrics::begin_at_zero();
        let standing = standing_crawl(&settings.store)?;
        let waiters = Arc::<Waiters>::default();
        tokio::spawn(Arc::clone(&waiters).poll(coordinator.clone(), stop.clone()));
        let service = Service {
            lists: FilterLists::new(settings.temporary.clone()),
            trials: Arc::default(),
            key_checks: KeyChecks::start(coordinator.clone()),
            ports: KeyPorts::default(),
            submissions: Submissions::start(coordinator.clone(), standing.clone()),
            captures: Captures::new(&settings.store, &settings.from, settings.stores.clone()),
            store: store_health::start(
                settings.from.clone(),
                settings.stores.clone(),
                stop.clone(),
            ),
            last_probe: parking_lot::Mutex::default(),
            description: routes::description_json()?.into(),
            coordinator,
            settings,
            standing,
            parameters: ParameterList::default(),
            suffixes: SuffixList::default(),
            waiters,
            stop,
        };
        Ok(routes::router(Arc::new(service)))
    }
}
