//! Sends DNS queries to the resolver that the operator chose.
//!
//! A query has up to two attempts: the first with our DNS client, and the second with the resolver
//! library. The library is also used if the first response is incomplete.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::{Duration, Instant},
};

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
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::{local_failure::LocalFailure, names::dns_client::DnsClient, settings::FetchSettings};

/// Minimum time to cache a result, so that one lookup of a name suffices for the icons of a shard.
pub(crate) const TTL_MIN: Duration = Duration::from_secs(60);
/// Maximum time to cache a result.
pub(crate) const TTL_MAX: Duration = Duration::from_secs(3_600);

pub(crate) struct DnsLookup {
    hickory: TokioResolver,
    client: Option<DnsClient>,
    attempt_timeout: Duration,
    last_answer_at: Mutex<Option<Instant>>,
}

pub(crate) enum DnsResult {
    Addresses(Vec<IpAddr>, Instant),
    NoSuchName,
    NoSuchRecord,
    Failure,
    Silence,
    LocalFailure(LocalFailure),
}

impl DnsLookup {
    /// Returns a one-line error message if the system's resolver settings are invalid.
    pub(crate) fn new(settings: &FetchSettings) -> Result<Self, String> {
        let mut builder = match settings.dns {
            Some(address) => TokioResolver::builder_with_config(
                single_server(address),
                TokioRuntimeProvider::default(),
            ),
            None => TokioResolver::builder_tokio().map_err(|e| {
                format!("cannot read the system's resolver settings: {e}; set --dns")
            })?,
        };
        set_options(builder.options_mut(), settings.dns_timeout);
        let server = settings.dns.or_else(first_server_of_the_machine);
        let hickory = builder.build().map_err(|e| format!("cannot set up the resolver: {e}"))?;
        Ok(Self {
            hickory,
            client: server.map(DnsClient::new),
            attempt_timeout: settings.dns_timeout,
            last_answer_at: Mutex::new(None),
        })
    }

    pub(crate) fn has_responded_since(&self, since: Instant) -> bool {
        self.last_answer_at.lock().is_some_and(|seen| seen >= since)
    }

    pub(crate) async fn addresses(&self, host: &str) -> DnsResult {
        match self.query(host, RecordType::A).await {
            DnsResult::NoSuchRecord => self.query(host, RecordType::AAAA).await,
            answer => answer,
        }
    }

    async fn query(&self, host: &str, record_type: RecordType) -> DnsResult {
        let Ok(name) = Name::from_ascii(format!("{host}.")) else {
            return DnsResult::NoSuchName;
        };
        let mut last = DnsResult::Silence;
        for attempt in 0..2 {
            let by_client = match &self.client {
                Some(client) if attempt == 0 => self.query_client(client, &name, record_type).await,
                _ => None,
            };
            last = match by_client {
                Some(answer) => answer,
                None => self.query_hickory(&name, record_type).await,
            };
            if !matches!(last, DnsResult::Silence | DnsResult::LocalFailure(_)) {
                *self.last_answer_at.lock() = Some(Instant::now());
                break;
            }
        }
        last
    }

    async fn query_client(
        &self,
        client: &DnsClient,
        name: &Name,
        record_type: RecordType,
    ) -> Option<DnsResult> {
        let message = match timeout(self.attempt_timeout, client.query(name, record_type)).await {
            Err(_elapsed) => return Some(DnsResult::Silence),
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
                // A response is incomplete if it has an alias (CNAME) without an address for it.
                let is_whole =
                    message.answers.is_empty() || matches!(answer, DnsResult::Addresses(..));
                is_whole.then_some(answer)
            }
            ResponseCode::NXDomain => Some(DnsResult::NoSuchName),
            _ => Some(DnsResult::Failure),
        }
    }

    async fn query_hickory(&self, name: &Name, record_type: RecordType) -> DnsResult {
        let lookup = self.hickory.lookup(name.clone(), record_type);
        match timeout(self.attempt_timeout, lookup).await {
            Err(_elapsed) => DnsResult::Silence,
            Ok(Ok(lookup)) => of_records(lookup.answers(), lookup.valid_until()),
            Ok(Err(error)) => of_error(&error),
        }
    }
}

fn of_records(records: &[Record], valid_until: Instant) -> DnsResult {
    let addresses = records.iter().filter_map(|record| match &record.data {
        RData::A(a) => Some(IpAddr::V4(a.0)),
        RData::AAAA(aaaa) => Some(IpAddr::V6(aaaa.0)),
        _ => None,
    });
    let addresses: Vec<IpAddr> = addresses.collect();
    if addresses.is_empty() {
        return DnsResult::NoSuchRecord;
    }
    let now = Instant::now();
    let left = valid_until.saturating_duration_since(now);
    DnsResult::Addresses(addresses, now + left.clamp(TTL_MIN, TTL_MAX))
}

fn of_io_error(error: &io::Error) -> DnsResult {
    LocalFailure::of_io(error).map_or(DnsResult::Silence, DnsResult::LocalFailure)
}

fn first_server_of_the_machine() -> Option<SocketAddr> {
    let (config, _options) = read_system_conf().ok()?;
    let server = config.name_servers().first()?;
    let port = server.connections.first().map_or(53, |connection| connection.port);
    Some(SocketAddr::new(server.ip, port))
}

fn of_error(error: &NetError) -> DnsResult {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain => DnsResult::NoSuchName,
            ResponseCode::NoError => DnsResult::NoSuchRecord,
            _ => DnsResult::Failure,
        },
        NetError::Io(error) => of_io_error(error),
        NetError::Timeout | NetError::NoConnections | NetError::Busy => DnsResult::Silence,
        _ => DnsResult::Failure,
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
