//! What every host and URL of a track does: numbers from numbers, no state.
//!
//! Hosts live on few addresses, their sizes by Zipf's law, as on the web. What does not connect is
//! a property of the address, for all its hosts; everything else is drawn for each host.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use crate::address::DROPPED_OCTET;
use crate::dice::Dice;

/// The domain under which the hosts are numbered.
pub(crate) const DOMAIN: &str = "icons.test";
const SEED: u64 = 5;
/// The largest addresses never drop connections: one of them would be a tenth of all hosts.
const ALWAYS_ALIVE: usize = 20;

/// What is measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scenario {
    /// Plain HTTP, everything at once.
    Plain,
    /// HTTPS, everything at once.
    Tls,
    /// HTTPS and what the web does to it.
    Mix,
    /// HTTPS, and every answer is half a megabyte that takes eight seconds.
    Slow,
}

impl Scenario {
    /// The scenario of this name.
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

/// How a host treats its requests.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// The icon, after the latency of its URL.
    Fine,
    /// 404 at once.
    NotFound,
    /// The name does not exist.
    NoSuchName,
    /// A page where an icon was asked for, at once.
    Html,
    /// Its address drops connection requests.
    Dead,
    /// Takes the request and never answers.
    Silent,
    /// Half of the icon comes, and no more.
    Stalls,
    /// The handshake ends in an alert.
    TlsAlert,
}

impl Kind {
    /// For counts.
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

/// How much there is of everything.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Size {
    /// Hostnames.
    pub hosts: usize,
    /// Icon URLs, at least one a host.
    pub urls: usize,
    /// Addresses that the hosts live on.
    pub addresses: usize,
}

struct Host {
    address: Ipv4Addr,
    kind: Kind,
}

/// A track's hosts and URLs.
pub struct Plan {
    /// What is measured.
    pub scenario: Scenario,
    size: Size,
    hosts: Vec<Host>,
}

/// What a client that tries every URL once by itself meets.
#[derive(Debug, Default)]
pub struct Expected {
    /// URLs by what they do.
    pub urls: BTreeMap<&'static str, usize>,
    /// Hosts by what they do.
    pub hosts: BTreeMap<&'static str, usize>,
    /// Addresses that drop connection requests and have a host.
    pub dead_addresses: usize,
    /// Of those, addresses with one host only.
    pub dead_addresses_of_one_host: usize,
    /// The time that all good answers take together.
    pub latency_seconds: f64,
    /// What a client with the deadlines of rules.md cannot spend less on: two hosts make an address
    /// dead, the first URL of an origin the origin, and nothing else waits.
    pub least_slot_seconds: f64,
    /// The same where nothing is remembered and a silent server costs the total deadline.
    pub forgetful_slot_seconds: f64,
}

/// Deadlines of rules.md: TCP and TLS, the head of an answer, all of a request.
const CONNECT_SECONDS: f64 = 5.0;
const FIRST_BYTE_SECONDS: f64 = 5.0;
const TOTAL_SECONDS: f64 = 10.0;

impl Plan {
    /// Draws every host.
    #[must_use]
    pub fn new(scenario: Scenario, size: Size) -> Self {
        let address_of = addresses_by_zipf(size);
        let dead = match scenario {
            Scenario::Mix => dead_addresses(&address_of, size, 120),
            _ => vec![false; size.addresses],
        };
        let hosts = address_of.iter().enumerate().map(|(number, rank)| {
            let is_dead = dead[*rank];
            let kind = match scenario {
                Scenario::Mix if is_dead => Kind::Dead,
                Scenario::Mix => living_kind(number),
                _ => Kind::Fine,
            };
            Host { address: address(*rank, is_dead), kind }
        });
        let hosts = hosts.collect();
        Self { scenario, size, hosts }
    }

    /// Every URL once, in an order that is always the same and no host's.
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

    /// Counts what the URLs do.
    #[must_use]
    pub fn expected(&self) -> Expected {
        let mut expected = Expected::default();
        let mut of_dead_address: BTreeMap<Ipv4Addr, usize> = BTreeMap::new();
        for (number, host) in self.hosts.iter().enumerate() {
            let icons = self.icons_of(number);
            *expected.urls.entry(host.kind.as_str()).or_default() += icons;
            *expected.hosts.entry(host.kind.as_str()).or_default() += 1;
            if host.kind == Kind::Fine {
                let latency = (0..icons).map(|icon| self.latency(number, icon).as_secs_f64());
                expected.latency_seconds += latency.sum::<f64>();
            }
            let (first, each) = match host.kind {
                Kind::Dead => {
                    let hosts = of_dead_address.entry(host.address).or_default();
                    *hosts += 1;
                    (if *hosts <= 2 { CONNECT_SECONDS } else { 0.0 }, CONNECT_SECONDS)
                }
                Kind::Silent => (FIRST_BYTE_SECONDS, TOTAL_SECONDS),
                Kind::Stalls => (TOTAL_SECONDS, TOTAL_SECONDS),
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

    pub(crate) fn kind(&self, host: usize) -> Option<Kind> {
        self.hosts.get(host).map(|host| host.kind)
    }

    pub(crate) fn address(&self, host: usize) -> Option<Ipv4Addr> {
        self.hosts.get(host).map(|host| host.address)
    }

    /// The time that the answer to a URL takes: 0.4 s in the median, from half of it to one and a
    /// half.
    pub(crate) fn latency(&self, host: usize, icon: usize) -> Duration {
        if self.scenario != Scenario::Mix {
            return Duration::ZERO;
        }
        let number = (host * 64 + icon) as u64;
        Duration::from_millis(Dice::numbered(SEED, "latency", number).between(200, 600))
    }

    fn icons_of(&self, host: usize) -> usize {
        // 1, 2, 3, 4, 1, 2, ... where the URLs are two and a half a host.
        let (hosts, urls) = (self.size.hosts.max(1), self.size.urls);
        let spread = [-3_i64, -1, 1, 3][host % 4];
        let fair = (urls * (host + 1) / hosts).saturating_sub(urls * host / hosts) as i64;
        let mean_is_two_and_a_half = urls * 2 == hosts * 5;
        if mean_is_two_and_a_half { ((5 + spread) / 2) as usize } else { fair.max(1) as usize }
    }
}

/// The number of a host from its name.
pub(crate) fn host_number(name: &str) -> Option<usize> {
    name.strip_prefix('h')?.strip_suffix(DOMAIN)?.strip_suffix('.')?.parse().ok()
}

/// The rank of each host's address; a rank's share falls with its number.
fn addresses_by_zipf(size: Size) -> Vec<usize> {
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

/// Addresses in drawn order, until so many of a thousand hosts live on them.
fn dead_addresses(address_of: &[usize], size: Size, permille: usize) -> Vec<bool> {
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

/// Of the 88 in a hundred that can be reached: 70 fine, 10 quick failures, 5 that never finish, 3
/// without TLS.
fn living_kind(number: usize) -> Kind {
    let shares = [
        (Kind::Fine, 700),
        (Kind::NotFound, 60),
        (Kind::NoSuchName, 30),
        (Kind::Html, 10),
        (Kind::Silent, 25),
        (Kind::Stalls, 25),
        (Kind::TlsAlert, 30),
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

    const SIZE: Size = Size { hosts: 8_000, urls: 20_000, addresses: 1_000 };

    #[test]
    fn a_mix_has_the_shares_that_it_names() {
        let plan = Plan::new(Scenario::Mix, SIZE);
        let expected = plan.expected();
        let share = |kinds: &[Kind]| {
            let urls = kinds.iter().filter_map(|kind| expected.urls.get(kind.as_str()));
            urls.sum::<usize>() as f64 / SIZE.urls as f64
        };
        for (kinds, wanted) in [
            (&[Kind::Fine][..], 0.70),
            (&[Kind::NotFound, Kind::NoSuchName, Kind::Html][..], 0.10),
            (&[Kind::Dead][..], 0.12),
            (&[Kind::Silent, Kind::Stalls][..], 0.05),
            (&[Kind::TlsAlert][..], 0.03),
        ] {
            // Drawn by origin, and origins differ in size.
            assert!((share(kinds) - wanted).abs() < 0.015, "{kinds:?}: {}", share(kinds));
        }
        let mean = expected.latency_seconds / expected.urls["fine"] as f64;
        assert!((0.39..0.41).contains(&mean), "{mean}");
    }

    #[test]
    fn every_url_is_there_once_and_names_a_host_of_the_plan() {
        let plan = Plan::new(Scenario::Plain, SIZE);
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
        let plan = Plan::new(Scenario::Mix, SIZE);
        for host in 0..SIZE.hosts {
            let is_dead = plan.kind(host) == Some(Kind::Dead);
            let octets = plan.address(host).expect("a host").octets();
            assert_eq!(octets[1] == DROPPED_OCTET, is_dead);
        }
    }
}
