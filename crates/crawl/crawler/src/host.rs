//! The in-memory state of sites and hosts.
//!
//! All hosts of a site in a crawl are loaded together, because they share the site's budget. All
//! crawls share a host's delay, robots.txt and pauses. This module does not depend on Postgres or
//! on requests.

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

/// A site in a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SiteKey {
    pub crawl: i32,
    pub site_hash: u64,
}

/// A site's state in a crawl.
pub(crate) struct Site {
    /// The site's slot.
    pub slot: i16,
    /// How much of the site's budget this crawl has used.
    pub usage: SiteUsage,
    /// Each host's state, by the hash of its name.
    pub hosts: HashMap<u64, HostState>,
    /// When the site was loaded.
    pub loaded_at: Instant,
    /// When the site was last used.
    pub used_at: Instant,
    /// Whether the site is suspended: its hosts get requests only to finish redirect chains, so
    /// that the site can leave memory.
    pub is_suspended: bool,
    /// Hashes of the origins whose sitemaps were added to the crawl.
    pub sitemap_origins: HashSet<u64>,
}

impl Site {
    /// Creates a site without hosts.
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

    /// Returns the site's memory in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.hosts.values().map(HostState::memory_bytes).sum::<usize>()
    }

    /// Resumes the site. Returns its hosts if it was suspended.
    pub(crate) fn resume_hosts(&mut self) -> Vec<u64> {
        let was_suspended = std::mem::take(&mut self.is_suspended);
        if was_suspended { self.hosts.keys().copied().collect() } else { Vec::new() }
    }

    /// Adds a host's state.
    pub(crate) fn insert(&mut self, host_hash: u64, state: HostState) {
        self.usage.add_host(state.pages(), state.sums().known);
        self.hosts.insert(host_hash, state);
    }
}

/// A host, with everything that crawls have learned about it.
pub(crate) struct Host {
    /// The host's slot.
    pub slot: i16,
    /// The hash of the host's site.
    pub site_hash: u64,
    /// The hostname.
    pub name: Arc<str>,
    /// Whether this is one of the operator's own hosts.
    pub is_own: bool,
    /// The host's connection and delay. `None` while a request is in flight.
    pub client: Option<HostClient>,
    /// The host's origins, with their robots.txt and pauses.
    pub origins: HostOrigins,
    /// The crawls that have URLs on the host. The first one may send the next request.
    pub crawls: VecDeque<i32>,
    /// Whether a client is waiting for a URL on the host.
    pub is_urgent: bool,
    /// When the host will be checked next. `None` if it is not scheduled.
    pub scheduled_at: Option<Instant>,
    /// Whether the host gets no requests until a checkpoint has recorded its delay.
    pub awaits_checkpoint: bool,
    /// The host's delay as of the last checkpoint. `None` if the host has no row.
    pub recorded_delay: Option<Duration>,
    /// The request in flight.
    pub request: Option<Request>,
    /// When the last request for each crawl ended. A crawl with a longer delay than others needs
    /// this to keep its delay.
    pub last_request_at: HashMap<i32, Instant>,
}

/// A request in flight.
pub(crate) struct Request {
    /// The request's number in this process.
    pub number: u64,
    /// The host's delay when the request started.
    pub delay: HostDelay,
    /// The crawl's delay settings.
    pub settings: DelaySettings,
    /// The crawl for which the request is sent.
    pub crawl: Arc<Crawl>,
    /// The pending URL. `None` for a robots.txt or a probe.
    pub pending: Option<PendingUrl>,
    /// Cancels the request's task.
    pub task: AbortHandle,
}

/// Delay settings for a crawl without a delay. With these settings, the delay is only the one that
/// was learned from the host.
const NO_DELAY: DelaySettings = DelaySettings {
    delay: Duration::ZERO,
    factor: 2.0,
    max_delay: Duration::from_secs(60),
    override_delay: Duration::ZERO,
};

/// How long we remember when a host got its last request for a crawl. Most crawls' delays are
/// shorter.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);

/// Delays longer than this are recorded before the next request to a host. Shorter delays need not
/// be recorded: when a worker dies, the next one can send requests only after the lease has expired
/// (30 seconds, renewed every 5), so these delays are over by then.
const KEPT_BY_LEASES: Duration = Duration::from_secs(20);

impl Host {
    /// Creates a host that never got a request.
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

    /// Restores a host from its row.
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

    /// Adds a crawl that has URLs on the host.
    pub(crate) fn add_crawl(&mut self, crawl: i32) {
        if !self.crawls.contains(&crawl) {
            self.crawls.push_back(crawl);
        }
    }

    /// Forgets a crawl that has ended.
    pub(crate) fn remove_crawl(&mut self, crawl: i32) {
        self.drop_crawl(crawl);
        self.last_request_at.remove(&crawl);
    }

    /// Removes a crawl when its state for this host was dropped.
    pub(crate) fn drop_crawl(&mut self, crawl: i32) {
        self.crawls.retain(|of| *of != crawl);
    }

    /// Returns whether the host can be dropped: no crawl has URLs on it, it has no recent request,
    /// and Postgres has everything learned about it.
    pub(crate) fn is_unused(&self) -> bool {
        self.crawls.is_empty()
            && self.request.is_none()
            && self.recorded_delay.is_some()
            && self.origins.is_kept()
            && self.last_request_at.values().all(|at| at.elapsed() > REMEMBERED_FOR)
    }

    /// Returns whether a checkpoint is needed before the next request to the host.
    pub(crate) fn needs_checkpoint(&self) -> bool {
        let Some(client) = &self.client else { return false };
        let learnt = client.delay.delay(&NO_DELAY);
        learnt > KEPT_BY_LEASES && self.recorded_delay.is_none_or(|recorded| learnt > recorded)
    }

    /// Returns true if the host's delay is so long that a checkpoint should record it soon.
    pub(crate) fn has_long_delay(&self) -> bool {
        let free_at = self.client.as_ref().and_then(|client| client.delay.free_at(&NO_DELAY));
        free_at.is_some_and(|at| at > tokio::time::Instant::now() + KEPT_BY_LEASES)
    }

    /// Returns true if an origin is paused for so long that a checkpoint should record this soon.
    pub(crate) fn has_long_pause(&self) -> bool {
        let paused_until = self.origins.paused_until();
        paused_until.is_some_and(|until| until > Utc::now() + KEPT_BY_LEASES)
    }

    /// Returns when an origin's pause ends for a crawl with this patience, in seconds since 1970. 0
    /// if it is not paused, or if its URLs are given up.
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

    /// Returns the host's row to record. `None` while a request is in flight, unless the host has
    /// no row yet.
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
