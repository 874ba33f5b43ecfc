//! What is known of sites and hosts in memory.
//!
//! A site of a crawl is loaded whole, because its budget is of all its hosts. Manners of a host are
//! those of all crawls. Must not know: Postgres, requests.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, TimeDelta, Utc};
use everytab_coordinator::HostManners;
use everytab_fetcher::{
    DelaySettings, Fetcher, HostAnswer, HostDelay, HostTurns, PageOptions, SavedDelay,
};
use everytab_frontier::{HostState, Origin, SiteUse, Turn};
use tokio::task::AbortHandle;

use crate::{
    crawl::Crawl,
    origins::{HostOrigins, Patience},
};

/// A site of a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SiteKey {
    pub crawl: i32,
    pub site_hash: u64,
}

/// What a crawl knows of a site.
pub(crate) struct Site {
    /// The site's slot.
    pub slot: i16,
    /// What the crawl has of it.
    pub site_use: SiteUse,
    /// The state of each host, by the hash of its name.
    pub hosts: HashMap<u64, HostState>,
    /// When it was loaded.
    pub loaded_at: Instant,
    /// When it was last needed.
    pub used_at: Instant,
    /// Whether its hosts are not asked, so that it can leave memory.
    pub is_aside: bool,
    /// Hashes of the origins whose sitemaps became known.
    pub told_origins: HashSet<u64>,
}

impl Site {
    /// A site of which nothing is known.
    pub(crate) fn new(slot: i16) -> Self {
        let now = Instant::now();
        Self {
            slot,
            site_use: SiteUse::default(),
            hosts: HashMap::new(),
            loaded_at: now,
            used_at: now,
            is_aside: false,
            told_origins: HashSet::new(),
        }
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.hosts.values().map(HostState::memory_bytes).sum::<usize>()
    }

    /// Has its hosts asked again, if they are not: returns those.
    pub(crate) fn take_back(&mut self) -> Vec<u64> {
        let was_aside = std::mem::take(&mut self.is_aside);
        if was_aside { self.hosts.keys().copied().collect() } else { Vec::new() }
    }

    /// Takes up the state of a host.
    pub(crate) fn insert(&mut self, host_hash: u64, state: HostState) {
        self.site_use.pages += state.pages();
        self.site_use.hosts += u64::from(state.sums().known > 0);
        self.hosts.insert(host_hash, state);
    }
}

/// A host, and what was learnt of it in all crawls.
pub(crate) struct Host {
    /// Its slot.
    pub slot: i16,
    /// Hash of its site.
    pub site_hash: u64,
    /// Its name.
    pub name: Arc<str>,
    /// Whether it is the operator's own.
    pub is_own: bool,
    /// Its turns; none while a request is under way.
    pub turns: Option<HostTurns>,
    /// Its origins, with their robots.txt and pauses.
    pub origins: HostOrigins,
    /// The crawls that know of it, the next one to ask first.
    pub crawls: VecDeque<i32>,
    /// Whether somebody waits for one of its URLs.
    pub is_urgent: bool,
    /// When it is to be looked at, if it is among those that are.
    pub queued_at: Option<Instant>,
    /// It is not to be asked before a checkpoint has what was learnt of it.
    pub awaits_checkpoint: bool,
    /// What was learnt of its delay, as the last checkpoint has it; none if it has no row.
    pub recorded_delay: Option<Duration>,
    /// The request that is under way.
    pub request: Option<Request>,
    /// When it was last asked for each crawl: a crawl with a longer delay than others keeps it.
    pub asked_at: HashMap<i32, Instant>,
}

/// A request that is under way.
pub(crate) struct Request {
    /// Its number in this process.
    pub number: u64,
    /// The delay of the host when it began.
    pub delay: HostDelay,
    /// The delays that its crawl asks for.
    pub settings: DelaySettings,
    /// The crawl for which it is made.
    pub crawl: Arc<Crawl>,
    /// The URL that is asked for; none for a robots.txt.
    pub turn: Option<Turn>,
    /// Ends its task.
    pub task: AbortHandle,
}

/// The delays of a crawl that asks for none: what is left was learnt of the host.
const NO_DELAY: DelaySettings = DelaySettings {
    delay: Duration::ZERO,
    factor: 2.0,
    max_delay: Duration::from_secs(60),
    override_delay: Duration::ZERO,
};

/// For how long it is remembered when a host was asked for a crawl: most delays of crawls are
/// shorter.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);

/// Delays that are longer are recorded before a host is asked again: a worker that takes the slot
/// of one that died waits as long for the lease to end (30 seconds, renewed each 5), so that it
/// keeps shorter ones without knowing them.
const KEPT_BY_LEASES: Duration = Duration::from_secs(20);

impl Host {
    /// A host that was never asked.
    pub(crate) fn new(
        slot: i16,
        site_hash: u64,
        name: &str,
        is_own: bool,
        turns: HostTurns,
    ) -> Self {
        Self {
            slot,
            site_hash,
            name: name.into(),
            is_own,
            turns: Some(turns),
            origins: HostOrigins::default(),
            crawls: VecDeque::new(),
            is_urgent: false,
            queued_at: None,
            awaits_checkpoint: false,
            recorded_delay: None,
            request: None,
            asked_at: HashMap::new(),
        }
    }

    /// A host as it was recorded.
    pub(crate) fn restore(
        slot: i16,
        manners: &HostManners,
        is_own: bool,
        fetcher: &Fetcher,
        options: &Arc<PageOptions>,
    ) -> Self {
        let delay = HostDelay::restore(saved(manners, Utc::now()), tokio::time::Instant::now());
        let turns = HostTurns::new(fetcher, Arc::clone(options), delay);
        let mut host = Self::new(slot, manners.site_hash, &manners.hostname, is_own, turns);
        let robots = manners.robots.as_ref().map(|(kept, _)| kept.as_slice());
        host.origins = HostOrigins::restore(robots, manners.origins.as_ref());
        host.recorded_delay = Some(delay.delay(&NO_DELAY));
        host
    }

    /// Adds a crawl that knows of it.
    pub(crate) fn add_crawl(&mut self, crawl: i32) {
        if !self.crawls.contains(&crawl) {
            self.crawls.push_back(crawl);
        }
    }

    /// Forgets a crawl that has ended.
    pub(crate) fn remove_crawl(&mut self, crawl: i32) {
        self.drop_crawl(crawl);
        self.asked_at.remove(&crawl);
    }

    /// The state that a crawl has of it was dropped.
    pub(crate) fn drop_crawl(&mut self, crawl: i32) {
        self.crawls.retain(|of| *of != crawl);
    }

    /// Whether nothing but what is recorded of it is known: no crawl has URLs of it, and no request
    /// is under way.
    pub(crate) fn is_unused(&self) -> bool {
        self.crawls.is_empty()
            && self.request.is_none()
            && self.recorded_delay.is_some()
            && self.origins.is_kept()
            && self.asked_at.values().all(|at| at.elapsed() > REMEMBERED_FOR)
    }

    /// Whether a checkpoint is needed before it is asked again.
    pub(crate) fn needs_checkpoint(&self) -> bool {
        let Some(turns) = &self.turns else { return false };
        let learnt = turns.delay.delay(&NO_DELAY);
        learnt > KEPT_BY_LEASES && self.recorded_delay.is_none_or(|recorded| learnt > recorded)
    }

    /// Returns true if the host is left alone for so long that a checkpoint should record it soon.
    pub(crate) fn rests(&self) -> bool {
        let free_at = self.turns.as_ref().and_then(|turns| turns.delay.free_at(&NO_DELAY));
        free_at.is_some_and(|at| at > tokio::time::Instant::now() + KEPT_BY_LEASES)
    }

    /// Returns true if an origin is paused for so long that a checkpoint should record it soon.
    pub(crate) fn has_long_pause(&self) -> bool {
        let paused_until = self.origins.paused_until();
        paused_until.is_some_and(|until| until > Utc::now() + KEPT_BY_LEASES)
    }

    /// The second since 1970 until which an origin is paused for a crawl with this patience; 0 if
    /// it is not.
    pub(crate) fn paused_until_s(&self, origin: Origin, patience: Patience) -> u64 {
        self.origins.paused_for(origin, patience).map_or(0, unix_s)
    }

    /// Gives up the request that is under way; its delay begins now.
    pub(crate) fn give_up_request(&mut self, fetcher: &Fetcher, options: &Arc<PageOptions>) {
        let Some(Request { mut delay, settings, task, .. }) = self.request.take() else { return };
        task.abort();
        delay.ended(HostAnswer::Void, &settings, tokio::time::Instant::now());
        self.turns = Some(HostTurns::new(fetcher, Arc::clone(options), delay));
    }

    /// Its manners as they are recorded; none while a request is under way, unless it has no row.
    pub(crate) fn manners(&mut self, host_hash: u64) -> Option<HostManners> {
        let delay = match (&self.turns, &self.request) {
            (Some(turns), _) => turns.delay,
            (None, Some(request)) if self.recorded_delay.is_none() => request.delay,
            (None, _) => return None,
        };
        let saved = delay.save(tokio::time::Instant::now());
        self.recorded_delay = Some(delay.delay(&NO_DELAY));
        let milliseconds = |ms: u32| i32::try_from(ms).unwrap_or(i32::MAX);
        Some(HostManners {
            host_hash,
            site_hash: self.site_hash,
            hostname: self.name.to_string(),
            free_at: Utc::now() + TimeDelta::milliseconds(saved.free_in_ms.into()),
            delay_ms: milliseconds(saved.delay_ms),
            response_ms: milliseconds(saved.response_ms),
            crawl_delay_ms: (saved.crawl_delay_ms > 0).then(|| milliseconds(saved.crawl_delay_ms)),
            origins: self.origins.pauses(&self.name),
            robots: self.origins.take_unkept(&self.name),
            addresses: None,
        })
    }
}

/// Returns the second since 1970 from which on a time has passed.
pub(crate) fn unix_s(at: DateTime<Utc>) -> u64 {
    let has_fraction = at.timestamp_subsec_nanos() > 0;
    u64::try_from(at.timestamp() + i64::from(has_fraction)).unwrap_or_default()
}

fn saved(manners: &HostManners, now: DateTime<Utc>) -> SavedDelay {
    let milliseconds = |ms: i32| ms.unsigned_abs();
    let free_in = (manners.free_at - now).num_milliseconds().max(0);
    SavedDelay {
        delay_ms: milliseconds(manners.delay_ms),
        response_ms: milliseconds(manners.response_ms),
        crawl_delay_ms: milliseconds(manners.crawl_delay_ms.unwrap_or_default()),
        free_in_ms: u32::try_from(free_in).unwrap_or(u32::MAX),
    }
}
