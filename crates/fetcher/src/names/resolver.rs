//! Names to addresses, through a resolver that the operator chose.
//!
//! A name has one lookup at a time however many ask (single flight), two attempts with a deadline
//! each (over few sockets first, as resolvers have it if that gave no whole answer), and a bounded
//! cache of clear answers. If any address of a name is not allowed, the whole
//! name is refused: mixed answers are how rebinding begins. A resolver that answers nobody is our
//! trouble, told from a name that nobody answers for by asking for a canary.
//! Must not know: URLs, connections, robots.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr},
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
use tokio::{
    sync::{OnceCell, Semaphore},
    time::timeout,
};

use crate::{
    names::dns_client::Questions,
    outcome::{Outcome, Trouble},
    settings::FetchSettings,
};

/// Lookups on the wire at once; each may cost one socket.
const LOOKUPS_IN_FLIGHT: usize = 2_000;
/// Names whose answers are kept; a crawl sees most names once.
const CACHED_NAMES: usize = 16_384;
/// Addresses kept of one answer; a name with more is tried at these.
const MAX_ADDRESSES: usize = 8;
const TTL_MIN: Duration = Duration::from_secs(60);
const TTL_MAX: Duration = Duration::from_secs(3_600);

/// What a name has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// At least one address; every one allowed.
    Addresses(Arc<[IpAddr]>),
    /// No address that may be dialled, and why.
    Failed(Outcome),
}

type Flight = Arc<OnceCell<Result<(Resolved, Instant), Trouble>>>;

struct Memory {
    answers: LruCache<String, (Resolved, Instant)>,
    flights: HashMap<String, Flight>,
    last_sign_of_life: Option<Instant>,
}

/// The resolver of one fetcher.
pub(crate) struct Resolver {
    hickory: TokioResolver,
    /// To the first name server; none where the machine's settings name none.
    questions: Option<Questions>,
    guard: Guard,
    attempt_timeout: Duration,
    canary: String,
    remembers: bool,
    lookups: Semaphore,
    canary_turn: tokio::sync::Mutex<()>,
    memory: Mutex<Memory>,
}

enum Asked {
    Answer(Vec<IpAddr>, Instant),
    NoSuchName,
    NoSuchRecord,
    Failure,
    Silence,
    Ours(Trouble),
}

impl Resolver {
    /// Errors: a line naming what is wrong with the machine's resolver settings.
    pub(crate) fn new(settings: &FetchSettings, guard: Guard) -> Result<Resolver, String> {
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
        let cached = NonZeroUsize::new(CACHED_NAMES).unwrap_or(NonZeroUsize::MIN);
        Ok(Resolver {
            hickory,
            questions: server.map(Questions::new),
            guard,
            attempt_timeout: settings.dns_timeout,
            canary: settings.canary_name.clone(),
            remembers: settings.remembers,
            lookups: Semaphore::new(LOOKUPS_IN_FLIGHT),
            canary_turn: tokio::sync::Mutex::new(()),
            memory: Mutex::new(Memory {
                answers: LruCache::new(cached),
                flights: HashMap::new(),
                last_sign_of_life: None,
            }),
        })
    }

    /// The addresses of `host` (as the URL has it, a trailing dot allowed), all of them allowed;
    /// and whether it was this call that asked for them.
    pub(crate) async fn resolve(&self, host: &str) -> Result<(Resolved, bool), Trouble> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        // Whatever a name server says of it (RFC 6761, 6.3).
        if host == "localhost" || host.ends_with(".localhost") {
            return Ok((Resolved::Failed(Outcome::IpBlocked), false));
        }
        let mut was_asked = false;
        let flight = {
            let mut memory = self.memory();
            if let Some((resolved, until)) = memory.answers.get(&host)
                && Instant::now() < *until
            {
                return Ok((resolved.clone(), false));
            }
            Arc::clone(memory.flights.entry(host.clone()).or_default())
        };
        // If the task that asks is dropped, the next in line asks: the cell stays empty.
        let asking = async {
            was_asked = true;
            self.ask_for_both(&host).await
        };
        let landed = flight.get_or_init(|| asking).await.clone();
        let mut memory = self.memory();
        if memory.flights.get(&host).is_some_and(|current| Arc::ptr_eq(current, &flight)) {
            memory.flights.remove(&host);
            if let Ok((resolved, until)) = &landed
                && *until > Instant::now()
                && self.remembers
            {
                memory.answers.put(host, (resolved.clone(), *until));
            }
        }
        landed.map(|(resolved, _)| (resolved, was_asked))
    }

    /// Whether the resolver answers anything at all.
    pub(crate) async fn canary(&self) -> Result<(), Trouble> {
        let since = Instant::now();
        let _turn = self.canary_turn.lock().await;
        if self.memory().last_sign_of_life.is_some_and(|seen| seen >= since) {
            return Ok(());
        }
        match self.ask(&self.canary, RecordType::A).await {
            Asked::Silence => Err(Trouble::ResolverUnreachable),
            Asked::Ours(trouble) => Err(trouble),
            _ => Ok(()),
        }
    }

    /// Whether `name` has an address just now, whatever is remembered of it.
    pub(crate) async fn has_address(&self, name: &str) -> Result<bool, Trouble> {
        match self.ask(name, RecordType::A).await {
            Asked::Answer(..) => Ok(true),
            Asked::Ours(trouble) => Err(trouble),
            _ => Ok(false),
        }
    }

    async fn ask_for_both(&self, host: &str) -> Result<(Resolved, Instant), Trouble> {
        let started = Instant::now();
        // The semaphore is never closed; waiting here costs the fetch nothing.
        let _permit = self.lookups.acquire().await.map_err(|_| Trouble::ResolverUnreachable)?;
        let mut asked = self.ask(host, RecordType::A).await;
        if matches!(asked, Asked::NoSuchRecord) {
            asked = self.ask(host, RecordType::AAAA).await;
        }
        let clear_until = Instant::now() + TTL_MIN;
        let uncached = Instant::now();
        Ok(match asked {
            Asked::Answer(addresses, until) => (self.judge(addresses), until),
            Asked::NoSuchName => (Resolved::Failed(Outcome::DnsNxdomain), clear_until),
            Asked::NoSuchRecord => (Resolved::Failed(Outcome::DnsNoAddress), clear_until),
            Asked::Failure => (Resolved::Failed(Outcome::DnsServfail), uncached),
            Asked::Ours(trouble) => return Err(trouble),
            Asked::Silence => {
                let alive = self.memory().last_sign_of_life.is_some_and(|seen| seen >= started);
                if !alive {
                    self.canary().await?;
                }
                (Resolved::Failed(Outcome::DnsTimeout), uncached)
            }
        })
    }

    fn judge(&self, mut addresses: Vec<IpAddr>) -> Resolved {
        if addresses.is_empty() {
            return Resolved::Failed(Outcome::DnsNoAddress);
        }
        if !addresses.iter().all(|address| self.guard.allows(*address)) {
            return Resolved::Failed(Outcome::IpBlocked);
        }
        addresses.truncate(MAX_ADDRESSES);
        Resolved::Addresses(addresses.into())
    }

    /// One question, asked a second time if nothing came back.
    async fn ask(&self, host: &str, record_type: RecordType) -> Asked {
        let Ok(name) = Name::from_ascii(format!("{host}.")) else {
            return Asked::NoSuchName;
        };
        let mut last = Asked::Silence;
        for attempt in 0..2 {
            let first = match &self.questions {
                Some(questions) if attempt == 0 => {
                    self.ask_over_few_sockets(questions, &name, record_type).await
                }
                _ => None,
            };
            last = match first {
                Some(asked) => asked,
                None => self.ask_hickory(&name, record_type).await,
            };
            if !matches!(last, Asked::Silence | Asked::Ours(_)) {
                self.memory().last_sign_of_life = Some(Instant::now());
                break;
            }
        }
        last
    }

    /// None where the answer is not whole.
    async fn ask_over_few_sockets(
        &self,
        questions: &Questions,
        name: &Name,
        record_type: RecordType,
    ) -> Option<Asked> {
        let message = match timeout(self.attempt_timeout, questions.ask(name, record_type)).await {
            Err(_elapsed) => return Some(Asked::Silence),
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
                let asked = of_records(&message.answers, Instant::now() + left);
                // A chain of names without its end.
                let is_whole = message.answers.is_empty() || matches!(asked, Asked::Answer(..));
                is_whole.then_some(asked)
            }
            ResponseCode::NXDomain => Some(Asked::NoSuchName),
            _ => Some(Asked::Failure),
        }
    }

    async fn ask_hickory(&self, name: &Name, record_type: RecordType) -> Asked {
        let lookup = self.hickory.lookup(name.clone(), record_type);
        match timeout(self.attempt_timeout, lookup).await {
            Err(_elapsed) => Asked::Silence,
            Ok(Ok(lookup)) => of_records(lookup.answers(), lookup.valid_until()),
            Ok(Err(error)) => of_error(&error),
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // A panic elsewhere cannot leave the maps half changed: each change is one call.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The addresses among the records of an answer, whatever names led there.
fn of_records(records: &[Record], valid_until: Instant) -> Asked {
    let addresses = records.iter().filter_map(|record| match &record.data {
        RData::A(a) => Some(IpAddr::V4(a.0)),
        RData::AAAA(aaaa) => Some(IpAddr::V6(aaaa.0)),
        _ => None,
    });
    let addresses: Vec<IpAddr> = addresses.collect();
    if addresses.is_empty() {
        return Asked::NoSuchRecord;
    }
    let now = Instant::now();
    let left = valid_until.saturating_duration_since(now);
    Asked::Answer(addresses, now + left.clamp(TTL_MIN, TTL_MAX))
}

fn of_io_error(error: &io::Error) -> Asked {
    Trouble::of_io(error).map_or(Asked::Silence, Asked::Ours)
}

fn first_server_of_the_machine() -> Option<SocketAddr> {
    let (config, _options) = read_system_conf().ok()?;
    let server = config.name_servers().first()?;
    let port = server.connections.first().map_or(53, |connection| connection.port);
    Some(SocketAddr::new(server.ip, port))
}

fn of_error(error: &NetError) -> Asked {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain => Asked::NoSuchName,
            ResponseCode::NoError => Asked::NoSuchRecord,
            _ => Asked::Failure,
        },
        NetError::Io(error) => of_io_error(error),
        NetError::Timeout | NetError::NoConnections | NetError::Busy => Asked::Silence,
        _ => Asked::Failure,
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
    // The default of 32 answers "busy" as soon as truncated answers go to TCP.
    options.max_active_requests = 4_096;
    options.cache_size = 0;
    options.use_hosts_file = ResolveHosts::Never;
}
