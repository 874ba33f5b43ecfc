//! The fetcher's limits, with defaults that are safe on the open internet.
//!
//! An operator sets some of them by options and environment variables. The others are for tests and
//! benchmarks. Does not depend on how they are set.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use everytab_webpage::PortList;
use ipnet::IpNet;

use crate::signing::SigningKey;

/// Maximum memory in bytes for a request, without its response body: a 64 KiB head, 128 KiB HTTP/2
/// windows, a TLS record each way, its tasks, and four origins that wait behind it. 5,000
/// concurrent slow responses took 120 KiB each (docs/benchmarks.md).
pub const REQUEST_BYTES: usize = 256 * 1024;

/// Default number of origins that are in progress at a time: enough for several shards with origins
/// that wait for the same address.
const CONCURRENT_ORIGINS: usize = 8_192;

/// Memory in bytes of origins that are in progress or waiting, at 16 KiB each (measured: 13 KiB).
pub const WAITING_BYTES: usize = CONCURRENT_ORIGINS * 16 * 1024;

/// The names that must have public addresses, unless others are set. They have existed for decades
/// and belong to three organisations with different networks.
pub const KNOWN_NAMES: [&str; 3] = ["example.com", "iana.org", "wikipedia.org"];

/// Whether robots.txt is obeyed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RobotsPolicy {
    /// It is read before an origin's first icon, and obeyed (RFC 9309).
    #[default]
    Obey,
    /// It is never read, for comparison with programs that ignore it.
    Ignore,
}

/// All limits of the fetcher that can be adjusted.
#[derive(Clone, Debug)]
pub struct FetchSettings {
    /// Address of the resolver. `None` for the system's own (`/etc/resolv.conf`).
    pub dns: Option<SocketAddr>,
    /// A PEM file with additional roots. It only affects which certificates are recorded as valid,
    /// and which webhook receivers are trusted.
    pub ca_file: Option<PathBuf>,
    /// Address ranges that are treated as public although they are not.
    pub allow_ranges: Vec<IpNet>,
    /// Address ranges that are never dialled although they are public.
    pub deny_ranges: Vec<IpNet>,
    /// Address ranges with the operator's own services, which are dialled only if they are in
    /// `allow_ranges`. This host's networks are added.
    pub own_ranges: Vec<IpNet>,
    /// Ports that URLs may have.
    pub ports: PortList,
    /// The port to dial for each port of a URL. The checked address does not change.
    pub dial_ports: BTreeMap<u16, u16>,
    /// Maximum number of requests on the wire, over all shards.
    pub in_flight: usize,
    /// Maximum number of origins in progress, on the wire or waiting for names and permits. At
    /// least 4 times `in_flight` is used: this leaves room for several shards with origins that
    /// wait for one address, and is a bound if DNS or the CPU are slow.
    pub concurrent_origins: usize,
    /// Maximum number of concurrent requests to one hostname.
    pub per_host: usize,
    /// Maximum number of concurrent requests to one address, for the whole fleet.
    pub per_address: usize,
    /// Maximum number of concurrent requests to an address that a CDN publishes as its own, for the
    /// whole fleet.
    pub per_cdn_address: usize,
    /// Minimum time between two crawl requests to one address, for the whole fleet. It does not
    /// apply to addresses that a CDN publishes as its own, or to icons.
    pub address_distance: Duration,
    /// The robot's User-Agent, with the address of a page about it.
    pub user_agent: String,
    /// Whether only addresses in `allow_ranges` are requested, because all sites are the operator's
    /// own. A robot that a shard names has its own setting.
    pub is_confined: bool,
    /// Key that signs the requests of shards that name a site. `None` to sign none.
    pub signing_key: Option<Arc<SigningKey>>,
    /// Time limit for a DNS query. Each query is retried once.
    pub dns_timeout: Duration,
    /// Time limit for connecting by TCP over all addresses, and for TLS.
    pub connect_timeout: Duration,
    /// Time limit from the request to the head of the response.
    pub first_byte_timeout: Duration,
    /// Time limit for connections, redirects and body together. Waiting for permits and for the
    /// resolver does not count.
    pub total_timeout: Duration,
    /// Maximum size of a decoded body in bytes.
    pub max_body_bytes: usize,
    /// Maximum redirects for an icon.
    pub max_redirects: usize,
    /// Maximum total size of the bodies in memory, in bytes.
    pub body_budget_bytes: usize,
    /// Maximum `Retry-After` that the fetcher waits for.
    pub retry_after_max: Duration,
    /// Known names: they must have public addresses, which the fetcher uses to check a resolver. At
    /// least one.
    pub known_names: Vec<String>,
    /// Whether DNS results and dead endpoints are cached, which only saves requests.
    pub remembers: bool,
    /// Number of recent origins that the circuit breaker evaluates, or `in_flight` if that is
    /// larger.
    pub breaker_window: usize,
    /// Minimum number of origins for the circuit breaker to open.
    pub breaker_minimum: usize,
}

/// Invalid settings, with a message of one line.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The user agent is not a valid header value.
    #[error("the user agent contains control characters")]
    UserAgent,
    /// The file of certificate authorities cannot be read, or has none. The message starts with its
    /// path.
    #[error("{0}")]
    CaFile(String),
    /// The system's resolver or TLS cannot be set up.
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
            known_names: KNOWN_NAMES.map(str::to_owned).into(),
            remembers: true,
            breaker_window: 256,
            breaker_minimum: 128,
        }
    }
}
