//! How a worker crawls.
//!
//! Must not know: what a crawl asks for.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use everytab_storage::StoreSettings;

use crate::own_hosts::OwnHosts;

/// Time after which what is known is recorded: as long as a lease lasts, so that a worker that dies
/// costs at most as much again.
pub const RECORD_AFTER: Duration = Duration::from_secs(30);
/// Bytes after which an archive is put.
pub const ARCHIVE_BYTES: u64 = 64 << 20;
/// For how long an origin that gives nothing but failures, or whose robots.txt cannot be fetched,
/// is requested again before its URLs are left: RFC 9309 2.3.1.4 speaks of a reasonable time.
pub const HOST_PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);
/// Pause before a URL is retried after its first failure that may pass. Each further one doubles
/// it.
pub const RETRY_PAUSE: Duration = Duration::from_secs(30);
/// First pause of an origin that gives nothing but failures. Each further one doubles it, so that
/// an outage of seconds costs half a minute, and one of hours some requests.
pub const ORIGIN_PAUSE: Duration = Duration::from_secs(30);

/// Bytes of memory for what is known of hosts, unpacked.
pub const FRONTIER_BYTES: usize = 128 << 20;

/// How a worker crawls.
#[derive(Debug, Clone)]
pub struct CrawlerSettings {
    /// Its name in leases, unique in the fleet.
    pub worker_id: String,
    /// Whether it ends when no crawl is open.
    pub exit_when_done: bool,
    /// Where archives are written before they are put.
    pub temporary: PathBuf,
    /// How stores are opened.
    pub stores: StoreSettings,
    /// Who runs the crawl, as archives say it; none where the `User-Agent` says so.
    pub operator: Option<String>,
    /// Hosts that are the operator's own.
    pub own: OwnHosts,
    /// What this worker writes: whether a crawl is open, or may be. Other loops of the process read
    /// it.
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
    /// The settings of a worker with this name.
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

    /// Returns the settings with this [`HOST_PATIENCE`]. If it is short, so are the first pauses:
    /// two of an origin end within it, and [`crate::RETRIES`] of a URL within half of it.
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
