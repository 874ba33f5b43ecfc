//! Settings of a worker that crawls.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use everytab_storage::StoreSettings;

use crate::own_hosts::OwnHosts;

/// Age of unrecorded changes and of open archives at which they are recorded and uploaded.
pub const RECORD_AFTER: Duration = Duration::from_secs(30);
/// Size from which an archive is uploaded, in bytes.
pub const ARCHIVE_BYTES: u64 = 64 << 20;
/// How long an origin is retried if all its responses are failures, or if its robots.txt cannot be
/// fetched, before its URLs are given up. RFC 9309 2.3.1.4 only requires "a reasonably long period
/// of time".
pub const HOST_PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);
/// Pause before a URL's first retry after a transient failure. Each further failure doubles it.
pub const RETRY_PAUSE: Duration = Duration::from_secs(30);
/// First pause of an origin that fails as a whole. Each further failure doubles the pause.
pub const ORIGIN_PAUSE: Duration = Duration::from_secs(30);

/// Memory for unpacked host state, in bytes.
pub const FRONTIER_BYTES: usize = 128 << 20;

/// Settings of a worker that crawls.
#[derive(Debug, Clone)]
pub struct CrawlerSettings {
    /// The worker's name in leases, unique in the fleet.
    pub worker_id: String,
    /// Whether the worker exits when no crawl is open.
    pub exit_when_done: bool,
    /// Directory in which archives are written before they are uploaded.
    pub temporary: PathBuf,
    /// Settings for opening stores.
    pub stores: StoreSettings,
    /// The operator's name in archives. `None` uses the `User-Agent`.
    pub operator: Option<String>,
    /// The operator's own hosts.
    pub own: OwnHosts,
    /// Whether a crawl is open, or may be open. This worker sets it for the process's other loops.
    pub is_crawling: Arc<AtomicBool>,
    /// See [`RECORD_AFTER`].
    pub record_after: Duration,
    /// See [`ARCHIVE_BYTES`].
    pub archive_bytes: u64,
    /// See [`FRONTIER_BYTES`].
    pub frontier_bytes: usize,
    /// See [`HOST_PATIENCE`].
    pub host_patience: Duration,
    /// See [`RETRY_PAUSE`].
    pub retry_pause: Duration,
    /// See [`ORIGIN_PAUSE`].
    pub origin_pause: Duration,
}

impl CrawlerSettings {
    /// Returns the default settings of a worker with this name.
    pub fn new(worker_id: String, temporary: PathBuf, stores: StoreSettings) -> Self {
        Self {
            worker_id,
            exit_when_done: false,
            temporary,
            stores,
            operator: None,
            own: OwnHosts::default(),
            is_crawling: Arc::new(AtomicBool::new(true)),
            record_after: RECORD_AFTER,
            archive_bytes: ARCHIVE_BYTES,
            frontier_bytes: FRONTIER_BYTES,
            host_patience: HOST_PATIENCE,
            retry_pause: RETRY_PAUSE,
            origin_pause: ORIGIN_PAUSE,
        }
    }

    /// Returns the settings with this [`HOST_PATIENCE`]. A short patience also shortens the first
    /// pauses, so that two pauses of an origin end within the patience, and all
    /// [`RETRIES`](everytab_crawl_settings::RETRIES) retries of a URL within half of it.
    #[must_use]
    pub fn with_host_patience(self, host_patience: Duration) -> Self {
        Self {
            host_patience,
            retry_pause: RETRY_PAUSE.min(host_patience / 16),
            origin_pause: ORIGIN_PAUSE.min(host_patience / 4),
            ..self
        }
    }
}
