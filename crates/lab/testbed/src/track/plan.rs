//! A track's plan: every host's and URL's behaviour. The number of hosts per address follows Zipf's
//! law, as on the web. If an address is dead, all its hosts are dead.

use std::{collections::BTreeMap, net::Ipv4Addr, time::Duration};

use crate::{address::DROPPED_OCTET, dice::Dice};

pub(crate) const DOMAIN: &str = "icons.test";
/// Every track has this seed, so that measurements on different days are comparable.
const SEED: u64 = 5;
/// Number of addresses that are never dead, because they have the most hosts.
const ALWAYS_ALIVE: usize = 20;

/// A kind of measurement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scenario {
    /// Plain HTTP, all responses immediately.
    Plain,
    /// HTTPS, all responses immediately.
    Tls,
    /// HTTPS with latencies and faults as on the web.
    Mix,
    /// HTTPS. Every response is half a megabyte, sent over eight seconds.
    Slow,
}

impl Scenario {
    /// Parses a scenario's name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "plain" => Some(Self::Plain),
            "tls" => Some(Self::Tls),
            "mix" => Some(Self::Mix),
            "slow" => Some(Self::Slow),
            _ => None,
        }
    }

    fn scheme(self) -> &'static str {
        if self == Self::Plain { "http" } else { "https" }
    }
}

/// A host's behaviour in a track.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum HostKind {
    /// The icon, after its URL's latency.
    Fine,
    /// 404, immediately.
    NotFound,
    /// The name does not exist.
    NoSuchName,
    /// An HTML page instead of the icon, immediately.
    Html,
    /// The host's address drops connection requests.
    Dead,
    /// The request gets no response.
    Silent,
    /// The host sends half of the icon, and nothing more.
    Stalls,
    /// The handshake ends in an alert.
    TlsAlert,
}

impl HostKind {
    /// Returns this kind's name in counts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::NotFound => "not_found",
            Self::NoSuchName => "no_such_name",
            Self::Html => "html",
            Self::Dead => "dead",
            Self::Silent => "silent",
            Self::Stalls => "stalls",
            Self::TlsAlert => "tls_alert",
        }
    }
}

/// A track's size.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TrackSize {
    /// Number of hostnames.
    pub hosts: usize,
    /// Number of icon URLs, at least one per host.
    pub urls: usize,
    /// Number of addresses that the hosts share.
    pub addresses: usize,
}

struct Host {
    address: Ipv4Addr,
    kind: HostKind,
}

/// A track's hosts and URLs.
pub struct TrackPlan {
    /// The kind of measurement.
    pub scenario: Scenario,
    size: TrackSize,
    hosts: Vec<Host>,
}

/// The totals for a client that requests every URL once.
#[derive(Debug, Default)]
pub struct ExpectedTotals {
    /// Number of URLs by their host's kind.
    pub urls: BTreeMap<&'static str, usize>,
    /// Number of hosts by kind.
    pub hosts: BTreeMap<&'static str, usize>,
    /// Number of addresses that drop connection requests and have at least one host.
    pub dead_addresses: usize,
    /// Number of `dead_addresses` with only one host.
    pub dead_addresses_of_one_host: usize,
    /// The sum of all good responses' latencies.
    pub latency_seconds: f64,
    /// The minimum total time for all requests with the fetcher's deadlines, for a client that
    /// skips a dead address after two hosts and a failing origin after its first URL.
    pub least_slot_seconds: f64,
    /// The total time for a client that remembers nothing and waits for the total deadline for each
    /// silent URL.
    pub forgetful_slot_seconds: f64,
}

/// The fetcher's deadline for TCP and TLS together.
const CONNECT_SECONDS: f64 = 5.0;
const FIRST_BYTE_SECONDS: f64 = 5.0;
const TOTAL_SECONDS: f64 = 10.0;

impl TrackPlan {
    /// Chooses every host's address and kind.
    #[must_use]
    pub fn new(scenario: Scenario, size: TrackSize) -> Self {
        let address_of = addresses_by_zipf(size);
        let dead = match scenario {
            Scenario::Mix => dead_addresses(&address_of, size, 120),
            _ => vec![false; size.addresses],
        };
        let hosts = address_of.iter().enumerate().map(|(number, rank)| {
            let is_dead = dead[*rank];
            let kind = match scenario {
                Scenario::Mix if is_dead => HostKind::Dead,
                Scenario::Mix => living_kind(number),
                _ => HostKind::Fine,
            };
            Host { address: address(*rank, is_dead), kind }
        });
        let hosts = hosts.collect();
        Self { scenario, size, hosts }
    }

    /// Returns every URL once, in a fixed shuffled order.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        let mut urls = Vec::with_capacity(self.size.urls);
        for host in 0..self.size.hosts {
            for icon in 0..self.icons_of(host) {
                urls.push((host, icon));
            }
        }
        let mut dice = Dice::new(SEED, &["order"]);
        for last in (1..urls.len()).rev() {
            urls.swap(last, dice.below(last as u64 + 1) as usize);
        }
        let url = |(host, icon): (usize, usize)| {
            let path = if icon == 0 { "favicon.ico".into() } else { format!("icon-{icon}.png") };
            format!("{}://h{host}.{DOMAIN}/{path}", self.scenario.scheme())
        };
        urls.into_iter().map(url).collect()
    }

    /// Returns the totals that a client of this track can expect.
    #[must_use]
    pub fn expected(&self) -> ExpectedTotals {
        let mut expected = ExpectedTotals::default();
        let mut of_dead_address: BTreeMap<Ipv4Addr, usize> = BTreeMap::new();
        for (number, host) in self.hosts.iter().enumerate() {
            let icons = self.icons_of(number);
            *expected.urls.entry(host.kind.as_str()).or_default() += icons;
            *expected.hosts.entry(host.kind.as_str()).or_default() += 1;
            if host.kind == HostKind::Fine {
                let latency = (0..icons).map(|icon| self.latency(number, icon).as_secs_f64());
                expected.latency_seconds += latency.sum::<f64>();
            }
            let (first, each) = match host.kind {
                HostKind::Dead => {
                    let hosts = of_dead_address.entry(host.address).or_default();
                    *hosts += 1;
                    (if *hosts <= 2 { CONNECT_SECONDS } else { 0.0 }, CONNECT_SECONDS)
                }
                HostKind::Silent => (FIRST_BYTE_SECONDS, TOTAL_SECONDS),
                HostKind::Stalls => (TOTAL_SECONDS, TOTAL_SECONDS),
                _ => (0.0, 0.0),
            };
            expected.least_slot_seconds += first;
            expected.forgetful_slot_seconds += icons as f64 * each;
        }
        expected.least_slot_seconds += expected.latency_seconds;
        expected.forgetful_slot_seconds += expected.latency_seconds;
        expected.dead_addresses = of_dead_address.len();
        expected.dead_addresses_of_one_host = of_dead_address.values().filter(|n| **n == 1).count();
        expected
    }

    pub(crate) fn kind(&self, host: usize) -> Option<HostKind> {
        self.hosts.get(host).map(|host| host.kind)
    }

    pub(crate) fn address(&self, host: usize) -> Option<Ipv4Addr> {
        self.hosts.get(host).map(|host| host.address)
    }

    pub(crate) fn latency(&self, host: usize, icon: usize) -> Duration {
        if self.scenario != Scenario::Mix {
            return Duration::ZERO;
        }
        let number = (host * 64 + icon) as u64;
        Duration::from_millis(Dice::numbered(SEED, "latency", number).between(200, 600))
    }

    fn icons_of(&self, host: usize) -> usize {
        let (hosts, urls) = (self.size.hosts.max(1), self.size.urls);
        let spread = [-3_i64, -1, 1, 3][host % 4];
        let fair = (urls * (host + 1) / hosts).saturating_sub(urls * host / hosts) as i64;
        let mean_is_two_and_a_half = urls * 2 == hosts * 5;
        if mean_is_two_and_a_half { ((5 + spread) / 2) as usize } else { fair.max(1) as usize }
    }
}

pub(crate) fn host_number(name: &str) -> Option<usize> {
    name.strip_prefix('h')?.strip_suffix(DOMAIN)?.strip_suffix('.')?.parse().ok()
}

/// The address with rank n has a share of hosts proportional to 1 / (n + 1).
fn addresses_by_zipf(size: TrackSize) -> Vec<usize> {
    let mut sums = Vec::with_capacity(size.addresses);
    let mut sum = 0.0;
    for rank in 0..size.addresses.max(1) {
        sum += 1.0 / (rank + 1) as f64;
        sums.push(sum);
    }
    let rank_of = |number: usize| {
        let random = Dice::numbered(SEED, "address", number as u64).next();
        let drawn = random as f64 / u64::MAX as f64 * sum;
        sums.partition_point(|sum| *sum < drawn).min(size.addresses.saturating_sub(1))
    };
    (0..size.hosts).map(rank_of).collect()
}

fn dead_addresses(address_of: &[usize], size: TrackSize, permille: usize) -> Vec<bool> {
    let mut hosts_at = vec![0_usize; size.addresses];
    for rank in address_of {
        hosts_at[*rank] += 1;
    }
    let mut order: Vec<usize> = (ALWAYS_ALIVE.min(size.addresses)..size.addresses).collect();
    order.sort_by_key(|rank| Dice::numbered(SEED, "dead", *rank as u64).next());
    let mut dead = vec![false; size.addresses];
    let mut left = size.hosts * permille / 1_000;
    for rank in order {
        if hosts_at[rank] <= left {
            left -= hosts_at[rank];
            dead[rank] = true;
        }
    }
    dead
}

/// These hosts are 88 %: 70 % are fine, 10 % fail quickly, 5 % never finish, and 3 % have no TLS.
fn living_kind(number: usize) -> HostKind {
    let shares = [
        (HostKind::Fine, 700),
        (HostKind::NotFound, 60),
        (HostKind::NoSuchName, 30),
        (HostKind::Html, 10),
        (HostKind::Silent, 25),
        (HostKind::Stalls, 25),
        (HostKind::TlsAlert, 30),
    ];
    Dice::numbered(SEED, "kind", number as u64).weighted(&shares)
}

fn address(rank: usize, is_dead: bool) -> Ipv4Addr {
    let (high, low) = ((rank / 250) as u8, (rank % 250 + 1) as u8);
    Ipv4Addr::new(127, if is_dead { DROPPED_OCTET } else { 1 }, high, low)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const SIZE: TrackSize = TrackSize { hosts: 8_000, urls: 20_000, addresses: 1_000 };

    #[test]
    fn a_mix_has_the_shares_that_it_names() {
        let plan = TrackPlan::new(Scenario::Mix, SIZE);
        let expected = plan.expected();
        let share = |kinds: &[HostKind]| {
            let urls = kinds.iter().filter_map(|kind| expected.urls.get(kind.as_str()));
            urls.sum::<usize>() as f64 / SIZE.urls as f64
        };
        for (kinds, wanted) in [
            (&[HostKind::Fine][..], 0.70),
            (&[HostKind::NotFound, HostKind::NoSuchName, HostKind::Html][..], 0.10),
            (&[HostKind::Dead][..], 0.12),
            (&[HostKind::Silent, HostKind::Stalls][..], 0.05),
            (&[HostKind::TlsAlert][..], 0.03),
        ] {
            assert!((share(kinds) - wanted).abs() < 0.015, "{kinds:?}: {}", share(kinds));
        }
        let mean = expected.latency_seconds / expected.urls["fine"] as f64;
        assert!((0.39..0.41).contains(&mean), "{mean}");
    }

    #[test]
    fn every_url_is_there_once_and_names_a_host_of_the_plan() {
        let plan = TrackPlan::new(Scenario::Plain, SIZE);
        let urls = plan.urls();
        assert_eq!(urls.iter().collect::<HashSet<_>>().len(), SIZE.urls);
        for url in urls {
            let host = url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
            let number = host.and_then(host_number).expect("a host of the plan");
            assert!(plan.kind(number).is_some());
        }
        assert_eq!(host_number("h12.example"), None);
    }

    #[test]
    fn an_address_is_dead_for_all_its_hosts_or_for_none() {
        let plan = TrackPlan::new(Scenario::Mix, SIZE);
        for host in 0..SIZE.hosts {
            let is_dead = plan.kind(host) == Some(HostKind::Dead);
            let octets = plan.address(host).expect("a host").octets();
            assert_eq!(octets[1] == DROPPED_OCTET, is_dead);
        }
    }
}
