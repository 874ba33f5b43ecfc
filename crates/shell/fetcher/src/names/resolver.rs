//! Resolves hostnames, and caches the results.
//!
//! If any address of a name is not allowed, the whole name is rejected, because DNS rebinding
//! starts with such mixed results. A false result from the resolver voids all earlier results.

use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_webpage::address::Guard;
use futures_util::future::BoxFuture;
use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OnceCell, Semaphore};

use crate::{
    local_failure::LocalFailure,
    names::{
        lookup::{DnsLookup, DnsResult, TTL_MAX, TTL_MIN},
        name_check::{NameCheck, RecentResults},
        resolved::Resolved,
        trust::ResolverTrust,
    },
    outcome::Outcome,
    settings::FetchSettings,
};

/// Maximum number of lookups on the wire. Each may take one socket.
const MAX_LOOKUPS: usize = 2_000;
/// Maximum number of cached names. A crawl looks up most names once.
const MAX_CACHED_NAMES: usize = 16_384;
/// Maximum number of addresses to keep per name. Other addresses are not tried.
const MAX_ADDRESSES: usize = 8;

#[derive(Clone)]
struct LookupResult {
    resolved: Resolved,
    until: Instant,
    false_checks: u64,
}

type Flight = Arc<OnceCell<Result<LookupResult, LocalFailure>>>;

struct LookupCache {
    answers: LruCache<String, LookupResult>,
    flights: HashMap<String, Flight>,
    recent: RecentResults,
}

pub(crate) struct Resolver {
    lookup: DnsLookup,
    trust: ResolverTrust,
    guard: Guard,
    remembers: bool,
    lookups: Semaphore,
    cache: Mutex<LookupCache>,
}

impl Resolver {
    /// Returns a one-line error message if the system's resolver settings are invalid.
    pub(crate) fn new(settings: &FetchSettings, guard: Guard) -> Result<Self, String> {
        let cached = NonZeroUsize::new(MAX_CACHED_NAMES).unwrap_or(NonZeroUsize::MIN);
        // A known name may have an address that the operator denies, because the address is still
        // public.
        let public = Guard { deny: Vec::new(), own: Vec::new(), ..guard.clone() };
        Ok(Self {
            lookup: DnsLookup::new(settings)?,
            trust: ResolverTrust::new(settings.known_names.clone(), public),
            guard,
            remembers: settings.remembers,
            lookups: Semaphore::new(MAX_LOOKUPS),
            cache: Mutex::new(LookupCache {
                answers: LruCache::new(cached),
                flights: HashMap::new(),
                recent: RecentResults::default(),
            }),
        })
    }

    /// Returns the addresses of `host`, and whether this call looked them up. `host` may have a
    /// trailing dot.
    pub(crate) async fn resolve(&self, host: &str) -> Result<(Resolved, bool), LocalFailure> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        // `localhost` must not be looked up (RFC 6761, 6.3).
        if host == "localhost" || host.ends_with(".localhost") {
            return Ok((Resolved::Failed(Outcome::IpBlocked), false));
        }
        let mut was_asked = false;
        let flight = {
            let mut cache = self.cache();
            if let Some(answer) = cache.answers.get(&host)
                && self.is_valid(answer)
            {
                return Ok((answer.resolved.clone(), false));
            }
            Arc::clone(cache.flights.entry(host.clone()).or_default())
        };
        // If this future is dropped, the cell remains empty, and the next caller looks up the name.
        let asking = async {
            was_asked = true;
            self.look_up(&host).await
        };
        let looked_up = flight.get_or_init(|| asking).await.clone();
        let mut cache = self.cache();
        if cache.flights.get(&host).is_some_and(|current| Arc::ptr_eq(current, &flight)) {
            cache.flights.remove(&host);
            if let Ok(answer) = &looked_up
                && self.is_valid(answer)
                && self.remembers
            {
                cache.answers.put(host, answer.clone());
            }
        }
        drop(cache);
        let answer = looked_up?;
        if answer.false_checks == self.false_checks() {
            Ok((answer.resolved, was_asked))
        } else {
            Err(LocalFailure::ResolverFalse)
        }
    }

    fn is_valid(&self, answer: &LookupResult) -> bool {
        Instant::now() < answer.until && answer.false_checks == self.false_checks()
    }

    pub(crate) fn learn(&self, host: &str, addresses: Vec<IpAddr>, left: Duration) {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let resolved = self.check_addresses(addresses);
        if !self.remembers || !matches!(resolved, Resolved::Addresses(_)) {
            return;
        }
        let until = Instant::now() + left.min(TTL_MAX);
        let answer = LookupResult { resolved, until, false_checks: self.false_checks() };
        let mut cache = self.cache();
        if cache.answers.peek(&host).is_none_or(|known| !self.is_valid(known)) {
            cache.answers.put(host, answer);
        }
    }

    pub(crate) fn known(&self, host: &str) -> Option<(Arc<[IpAddr]>, Duration)> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let cache = self.cache();
        let answer = cache.answers.peek(&host).filter(|answer| self.is_valid(answer))?;
        let left = answer.until.saturating_duration_since(Instant::now());
        match &answer.resolved {
            Resolved::Addresses(addresses) => Some((Arc::clone(addresses), left)),
            Resolved::Failed(_) => None,
        }
    }

    /// Checks the resolver with the known names. A call never shares a check that started before
    /// the call.
    pub(crate) async fn check(&self) -> Result<(), LocalFailure> {
        judge(&self.trust.check(&self.lookup).await?)
    }

    /// Confirms a result that would fail a crawl's URL permanently. `false_checks` is the value of
    /// [`false_checks`](Self::false_checks) before the lookup. If it has changed since, this
    /// returns an error.
    pub(crate) async fn confirm(&self, false_checks: u64) -> Result<(), LocalFailure> {
        judge(&self.trust.confirm(&self.lookup).await?)?;
        if false_checks == self.false_checks() { Ok(()) } else { Err(LocalFailure::ResolverFalse) }
    }

    pub(crate) fn false_checks(&self) -> u64 {
        self.trust.false_checks()
    }

    pub(crate) fn fault(&self) -> Option<String> {
        self.trust.fault()
    }

    pub(crate) async fn has_address(&self, name: &str) -> Result<bool, LocalFailure> {
        match self.lookup.addresses(name).await {
            DnsResult::Addresses(..) => Ok(true),
            DnsResult::LocalFailure(failure) => Err(failure),
            _ => Ok(false),
        }
    }

    fn look_up<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<LookupResult, LocalFailure>> {
        // This is boxed, so that a fetch of a cached name needs no memory for it.
        Box::pin(async move {
            judge(&self.trust.current(&self.lookup).await?)?;
            let false_checks = self.false_checks();
            let (resolved, until) = self.addresses_of(host).await?;
            let is_suspect = self.cache().recent.add(&resolved);
            if is_suspect {
                self.check().await?;
            }
            Ok(LookupResult { resolved, until, false_checks })
        })
    }

    async fn addresses_of(&self, host: &str) -> Result<(Resolved, Instant), LocalFailure> {
        let started = Instant::now();
        // Waiting for this permit does not count against the fetch's deadline.
        let _permit =
            self.lookups.acquire().await.map_err(|_| LocalFailure::ResolverUnreachable)?;
        let answer = self.lookup.addresses(host).await;
        let clear_until = Instant::now() + TTL_MIN;
        let uncached = Instant::now();
        Ok(match answer {
            DnsResult::Addresses(addresses, until) => (self.check_addresses(addresses), until),
            DnsResult::NoSuchName => (Resolved::Failed(Outcome::DnsNxdomain), clear_until),
            DnsResult::NoSuchRecord => (Resolved::Failed(Outcome::DnsNoAddress), clear_until),
            DnsResult::Failure => (Resolved::Failed(Outcome::DnsServfail), uncached),
            DnsResult::LocalFailure(failure) => return Err(failure),
            DnsResult::Silence => {
                if !self.lookup.has_responded_since(started) {
                    self.check().await?;
                }
                (Resolved::Failed(Outcome::DnsTimeout), uncached)
            }
        })
    }

    fn check_addresses(&self, mut addresses: Vec<IpAddr>) -> Resolved {
        if addresses.is_empty() {
            return Resolved::Failed(Outcome::DnsNoAddress);
        }
        if !addresses.iter().all(|address| self.guard.allows(*address)) {
            return Resolved::Failed(Outcome::IpBlocked);
        }
        addresses.truncate(MAX_ADDRESSES);
        Resolved::Addresses(addresses.into())
    }

    fn cache(&self) -> MutexGuard<'_, LookupCache> {
        self.cache.lock()
    }
}

fn judge(check: &NameCheck) -> Result<(), LocalFailure> {
    match check {
        NameCheck::Right => Ok(()),
        NameCheck::Silent => Err(LocalFailure::ResolverUnreachable),
        NameCheck::False(_) => Err(LocalFailure::ResolverFalse),
    }
}
