//! The settings for a site graph. Shares are in thousandths.

use super::traps::Trap;
use crate::{behaviour::Behaviour, error::TestbedError};

/// How pages are distributed over the hosts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PageSpread {
    /// Every host has the same number, except for the remainder.
    Equal,
    /// Every page count from 1 to twice the mean is equally likely. The total is close to the
    /// requested number.
    Uniform,
    /// By Zipf's law, the n-th host has 1/n of the first host's pages, but at least one. The total
    /// is close to the requested number.
    Zipf,
}

/// All settings for a site graph, except the seed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GraphSettings {
    /// Number of hosts, at least the number of sites.
    pub hosts: u64,
    /// Number of sites, at least 1. The first sites have one host, and the last sites have the most
    /// hosts.
    pub sites: u64,
    /// Total number of pages, at least the number of hosts.
    pub pages: u64,
    /// How pages are distributed over the hosts.
    pub spread: PageSpread,
    /// Links per page, at least 1. If this is below 16, a home page may have up to 8 more, because
    /// it links to up to 8 other hosts.
    pub links: u64,
    /// Mean page size in bytes. A page has 0.5 to 1.5 times this size, but is never smaller than
    /// its links.
    pub page_bytes: u64,
    /// The sites' public suffixes. A crawler recognizes these sites only if its suffix list
    /// contains the suffixes. Two of the default ones are in the private section of the Public
    /// Suffix List.
    pub suffixes: Vec<String>,
    /// Share of hosts with https. The others have http. Links always use the target host's scheme.
    pub https: u32,
    /// Share of dead hosts, among hosts that have no other host below them in the tree.
    pub dead: u32,
    /// How hosts can be dead, from [`GraphSettings::DEATHS`].
    pub dead_as: Vec<Behaviour>,
    /// Share of slow hosts. The others add no delay.
    pub slow: u32,
    /// Minimum and maximum delay that a slow host adds to a response, in milliseconds.
    pub slow_ms: (u64, u64),
    /// Share of hosts whose robots.txt has a Crawl-delay.
    pub crawl_delay: u32,
    /// Minimum and maximum Crawl-delay, in milliseconds.
    pub crawl_delay_ms: (u64, u64),
    /// Share of hosts without robots.txt. They allow everything.
    pub no_robots: u32,
    /// Share of hosts with sitemaps. The sitemaps also list hidden pages.
    pub sitemaps: u32,
    /// Share of leaf pages that redirect to a page on their host. A page is a leaf if it has no
    /// children in its host's tree.
    pub redirect: u32,
    /// Share of leaf pages that redirect to a page on a random host.
    pub redirect_away: u32,
    /// Share of leaf pages that are 404.
    pub not_found: u32,
    /// Share of leaf pages that respond with 503 to a day's first request.
    pub unavailable: u32,
    /// Share of leaf pages that robots.txt disallows.
    pub forbidden: u32,
    /// Share of leaf pages whose meta element tells crawlers not to follow their links.
    pub nofollow: u32,
    /// Share of leaf pages to which all links have `rel=nofollow`.
    pub hidden: u32,
    /// Share of leaf pages that are media: half are images on their parent page, a quarter are
    /// linked images, and a quarter are PDF files.
    pub media: u32,
    /// Share of PDF files that are identical to other PDF files on their site.
    pub copies: u32,
    /// Share of leaf pages that forbid keeping a copy: half by a header, half by a meta element.
    pub noarchive: u32,
    /// Share of leaf pages behind a cookie wall.
    pub walled: u32,
    /// Share of links with another spelling but the same normalized key.
    pub variants: u32,
    /// Share of pages whose content depends on the day.
    pub changing: u32,
    /// This world's traps.
    pub traps: Vec<Trap>,
    /// Share of hosts with a trap. The host's number selects one of `traps`.
    pub trap_hosts: u32,
}

impl Default for GraphSettings {
    fn default() -> Self {
        let suffixes = ["com", "co.uk", "org", "github.io", "de", "netlify.app"];
        Self {
            hosts: 20,
            sites: 12,
            pages: 1_000,
            spread: PageSpread::Uniform,
            links: 20,
            page_bytes: 3_000,
            suffixes: suffixes.map(str::to_owned).to_vec(),
            https: 500,
            dead: 0,
            dead_as: vec![Behaviour::DnsNxdomain],
            slow: 0,
            slow_ms: (20, 5_000),
            crawl_delay: 0,
            crawl_delay_ms: (1_000, 60_000),
            no_robots: 200,
            sitemaps: 0,
            redirect: 40,
            redirect_away: 20,
            not_found: 40,
            unavailable: 20,
            forbidden: 30,
            nofollow: 20,
            hidden: 20,
            media: 60,
            copies: 0,
            noarchive: 0,
            walled: 0,
            variants: 100,
            changing: 100,
            traps: Vec::new(),
            trap_hosts: 0,
        }
    }
}

impl GraphSettings {
    /// The ways in which a host in a graph can be dead.
    pub const DEATHS: [Behaviour; 5] = [
        Behaviour::DnsNxdomain,
        Behaviour::DnsServfail,
        Behaviour::ConnectTimeout,
        Behaviour::NeverAnswers,
        Behaviour::Reset,
    ];

    /// Returns a world whose pages are all fine.
    #[must_use]
    pub fn plain(hosts: u64, sites: u64, pages: u64) -> Self {
        Self {
            hosts,
            sites,
            pages,
            redirect: 0,
            redirect_away: 0,
            not_found: 0,
            unavailable: 0,
            forbidden: 0,
            nofollow: 0,
            hidden: 0,
            media: 0,
            noarchive: 0,
            variants: 0,
            changing: 0,
            ..Self::default()
        }
    }

    pub(super) fn leaf_shares(&self) -> [u32; 10] {
        [
            self.redirect,
            self.redirect_away,
            self.not_found,
            self.unavailable,
            self.forbidden,
            self.nofollow,
            self.hidden,
            self.media,
            self.noarchive,
            self.walled,
        ]
    }

    pub(super) fn check(&self) -> Result<(), TestbedError> {
        let of_hosts = [self.https, self.dead, self.slow, self.crawl_delay, self.no_robots];
        let of_others = [self.variants, self.changing, self.trap_hosts, self.sitemaps, self.copies];
        let shares = of_hosts.into_iter().chain(of_others);
        let is_suffix = |suffix: &String| {
            let is_letter = |byte: u8| byte.is_ascii_lowercase() || b".-".contains(&byte);
            !suffix.is_empty() && !suffix.starts_with('.') && suffix.bytes().all(is_letter)
        };
        let wrong = [
            (self.sites == 0 || self.hosts < self.sites, "no site, or fewer hosts than sites"),
            (self.pages < self.hosts, "fewer pages than hosts"),
            (self.pages > MAX_PAGES, "too many pages"),
            (self.links == 0 || self.links > MAX_LINKS, "links per page must be 1 to 4,000"),
            (self.page_bytes > MAX_PAGE_BYTES, "pages of more than 16 MiB"),
            (!self.suffixes.iter().all(is_suffix), "a suffix is not a name in lower case"),
            (self.suffixes.is_empty(), "no suffix"),
            (shares.into_iter().any(|share| share > 1_000), "a share of more than 1,000"),
            (
                self.leaf_shares().iter().sum::<u32>() > 1_000,
                "the shares of leaf pages sum to more than 1,000",
            ),
            (
                !self.dead_as.iter().all(|as_| Self::DEATHS.contains(as_)),
                "a behaviour that is not in DEATHS",
            ),
            (self.dead > 0 && self.dead_as.is_empty(), "dead hosts, but `dead_as` is empty"),
            (self.trap_hosts > 0 && self.traps.is_empty(), "hosts with traps, but no trap"),
            (self.slow_ms.0 > self.slow_ms.1, "the minimum response time exceeds the maximum"),
            (
                self.crawl_delay_ms.0 > self.crawl_delay_ms.1,
                "the minimum Crawl-delay exceeds the maximum",
            ),
        ];
        match wrong.iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, why)) => Err(TestbedError::Settings(format!("invalid site graph: {why}"))),
            None => Ok(()),
        }
    }
}

const MAX_PAGES: u64 = 1 << 40;
/// Maximum links per page. EveryTab's crawler reads at most 5,000 links, and a home page with a
/// trap has a few more than this setting.
const MAX_LINKS: u64 = 4_000;
const MAX_PAGE_BYTES: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_make_no_world_are_refused() {
        assert!(GraphSettings::default().check().is_ok());
        let good = GraphSettings::default;
        for wrong in [
            GraphSettings { sites: 0, ..good() },
            GraphSettings { hosts: 11, ..good() },
            GraphSettings { pages: 19, ..good() },
            GraphSettings { links: 0, ..good() },
            GraphSettings { media: 900, ..good() },
            GraphSettings { https: 1_001, ..good() },
            GraphSettings { sitemaps: 1_001, ..good() },
            GraphSettings { suffixes: vec!["Com".to_owned()], ..good() },
            GraphSettings { dead_as: vec![Behaviour::Gone], ..good() },
            GraphSettings { trap_hosts: 1, ..good() },
            GraphSettings { slow_ms: (2, 1), ..good() },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
