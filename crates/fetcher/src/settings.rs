//! The bounds of the fetcher, with defaults that are safe on the open internet.
//!
//! An operator changes some of them by options and environment variables; the others are for tests
//! and benchmarks.
//! Must not know: where the values come from.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use everytab_webpage::PortList;
use ipnet::IpNet;

use crate::signing::SigningKey;

/// The memory in bytes that one request takes at most besides the body of its answer: a head of
/// 64 KiB, windows of HTTP/2 of 128 KiB, a TLS record each way, its tasks, and four origins that
/// wait behind it. 5,000 slow answers together took 120 KiB each (docs/benchmarks.md).
pub const REQUEST_BYTES: usize = 256 * 1024;

/// Origins that are begun together unless the settings say otherwise: enough for those of several
/// shards that wait for one address.
const CONCURRENT_ORIGINS: usize = 8_192;

/// The memory in bytes that begun and waiting origins take, at 16 KiB each (13 KiB were measured).
pub const WAITING_BYTES: usize = CONCURRENT_ORIGINS * 16 * 1024;

/// Whether robots.txt is read and obeyed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RobotsPolicy {
    /// It is read before an origin's first icon, and obeyed (RFC 9309).
    #[default]
    Obey,
    /// It is never read; for comparisons with programs that ignore it.
    Ignore,
}

/// Every adjustable bound of the fetcher.
#[derive(Clone, Debug)]
pub struct FetchSettings {
    /// The resolver to ask; without it the machine's own (`/etc/resolv.conf`).
    pub dns: Option<SocketAddr>,
    /// A PEM file with more roots. It only decides what is recorded about a certificate.
    pub ca_file: Option<PathBuf>,
    /// Address ranges that count as public although they are not.
    pub allow_ranges: Vec<IpNet>,
    /// Address ranges that are never dialled although they are public.
    pub deny_ranges: Vec<IpNet>,
    /// Address ranges of the operator's own services, which are dialled only where `allow_ranges`
    /// has them; the networks of this machine are added.
    pub own_ranges: Vec<IpNet>,
    /// The ports of URLs that may be requested.
    pub ports: PortList,
    /// The port to dial, by the port of the URL; the checked address stays what it is.
    pub dial_ports: BTreeMap<u16, u16>,
    /// Requests on the wire together, over all shards.
    pub in_flight: usize,
    /// Origins begun together, on the wire or waiting for names and permits. The larger of this and
    /// 4 times `in_flight` is used: room for those of several shards that wait for one address, and
    /// a bound where names or the processor are slow.
    pub concurrent_origins: usize,
    /// Requests together to one hostname.
    pub per_host: usize,
    /// Requests together to one address, for the whole fleet.
    pub per_address: usize,
    /// Requests together to an address that a CDN publishes as its own, for the whole fleet.
    pub per_cdn_address: usize,
    /// The time between two requests of crawls to one address, for the whole fleet. Addresses that
    /// a CDN publishes as its own and requests for icons keep no distance.
    pub address_distance: Duration,
    /// The name of the robot, with the address of a page about it.
    pub user_agent: String,
    /// Whether only addresses in `allow_ranges` are requested, because all sites are the operator's
    /// own. A robot that a shard names has its own rule.
    pub is_confined: bool,
    /// The key that signs requests of shards that name a site; without it none is signed.
    pub signing_key: Option<Arc<SigningKey>>,
    /// The time for one question to the resolver, which is asked twice at most.
    pub dns_timeout: Duration,
    /// The time for connecting by TCP over all addresses, and for TLS.
    pub connect_timeout: Duration,
    /// The time from the request to the head of the answer.
    pub first_byte_timeout: Duration,
    /// The time for connections, redirects and body. Waiting for permits and for the resolver does
    /// not count.
    pub total_timeout: Duration,
    /// Bytes of one decoded body.
    pub max_body_bytes: usize,
    /// Redirects of one icon.
    pub max_redirects: usize,
    /// Bytes of all bodies in memory together.
    pub body_budget_bytes: usize,
    /// The longest `Retry-After` that is waited for.
    pub retry_after_max: Duration,
    /// A name that every working resolver answers in some way; asked when the resolver may be dead.
    pub canary_name: String,
    /// Whether answers of names and dead endpoints are remembered, which only saves requests.
    pub remembers: bool,
    /// Origins that the circuit breaker looks back on, or `in_flight` if that is more.
    pub breaker_window: usize,
    /// Origins that the circuit breaker needs before it judges.
    pub breaker_minimum: usize,
}

/// Why there is no fetcher with some settings, in one line.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The user agent cannot be sent in a header.
    #[error("the user agent holds control characters")]
    UserAgent,
    /// The file of certificate authorities cannot be read or holds none; the text begins with its
    /// path.
    #[error("{0}")]
    CaFile(String),
    /// This machine's resolver or TLS cannot be set up.
    #[error("{0}")]
    System(String),
}

impl FetchSettings {
    /// Returns the port to dial for URLs with this port.
    pub(crate) fn dial_port(&self, port: u16) -> u16 {
        self.dial_ports.get(&port).copied().unwrap_or(port)
    }
}

impl Default for FetchSettings {
    fn default() -> Self {
        Self {
            dns: None,
            ca_file: None,
            allow_ranges: Vec::new(),
            deny_ranges: Vec::new(),
            own_ranges: Vec::new(),
            ports: PortList::default(),
            dial_ports: BTreeMap::new(),
            in_flight: 512,
            concurrent_origins: CONCURRENT_ORIGINS,
            per_host: 2,
            per_address: 64,
            per_cdn_address: 256,
            address_distance: Duration::from_millis(100),
            user_agent: "EveryTabBot/1.0 (+https://everytab.example/bot.html)".to_owned(),
            is_confined: false,
            signing_key: None,
            dns_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(5),
            first_byte_timeout: Duration::from_secs(5),
            total_timeout: Duration::from_secs(10),
            max_body_bytes: 512 * 1024,
            max_redirects: 5,
            body_budget_bytes: 256 * 1024 * 1024,
            retry_after_max: Duration::from_secs(60),
            canary_name: "example.com".to_owned(),
            remembers: true,
            breaker_window: 256,
            breaker_minimum: 128,
        }
    }
}
