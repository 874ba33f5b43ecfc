//! The in-memory state of sites and hosts.
//!
//! All hosts of a site in a crawl are loaded together, because they share the site's budget. All
//! crawls share a host's delay, robots.txt and pauses.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, TimeDelta, Utc};
use everytab_coordinator::FrontierHostRow;
use everytab_fetcher::{
    DelaySettings, Fetcher, HostClient, HostDelay, HostResult, PageOptions, SavedDelay,
};
use everytab_frontier::{HostState, Origin, PendingUrl, SiteUsage};
use tokio::task::AbortHandle;

use crate::{
    crawl::Crawl,
    origins::{HostOrigins, Patience},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SiteKey {
    pub crawl: i32,
    pub site_hash: u64,
}

pub(crate) struct Site {
    pub slot: i16,
    pub usage: SiteUsage,
    pub hosts: HashMap<u64, HostState>,
    pub loaded_at: Instant,
    pub used_at: Instant,
    /// Whether the site's hosts get requests only to finish redirect chains, so that the site can
    /// leave memory.
    pub is_suspended: bool,
    pub sitemap_origins: HashSet<u64>,
}

impl Site {
    pub(crate) fn new(slot: i16) -> Self {
        let now = Instant::now();
        Self {
            slot,
            usage: SiteUsage::default(),
            hosts: HashMap::new(),
            loaded_at: now,
            used_at: now,
            is_suspended: false,
            sitemap_origins: HashSet::new(),
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.hosts.values().map(HostState::memory_bytes).sum::<usize>()
    }

    /// Returns the hosts if the site was suspended.
    pub(crate) fn resume_hosts(&mut self) -> Vec<u64> {
        let was_suspended = std::mem::take(&mut self.is_suspended);
        if was_suspended { self.hosts.keys().copied().collect() } else { Vec::new() }
    }

    pub(crate) fn insert(&mut self, host_hash: u64, state: HostState) {
        self.usage.add_host(state.pages(), state.sums().known);
        self.hosts.insert(host_hash, state);
    }
}

pub(crate) struct Host {
    pub slot: i16,
    pub site_hash: u64,
    pub name: Arc<str>,
    pub is_own: bool,
    /// `None` while a request is in flight.
    pub client: Option<HostClient>,
    pub origins: HostOrigins,
    pub crawls: VecDeque<i32>,
    pub is_urgent: bool,
    pub scheduled_at: Option<Instant>,
    pub awaits_checkpoint: bool,
    /// The host's delay as of the last checkpoint. `None` if the host has no row.
    pub recorded_delay: Option<Duration>,
    pub request: Option<Request>,
    /// When the last request for each crawl ended, because crawls may have different delays.
    pub last_request_at: HashMap<i32, Instant>,
}

pub(crate) struct Request {
    pub number: u64,
    pub delay: HostDelay,
    pub settings: DelaySettings,
    pub crawl: Arc<Crawl>,
    /// `None` for a robots.txt or a probe.
    pub pending: Option<PendingUrl>,
    pub task: AbortHandle,
}

/// With these settings, the delay is only the one that was learned from the host.
const NO_DELAY: DelaySettings = DelaySettings {
    delay: Duration::ZERO,
    factor: 2.0,
    max_delay: Duration::from_secs(60),
    override_delay: Duration::ZERO,
};

/// How long we remember when a host got its last request for a crawl. Most crawls' delays are
/// shorter.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);

/// A longer delay is recorded before the host's next request. A shorter one is over when a dead
/// worker's lease (30 seconds, renewed every 5) has expired, so that the next holder need not know
/// it.
const KEPT_BY_LEASES: Duration = Duration::from_secs(20);

impl Host {
    pub(crate) fn new(
        slot: i16,
        site_hash: u64,
        name: &str,
        is_own: bool,
        client: HostClient,
    ) -> Self {
        Self {
            slot,
            site_hash,
            name: name.into(),
            is_own,
            client: Some(client),
            origins: HostOrigins::default(),
            crawls: VecDeque::new(),
            is_urgent: false,
            scheduled_at: None,
            awaits_checkpoint: false,
            recorded_delay: None,
            request: None,
            last_request_at: HashMap::new(),
        }
    }

    pub(crate) fn restore(
        slot: i16,
        manners: &FrontierHostRow,
        is_own: bool,
        fetcher: &Fetcher,
        options: &Arc<PageOptions>,
    ) -> Self {
        let delay = HostDelay::restore(saved(manners, Utc::now()), tokio::time::Instant::now());
        let client = HostClient::new(fetcher, Arc::clone(options), delay);
        let mut host = Self::new(slot, manners.site_hash, &manners.hostname, is_own, client);
        let robots = manners.robots.as_ref().map(|(kept, _)| kept.as_slice());
        host.origins = HostOrigins::restore(robots, manners.origins.as_ref());
        host.recorded_delay = Some(delay.delay(&NO_DELAY));
        host
    }

    pub(crate) fn add_crawl(&mut self, crawl: i32) {
        if !self.crawls.contains(&crawl) {
            self.crawls.push_back(crawl);
        }
    }

    pub(crate) fn remove_crawl(&mut self, crawl: i32) {
        self.drop_crawl(crawl);
        self.last_request_at.remove(&crawl);
    }

    pub(crate) fn drop_crawl(&mut self, crawl: i32) {
        self.crawls.retain(|of| *of != crawl);
    }

    /// Returns true if no crawl has URLs on the host or sent it a recent request, and Postgres has
    /// all that was learned about it.
    pub(crate) fn is_unused(&self) -> bool {
        self.crawls.is_empty()
            && self.request.is_none()
            && self.recorded_delay.is_some()
            && self.origins.is_kept()
            && self.last_request_at.values().all(|at| at.elapsed() > REMEMBERED_FOR)
    }

    /// Returns true if the host gets no request before a checkpoint has recorded its delay.
    pub(crate) fn needs_checkpoint(&self) -> bool {
        let Some(client) = &self.client else { return false };
        let learnt = client.delay.delay(&NO_DELAY);
        learnt > KEPT_BY_LEASES && self.recorded_delay.is_none_or(|recorded| learnt > recorded)
    }

    pub(crate) fn has_long_delay(&self) -> bool {
        let free_at = self.client.as_ref().and_then(|client| client.delay.free_at(&NO_DELAY));
        free_at.is_some_and(|at| at > tokio::time::Instant::now() + KEPT_BY_LEASES)
    }

    pub(crate) fn has_long_pause(&self) -> bool {
        let paused_until = self.origins.paused_until();
        paused_until.is_some_and(|until| until > Utc::now() + KEPT_BY_LEASES)
    }

    /// In seconds since 1970. 0 if the origin is not paused or is given up.
    pub(crate) fn paused_until_s(&self, origin: Origin, patience: Patience) -> u64 {
        self.origins.paused_for(origin, patience).map_or(0, unix_s)
    }

    /// Cancels the request in flight. The host's delay starts now.
    pub(crate) fn cancel_request(&mut self, fetcher: &Fetcher, options: &Arc<PageOptions>) {
        let Some(Request { mut delay, settings, task, .. }) = self.request.take() else { return };
        task.abort();
        delay.ended(HostResult::NoResponse, &settings, tokio::time::Instant::now());
        self.client = Some(HostClient::new(fetcher, Arc::clone(options), delay));
    }

    /// `None` while a request is in flight, unless the host has no row yet.
    pub(crate) fn manners(&mut self, host_hash: u64) -> Option<FrontierHostRow> {
        let delay = match (&self.client, &self.request) {
            (Some(client), _) => client.delay,
            (None, Some(request)) if self.recorded_delay.is_none() => request.delay,
            (None, _) => return None,
        };
        let saved = delay.save(tokio::time::Instant::now());
        self.recorded_delay = Some(delay.delay(&NO_DELAY));
        let milliseconds = |ms: u32| i32::try_from(ms).unwrap_or(i32::MAX);
        Some(FrontierHostRow {
            host_hash,
            site_hash: self.site_hash,
            hostname: self.name.to_string(),
            free_at: Utc::now() + TimeDelta::milliseconds(saved.free_in_ms.into()),
            delay_ms: milliseconds(saved.delay_ms),
            response_ms: milliseconds(saved.response_ms),
            crawl_delay_ms: (saved.crawl_delay_ms > 0).then(|| milliseconds(saved.crawl_delay_ms)),
            origins: self.origins.pauses(&self.name),
            robots: self.origins.take_unrecorded(&self.name),
            addresses: None,
        })
    }
}

/// Converts a time to seconds since 1970, rounded up.
pub(crate) fn unix_s(at: DateTime<Utc>) -> u64 {
    let has_fraction = at.timestamp_subsec_nanos() > 0;
    u64::try_from(at.timestamp() + i64::from(has_fraction)).unwrap_or_default()
}

fn saved(manners: &FrontierHostRow, now: DateTime<Utc>) -> SavedDelay {
    let milliseconds = |ms: i32| ms.unsigned_abs();
    let free_in = (manners.free_at - now).num_milliseconds().max(0);
    SavedDelay {
        delay_ms: milliseconds(manners.delay_ms),
        response_ms: milliseconds(manners.response_ms),
        crawl_delay_ms: milliseconds(manners.crawl_delay_ms.unwrap_or_default()),
        free_in_ms: u32::try_from(free_in).unwrap_or(u32::MAX),
    }
}
