//! Settings and limits of the fetcher. The defaults are safe on the open internet.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use everytab_webpage::PortList;
use ipnet::IpNet;

use crate::signing::SigningKey;

/// Memory in bytes to reserve for a request, without its response body. 5,000 concurrent slow
/// responses took 120 KiB each (docs/benchmarks.md).
pub const REQUEST_BYTES: usize = 256 * 1024;

/// Default number of origins in progress at a time.
const CONCURRENT_ORIGINS: usize = 8_192;

/// Memory in bytes for the default number of origins in progress, at 16 KiB each. Measured use is
/// 13 KiB.
pub const WAITING_BYTES: usize = CONCURRENT_ORIGINS * 16 * 1024;

/// Default names for checking the resolver. They should always exist and have public addresses.
pub const KNOWN_NAMES: [&str; 3] = ["example.com", "iana.org", "wikipedia.org"];

/// Whether the fetcher obeys robots.txt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RobotsPolicy {
    /// Fetch robots.txt before an origin's first icon, and obey it (RFC 9309).
    #[default]
    Obey,
    /// Never fetch robots.txt. This is for comparisons with programs that ignore it.
    Ignore,
}

/// All settings of the fetcher.
#[derive(Clone, Debug)]
pub struct FetchSettings {
    /// Address of the DNS resolver. If `None`, the system's resolver is used (`/etc/resolv.conf`).
    pub dns: Option<SocketAddr>,
    /// A PEM file with additional root certificates. They affect which certificates are recorded as
    /// valid, and which webhook receivers are trusted.
    pub ca_file: Option<PathBuf>,
    /// Address ranges that are treated as public although they are not.
    pub allow_ranges: Vec<IpNet>,
    /// Address ranges that are never dialled although they are public.
    pub deny_ranges: Vec<IpNet>,
    /// Address ranges of the operator's own services, which are dialled only if they are also in
    /// `allow_ranges`. The fetcher adds this host's networks.
    pub own_ranges: Vec<IpNet>,
    /// Ports that URLs may have.
    pub ports: PortList,
    /// Maps a URL's port to the port to dial instead. The checked address does not change.
    pub dial_ports: BTreeMap<u16, u16>,
    /// Maximum number of requests on the wire, summed over all shards.
    pub in_flight: usize,
    /// Maximum number of origins in progress, whether on the wire or waiting for DNS and permits.
    /// The fetcher uses at least 4 times `in_flight`, because several shards may have origins that
    /// wait for one address.
    pub concurrent_origins: usize,
    /// Maximum number of concurrent requests to one hostname.
    pub per_host: usize,
    /// Maximum number of concurrent requests to one address, for the whole fleet.
    pub per_address: usize,
    /// Maximum number of concurrent requests to an address in a CDN's published ranges, for the
    /// whole fleet.
    pub per_cdn_address: usize,
    /// Minimum time between two crawl requests to one address, for the whole fleet. It does not
    /// apply to icons, or to addresses in a CDN's published ranges.
    pub address_distance: Duration,
    /// The robot's User-Agent. It should contain the address of a page about the robot.
    pub user_agent: String,
    /// Whether to request only addresses in `allow_ranges`. A shard's own robot has its own
    /// setting.
    pub is_confined: bool,
    /// Key that signs requests, if the shard names the site that publishes the key.
    pub signing_key: Option<Arc<SigningKey>>,
    /// Time limit for each attempt of a DNS query. A query has up to two attempts.
    pub dns_timeout: Duration,
    /// Time limit for connecting: TCP over all addresses and the TLS handshake together.
    pub connect_timeout: Duration,
    /// Time limit from sending a request to receiving the response head.
    pub first_byte_timeout: Duration,
    /// Time limit for a whole fetch: its connections, redirects, and body. Waiting for permits and
    /// for the resolver does not count.
    pub total_timeout: Duration,
    /// Maximum size of an icon's decoded body in bytes.
    pub max_body_bytes: usize,
    /// Maximum redirects for an icon.
    pub max_redirects: usize,
    /// Maximum total size of the bodies in memory, in bytes.
    pub body_budget_bytes: usize,
    /// Maximum `Retry-After` that the fetcher obeys. A URL with a longer one is not retried.
    pub retry_after_max: Duration,
    /// Names for checking the resolver. There must be at least one, and each must have public
    /// addresses.
    pub known_names: Vec<String>,
    /// Whether to cache DNS results and dead endpoints.
    pub remembers: bool,
    /// Number of recent origins that the circuit breaker evaluates, at least `in_flight`.
    pub breaker_window: usize,
    /// Minimum number of recorded origins before the circuit breaker can open.
    pub breaker_minimum: usize,
}

/// Why settings are invalid. The message has one line.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The user agent is not a valid header value.
    #[error("the user agent contains control characters")]
    UserAgent,
    /// The certificate file cannot be read, or contains no certificate.
    #[error("{0}")]
    CaFile(String),
    /// The system's resolver settings are invalid, or TLS cannot be set up.
    #[error("{0}")]
    System(String),
}

impl FetchSettings {
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
