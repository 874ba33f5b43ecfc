//! What an operator may set about fetching, with defaults that are safe on the open internet.
//!
//! Must not know: where the values come from (flags, environment).

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use ipnet::IpNet;

/// What one request may take of the memory at most besides the body of its answer: a head of
/// 64 KiB, windows of HTTP/2 of 128 KiB, a TLS record each way, its tasks, and four origins that
/// wait behind it. 5,000 slow answers at once took 120 KiB each (docs/benchmarks.md).
pub const REQUEST_BYTES: usize = 256 * 1024;

const ORIGINS_AT_ONCE: usize = 8_192;

/// What origins take that are begun and wait, at 16 KiB each (13 were measured).
pub const WAITING_BYTES: usize = ORIGINS_AT_ONCE * 16 * 1024;

/// Whether robots.txt is read and obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RobotsPolicy {
    /// Before an origin's first icon (RFC 9309).
    Obey,
    /// Never read; for comparisons with programs that ignore it.
    Off,
}

/// Every bound of the fetcher. What is absent here is not adjustable.
#[derive(Clone, Debug)]
pub struct FetchSettings {
    /// The resolver to ask; without it the machine's own (`/etc/resolv.conf`).
    pub dns: Option<SocketAddr>,
    /// More roots, PEM; only decides what is recorded about a certificate.
    pub ca_file: Option<PathBuf>,
    /// Address ranges that count as public although they are not.
    pub allow_ranges: Vec<IpNet>,
    /// Address ranges that are never dialled although they are public.
    pub deny_ranges: Vec<IpNet>,
    /// URL port to dialled port; the vetted address stays what it is.
    pub dial_ports: BTreeMap<u16, u16>,
    /// Requests on the wire at once, over all shards.
    pub in_flight: usize,
    /// Origins begun at once, on the wire or waiting for names and for their turn; four for each
    /// request in flight if that is more. Room for those of several shards that wait for one
    /// address, and a bound where names or the processor are slow.
    pub origins_at_once: usize,
    /// Requests at once to one hostname.
    pub per_host: usize,
    /// Requests at once to one address, for the whole fleet.
    pub per_address: usize,
    /// The same to an address that a CDN publishes as its own.
    pub per_cdn_address: usize,
    /// Names the robot, and where to read about it.
    pub user_agent: String,
    /// One question to the resolver; asked twice at most.
    pub dns_timeout: Duration,
    /// TCP over all addresses, and TLS.
    pub connect_timeout: Duration,
    /// From the request to the head of the answer.
    pub first_byte_timeout: Duration,
    /// Connections, redirects and body; waiting our turn and the resolver are not in it.
    pub total_timeout: Duration,
    /// Of one body, decoded.
    pub max_body_bytes: usize,
    /// Redirects of one icon.
    pub max_redirects: usize,
    /// Whether robots.txt counts.
    pub robots: RobotsPolicy,
    /// Of all bodies in memory together.
    pub body_budget_bytes: usize,
    /// The longest `Retry-After` that is waited for.
    pub retry_after_max: Duration,
    /// A name that any living resolver answers in some way; asked when it may be dead.
    pub canary_name: String,
    /// Whether answers of names and dead endpoints are remembered: saves requests, nothing else.
    pub remembers: bool,
    /// Origins that the circuit breaker looks back on (`in_flight` if that is more), and how many
    /// it needs to judge.
    pub breaker_window: usize,
    /// See `breaker_window`.
    pub breaker_minimum: usize,
}

impl Default for FetchSettings {
    fn default() -> FetchSettings {
        FetchSettings {
            dns: None,
            ca_file: None,
            allow_ranges: Vec::new(),
            deny_ranges: Vec::new(),
            dial_ports: BTreeMap::new(),
            in_flight: 512,
            origins_at_once: ORIGINS_AT_ONCE,
            per_host: 2,
            per_address: 64,
            per_cdn_address: 256,
            user_agent: "EveryTabBot/1.0 (+https://everytab.example/bot.html)".to_owned(),
            dns_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(5),
            first_byte_timeout: Duration::from_secs(5),
            total_timeout: Duration::from_secs(10),
            max_body_bytes: 512 * 1024,
            max_redirects: 5,
            robots: RobotsPolicy::Obey,
            body_budget_bytes: 256 * 1024 * 1024,
            retry_after_max: Duration::from_secs(60),
            canary_name: "example.com".to_owned(),
            remembers: true,
            breaker_window: 256,
            breaker_minimum: 128,
        }
    }
}
