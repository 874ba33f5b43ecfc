//! Resolves hostnames through the operator's choice of resolver.
//!
//! Concurrent lookups of one name share a flight (single flight). Each question has two attempts
//! with a deadline each. The first uses the few sockets of the DNS client, and falls back to the
//! resolver library if the response is incomplete; the second uses the library. Clear answers are
//! kept in a bounded cache. If any address of a name is not allowed, the whole name is rejected,
//! because mixed answers are how DNS rebinding starts. If a name gets no answer, a lookup of a
//! canary name tells whether the resolver responds at all. Does not depend on URLs, connections or
//! robots.txt.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr},
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_webpage::address::Guard;
use hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts},
    net::{DnsError, NetError, runtime::TokioRuntimeProvider},
    proto::{
        op::ResponseCode,
        rr::{Name, RData, Record, RecordType},
    },
    system_conf::read_system_conf,
};
use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{OnceCell, Semaphore},
    time::timeout,
};

use crate::{
    names::dns_client::DnsClient, outcome::Outcome, settings::FetchSettings, trouble::Trouble,
};

/// Maximum number of lookups on the wire. Each may take one socket.
const MAX_LOOKUPS: usize = 2_000;
/// Maximum number of cached names. A crawl looks up most names once.
const MAX_CACHED_NAMES: usize = 16_384;
/// Maximum number of addresses kept per name. Only these are tried.
const MAX_ADDRESSES: usize = 8;
/// Minimum time to cache an answer: the icons of one shard look up a name within it.
const TTL_MIN: Duration = Duration::from_secs(60);
/// Maximum time to cache an answer, whatever its TTL.
const TTL_MAX: Duration = Duration::from_secs(3_600);

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// At least one address. All of them are allowed.
    Addresses(Arc<[IpAddr]>),
    /// The reason why there is no address to dial.
    Failed(Outcome),
}

type Flight = Arc<OnceCell<Result<(Resolved, Instant), Trouble>>>;

struct LookupCache {
    answers: LruCache<String, (Resolved, Instant)>,
    flights: HashMap<String, Flight>,
    last_answer_at: Option<Instant>,
}

/// The resolver of one fetcher.
pub(crate) struct Resolver {
    hickory: TokioResolver,
    /// The client for the first name server. `None` if the system's settings have no server.
    client: Option<DnsClient>,
    guard: Guard,
    attempt_timeout: Duration,
    canary: String,
    remembers: bool,
    lookups: Semaphore,
    asking_canary: tokio::sync::Mutex<()>,
    cache: Mutex<LookupCache>,
}

/// The result of one DNS question.
enum DnsAnswer {
    /// Addresses, and until when they may be cached.
    Addresses(Vec<IpAddr>, Instant),
    NoSuchName,
    NoSuchRecord,
    /// The resolver reported a failure.
    Failure,
    /// There was no response in time.
    Silence,
    /// A local failure prevented the query.
    Trouble(Trouble),
}

impl Resolver {
    /// Creates a resolver. Returns a message of one line if the system's resolver settings are
    /// invalid.
    pub(crate) fn new(settings: &FetchSettings, guard: Guard) -> Result<Self, String> {
        let mut builder = match settings.dns {
            Some(address) => TokioResolver::builder_with_config(
                single_server(address),
                TokioRuntimeProvider::default(),
            ),
            None => TokioResolver::builder_tokio()
                .map_err(|e| format!("the machine's resolver settings: {e} (set --dns)"))?,
        };
        set_options(builder.options_mut(), settings.dns_timeout);
        let server = settings.dns.or_else(first_server_of_the_machine);
        let hickory = builder.build().map_err(|e| format!("the resolver: {e}"))?;
        let cached = NonZeroUsize::new(MAX_CACHED_NAMES).unwrap_or(NonZeroUsize::MIN);
        Ok(Self {
            hickory,
            client: server.map(DnsClient::new),
            guard,
            attempt_timeout: settings.dns_timeout,
            canary: settings.canary_name.clone(),
            remembers: settings.remembers,
            lookups: Semaphore::new(MAX_LOOKUPS),
            asking_canary: tokio::sync::Mutex::new(()),
            cache: Mutex::new(LookupCache {
                answers: LruCache::new(cached),
                flights: HashMap::new(),
                last_answer_at: None,
            }),
        })
    }

    /// Returns the addresses of `host` (as in the URL, a trailing dot is allowed), and whether this
    /// call looked them up.
    pub(crate) async fn resolve(&self, host: &str) -> Result<(Resolved, bool), Trouble> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        // This host must not be looked up (RFC 6761, 6.3).
        if host == "localhost" || host.ends_with(".localhost") {
            return Ok((Resolved::Failed(Outcome::IpBlocked), false));
        }
        let mut was_asked = false;
        let flight = {
            let mut cache = self.cache();
            if let Some((resolved, until)) = cache.answers.get(&host)
                && Instant::now() < *until
            {
                return Ok((resolved.clone(), false));
            }
            Arc::clone(cache.flights.entry(host.clone()).or_default())
        };
        // If the future that looks up is dropped, the cell remains empty and the next one looks up.
        let asking = async {
            was_asked = true;
            self.ask_for_both(&host).await
        };
        let looked_up = flight.get_or_init(|| asking).await.clone();
        let mut cache = self.cache();
        if cache.flights.get(&host).is_some_and(|current| Arc::ptr_eq(current, &flight)) {
            cache.flights.remove(&host);
            if let Ok((resolved, until)) = &looked_up
                && *until > Instant::now()
                && self.remembers
            {
                cache.answers.put(host, (resolved.clone(), *until));
            }
        }
        looked_up.map(|(resolved, _)| (resolved, was_asked))
    }

    /// Caches the addresses of a name that another worker looked up, for `left` but at most an
    /// hour. They are checked like the resolver's answers. An existing entry is kept.
    pub(crate) fn learn(&self, host: &str, addresses: Vec<IpAddr>, left: Duration) {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let resolved = self.check_addresses(addresses);
        if !self.remembers || !matches!(resolved, Resolved::Addresses(_)) {
            return;
        }
        let (mut cache, now) = (self.cache(), Instant::now());
        if cache.answers.peek(&host).is_none_or(|(_, until)| now >= *until) {
            cache.answers.put(host, (resolved, now + left.min(TTL_MAX)));
        }
    }

    /// Returns the cached addresses of a name, and for how long they are valid. `None` if the name
    /// has to be looked up.
    pub(crate) fn known(&self, host: &str) -> Option<(Arc<[IpAddr]>, Duration)> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        match self.cache().answers.peek(&host)? {
            (Resolved::Addresses(addresses), until) => {
                let left = until.saturating_duration_since(Instant::now());
                (left > Duration::ZERO).then(|| (Arc::clone(addresses), left))
            }
            (Resolved::Failed(_), _) => None,
        }
    }

    /// Checks whether the resolver responds at all. Concurrent calls share one query.
    ///
    /// Returns an error if it does not.
    pub(crate) async fn canary(&self) -> Result<(), Trouble> {
        let since = Instant::now();
        let _asking = self.asking_canary.lock().await;
        if self.cache().last_answer_at.is_some_and(|seen| seen >= since) {
            return Ok(());
        }
        match self.ask(&self.canary, RecordType::A).await {
            DnsAnswer::Silence => Err(Trouble::ResolverUnreachable),
            DnsAnswer::Trouble(trouble) => Err(trouble),
            _ => Ok(()),
        }
    }

    /// Looks up whether `name` has an address now, without the cache.
    pub(crate) async fn has_address(&self, name: &str) -> Result<bool, Trouble> {
        match self.ask(name, RecordType::A).await {
            DnsAnswer::Addresses(..) => Ok(true),
            DnsAnswer::Trouble(trouble) => Err(trouble),
            _ => Ok(false),
        }
    }

    async fn ask_for_both(&self, host: &str) -> Result<(Resolved, Instant), Trouble> {
        let started = Instant::now();
        // The semaphore is never closed. Waiting here does not count in the fetch's clock.
        let _permit = self.lookups.acquire().await.map_err(|_| Trouble::ResolverUnreachable)?;
        let mut answer = self.ask(host, RecordType::A).await;
        if matches!(answer, DnsAnswer::NoSuchRecord) {
            answer = self.ask(host, RecordType::AAAA).await;
        }
        let clear_until = Instant::now() + TTL_MIN;
        let uncached = Instant::now();
        Ok(match answer {
            DnsAnswer::Addresses(addresses, until) => (self.check_addresses(addresses), until),
            DnsAnswer::NoSuchName => (Resolved::Failed(Outcome::DnsNxdomain), clear_until),
            DnsAnswer::NoSuchRecord => (Resolved::Failed(Outcome::DnsNoAddress), clear_until),
            DnsAnswer::Failure => (Resolved::Failed(Outcome::DnsServfail), uncached),
            DnsAnswer::Trouble(trouble) => return Err(trouble),
            DnsAnswer::Silence => {
                let alive = self.cache().last_answer_at.is_some_and(|seen| seen >= started);
                if !alive {
                    self.canary().await?;
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

    /// Sends one question, and retries it if there was no response.
    async fn ask(&self, host: &str, record_type: RecordType) -> DnsAnswer {
        let Ok(name) = Name::from_ascii(format!("{host}.")) else {
            return DnsAnswer::NoSuchName;
        };
        let mut last = DnsAnswer::Silence;
        for attempt in 0..2 {
            let by_client = match &self.client {
                Some(client) if attempt == 0 => self.ask_client(client, &name, record_type).await,
                _ => None,
            };
            last = match by_client {
                Some(answer) => answer,
                None => self.ask_hickory(&name, record_type).await,
            };
            if !matches!(last, DnsAnswer::Silence | DnsAnswer::Trouble(_)) {
                self.cache().last_answer_at = Some(Instant::now());
                break;
            }
        }
        last
    }

    /// Queries through the few sockets of the DNS client. `None` if the response is incomplete.
    async fn ask_client(
        &self,
        client: &DnsClient,
        name: &Name,
        record_type: RecordType,
    ) -> Option<DnsAnswer> {
        let message = match timeout(self.attempt_timeout, client.ask(name, record_type)).await {
            Err(_elapsed) => return Some(DnsAnswer::Silence),
            Ok(Err(error)) => return Some(of_io_error(&error)),
            Ok(Ok(message)) => message,
        };
        if message.metadata.truncation {
            return None;
        }
        match message.metadata.response_code {
            ResponseCode::NoError => {
                let ttl = message.answers.iter().map(|record| record.ttl).min().unwrap_or(0);
                let left = Duration::from_secs(ttl.into());
                let answer = of_records(&message.answers, Instant::now() + left);
                // Incomplete: an alias (CNAME) whose target is not in the response.
                let is_whole =
                    message.answers.is_empty() || matches!(answer, DnsAnswer::Addresses(..));
                is_whole.then_some(answer)
            }
            ResponseCode::NXDomain => Some(DnsAnswer::NoSuchName),
            _ => Some(DnsAnswer::Failure),
        }
    }

    async fn ask_hickory(&self, name: &Name, record_type: RecordType) -> DnsAnswer {
        let lookup = self.hickory.lookup(name.clone(), record_type);
        match timeout(self.attempt_timeout, lookup).await {
            Err(_elapsed) => DnsAnswer::Silence,
            Ok(Ok(lookup)) => of_records(lookup.answers(), lookup.valid_until()),
            Ok(Err(error)) => of_error(&error),
        }
    }

    fn cache(&self) -> MutexGuard<'_, LookupCache> {
        self.cache.lock()
    }
}

/// Returns the addresses in the records of a response, under any alias.
fn of_records(records: &[Record], valid_until: Instant) -> DnsAnswer {
    let addresses = records.iter().filter_map(|record| match &record.data {
        RData::A(a) => Some(IpAddr::V4(a.0)),
        RData::AAAA(aaaa) => Some(IpAddr::V6(aaaa.0)),
        _ => None,
    });
    let addresses: Vec<IpAddr> = addresses.collect();
    if addresses.is_empty() {
        return DnsAnswer::NoSuchRecord;
    }
    let now = Instant::now();
    let left = valid_until.saturating_duration_since(now);
    DnsAnswer::Addresses(addresses, now + left.clamp(TTL_MIN, TTL_MAX))
}

fn of_io_error(error: &io::Error) -> DnsAnswer {
    Trouble::of_io(error).map_or(DnsAnswer::Silence, DnsAnswer::Trouble)
}

fn first_server_of_the_machine() -> Option<SocketAddr> {
    let (config, _options) = read_system_conf().ok()?;
    let server = config.name_servers().first()?;
    let port = server.connections.first().map_or(53, |connection| connection.port);
    Some(SocketAddr::new(server.ip, port))
}

fn of_error(error: &NetError) -> DnsAnswer {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain => DnsAnswer::NoSuchName,
            ResponseCode::NoError => DnsAnswer::NoSuchRecord,
            _ => DnsAnswer::Failure,
        },
        NetError::Io(error) => of_io_error(error),
        NetError::Timeout | NetError::NoConnections | NetError::Busy => DnsAnswer::Silence,
        _ => DnsAnswer::Failure,
    }
}

fn single_server(address: SocketAddr) -> ResolverConfig {
    let mut udp = ConnectionConfig::udp();
    udp.port = address.port();
    let mut tcp = ConnectionConfig::tcp();
    tcp.port = address.port();
    let server = NameServerConfig::new(address.ip(), true, vec![udp, tcp]);
    ResolverConfig::from_parts(None, Vec::new(), vec![server])
}

fn set_options(options: &mut ResolverOpts, attempt_timeout: Duration) {
    options.attempts = 1;
    options.timeout = attempt_timeout;
    options.num_concurrent_reqs = 1;
    // With its default of 32, the library returns "busy" if a few truncated responses are retried
    // over TCP.
    options.max_active_requests = 4_096;
    options.cache_size = 0;
    options.use_hosts_file = ResolveHosts::Never;
}
