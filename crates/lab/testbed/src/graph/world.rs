//! The world: each host's and page's kind, as functions of numbers.

use std::time::Duration;

use super::{
    names::{NamedHost, Names},
    settings::{GraphSettings, PageSpread},
    traps::Trap,
};
use crate::{behaviour::Behaviour, dice::Dice, error::TestbedError};

/// Maximum children per host in its site's tree, and per site in the tree of sites. Home pages link
/// to these children.
pub(super) const CHILDREN_OF_A_HOME: u64 = 4;

const SIZE_DRAW: u64 = 10;
const KIND_DRAW: u64 = 11;
const HTTPS_DRAW: u64 = 12;
const DEAD_DRAW: u64 = 13;
const SLOW_DRAW: u64 = 14;
const DELAY_DRAW: u64 = 15;
const ROBOTS_DRAW: u64 = 16;
const TRAP_DRAW: u64 = 17;
const CHANGE_DRAW: u64 = 18;
const COPY_DRAW: u64 = 19;

/// A page in a world, given by its host's number and its number on this host. Page 0 is the home
/// page.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GraphPage {
    /// The host's number, from 0.
    pub host: u64,
    /// The page's number on its host, from 0.
    pub page: u64,
}

/// A page's kind.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum PageKind {
    /// A page with links.
    Plain,
    /// A redirect to a plain page on its host.
    Redirect,
    /// A redirect to a plain page on a random host.
    RedirectAway,
    /// 404.
    NotFound,
    /// A page that responds with 503 to a day's first request.
    Unavailable,
    /// A page that robots.txt disallows.
    Forbidden,
    /// A page whose meta element forbids following its links.
    Nofollow,
    /// A page to which all links have `rel=nofollow`.
    Hidden,
    /// An image on the parent page.
    Image,
    /// An image that pages link to.
    LinkedImage,
    /// A PDF file.
    Document,
    /// A page whose meta element forbids keeping a copy.
    NoarchiveMeta,
    /// A page whose headers forbid keeping a copy.
    NoarchiveHeader,
    /// A page behind a cookie wall.
    Walled,
}

/// A site graph: its settings, and functions that derive everything else.
#[derive(Clone, Debug)]
pub struct SiteGraph {
    pub(super) seed: u64,
    pub(super) settings: GraphSettings,
    names: Names,
    /// The sum of 1/n over all hosts, for Zipf's law.
    harmonic: f64,
}

impl SiteGraph {
    /// Creates a world.
    ///
    /// # Errors
    /// Returns an error if the settings are invalid.
    pub fn new(seed: u64, settings: GraphSettings) -> Result<Self, TestbedError> {
        settings.check()?;
        let GraphSettings { hosts, sites, ref suffixes, .. } = settings;
        let names = Names::new(seed, hosts, sites, suffixes.clone());
        let harmonic = match settings.spread {
            PageSpread::Zipf => (1..=hosts).map(|rank| 1.0 / rank as f64).sum(),
            _ => 1.0,
        };
        Ok(Self { seed, settings, names, harmonic })
    }

    /// Returns this world's settings.
    #[must_use]
    pub fn settings(&self) -> &GraphSettings {
        &self.settings
    }

    /// Returns this world's host count, without link farms.
    #[must_use]
    pub fn hosts(&self) -> u64 {
        self.settings.hosts
    }

    /// Returns this world's site count.
    #[must_use]
    pub fn sites(&self) -> u64 {
        self.settings.sites
    }

    /// Returns a host's name.
    #[must_use]
    pub fn host_name(&self, host: u64) -> String {
        self.names.host_name(host)
    }

    /// Returns the number of the host with this name, in lower case and without a trailing dot.
    /// `None` for hosts in link farms.
    #[must_use]
    pub fn host_of_name(&self, name: &str) -> Option<u64> {
        self.named(name).filter(|named| named.farm.is_none()).map(|named| named.host)
    }

    pub(crate) fn named(&self, name: &str) -> Option<NamedHost> {
        let has_farm = |named: &NamedHost| self.trap(named.host) == Some(Trap::LinkFarm);
        self.names.find(name).filter(|named| named.farm.is_none() || has_farm(named))
    }

    /// Returns the number of a host's site.
    #[must_use]
    pub fn site_of(&self, host: u64) -> u64 {
        self.names.site_of(host)
    }

    /// Returns a site's name.
    #[must_use]
    pub fn site_name(&self, site: u64) -> String {
        self.names.site_name(site)
    }

    /// Returns a site's first host. For the site after the last one, returns the number of hosts.
    #[must_use]
    pub fn first_host(&self, site: u64) -> u64 {
        self.names.first_host(site)
    }

    /// Returns a host's home page. With the scope `any`, every page can be reached from host 0's
    /// home page, except hidden pages and pages on dead or closed hosts.
    #[must_use]
    pub fn home(&self, host: u64) -> GraphPage {
        GraphPage { host, page: 0 }
    }

    /// Returns the number of pages on a host, at least 1.
    #[must_use]
    pub fn pages_of(&self, host: u64) -> u64 {
        let GraphSettings { hosts, pages, spread, .. } = self.settings;
        let mean = pages / hosts;
        match spread {
            PageSpread::Equal => mean + u64::from(host < pages % hosts),
            PageSpread::Uniform => 1 + self.host_dice(SIZE_DRAW, host).below(2 * mean - 1),
            PageSpread::Zipf => {
                let share = pages as f64 / self.harmonic / (host + 1) as f64;
                (share as u64).max(1)
            }
        }
    }

    /// Returns this world's total page count.
    #[must_use]
    pub fn pages(&self) -> u64 {
        (0..self.hosts()).map(|host| self.pages_of(host)).sum()
    }

    pub(super) fn children(&self, page: GraphPage) -> std::ops::Range<u64> {
        let width = self.tree_width();
        let first = page.page.saturating_mul(width).saturating_add(1);
        let pages = self.pages_of(page.host);
        first.min(pages)..first.saturating_add(width).min(pages)
    }

    /// The parent is a plain page. The home page is its own parent.
    pub(super) fn parent(&self, page: GraphPage) -> GraphPage {
        GraphPage { page: page.page.saturating_sub(1) / self.tree_width(), ..page }
    }

    fn tree_width(&self) -> u64 {
        self.settings.links.div_ceil(2)
    }

    /// Returns a page's kind.
    #[must_use]
    pub fn kind(&self, page: GraphPage) -> PageKind {
        if page.page == 0 || !self.children(page).is_empty() {
            return PageKind::Plain;
        }
        let mut dice = Dice::of_numbers([self.seed, KIND_DRAW, page.host, page.page]);
        let mut drawn = dice.below(1_000) as u32;
        let kinds = [
            PageKind::Redirect,
            PageKind::RedirectAway,
            PageKind::NotFound,
            PageKind::Unavailable,
            PageKind::Forbidden,
            PageKind::Nofollow,
            PageKind::Hidden,
            [PageKind::Image, PageKind::Image, PageKind::LinkedImage, PageKind::Document]
                [dice.below(4) as usize],
            [PageKind::NoarchiveMeta, PageKind::NoarchiveHeader][dice.below(2) as usize],
            PageKind::Walled,
        ];
        for (kind, share) in kinds.into_iter().zip(self.settings.leaf_shares()) {
            match drawn.checked_sub(share) {
                Some(rest) => drawn = rest,
                None if kind == PageKind::Forbidden && !self.has_robots(page.host) => {
                    return PageKind::Plain;
                }
                None => return kind,
            }
        }
        PageKind::Plain
    }

    /// Returns true if a page's content depends on the day.
    #[must_use]
    pub fn changes(&self, page: GraphPage) -> bool {
        let mut dice = Dice::of_numbers([self.seed, CHANGE_DRAW, page.host, page.page]);
        dice.permille(u64::from(self.settings.changing))
    }

    /// Returns true if a page is a PDF file that is identical to others on its site.
    #[must_use]
    pub fn is_copy(&self, page: GraphPage) -> bool {
        let mut dice = Dice::of_numbers([self.seed, COPY_DRAW, page.host, page.page]);
        self.kind(page) == PageKind::Document && dice.permille(u64::from(self.settings.copies))
    }

    /// Returns true if a host has https, and false if it has http.
    #[must_use]
    pub fn has_https(&self, host: u64) -> bool {
        self.host_has(HTTPS_DRAW, host, self.settings.https)
    }

    /// Returns false if a host's robots.txt is missing or an HTML page.
    #[must_use]
    pub fn has_robots(&self, host: u64) -> bool {
        match self.trap(host) {
            Some(Trap::RobotsHtml) => false,
            Some(Trap::RobotsHuge | Trap::RobotsUnavailable | Trap::RobotsDelay) => true,
            // This robots.txt names the trap's sitemaps, so it must exist.
            Some(trap) if trap.is_of_sitemaps() => true,
            _ => {
                !self.host_has(ROBOTS_DRAW, host, self.settings.no_robots)
                    || self.crawl_delay(host).is_some()
            }
        }
    }

    /// Returns a host's behaviour: fine, or one of [`GraphSettings::DEATHS`].
    #[must_use]
    pub fn host_behaviour(&self, host: u64) -> Behaviour {
        if self.is_leaf(host) && self.host_has(DEAD_DRAW, host, self.settings.dead) {
            self.host_dice(DEAD_DRAW + 100, host).pick(&self.settings.dead_as)
        } else {
            Behaviour::Fine
        }
    }

    /// Returns a host's trap, if it has one.
    #[must_use]
    pub fn trap(&self, host: u64) -> Option<Trap> {
        if !self.host_has(TRAP_DRAW, host, self.settings.trap_hosts) {
            return None;
        }
        let number = host % (self.settings.traps.len() as u64).max(1);
        let trap = *self.settings.traps.get(number as usize)?;
        let is_lost = trap.closes_host() && !self.is_leaf(host);
        (!is_lost && self.host_behaviour(host) == Behaviour::Fine).then_some(trap)
    }

    /// Returns the Crawl-delay in a host's robots.txt, if there is one.
    #[must_use]
    pub fn crawl_delay(&self, host: u64) -> Option<Duration> {
        let (least, most) = self.settings.crawl_delay_ms;
        let is_other = matches!(self.trap(host), Some(Trap::RobotsHtml)) || self.closes(host);
        let has_delay = !is_other && self.host_has(DELAY_DRAW, host, self.settings.crawl_delay);
        let millis = || self.host_dice(DELAY_DRAW + 100, host).between(least, most);
        has_delay.then(|| Duration::from_millis(millis()))
    }

    fn closes(&self, host: u64) -> bool {
        self.trap(host).is_some_and(Trap::closes_host)
    }

    /// Returns the mean delay that a slow host adds to its responses. This is zero for all other
    /// hosts.
    #[must_use]
    pub fn response_time(&self, host: u64) -> Duration {
        if !self.host_has(SLOW_DRAW, host, self.settings.slow) {
            return Duration::ZERO;
        }
        let (least, most) = self.settings.slow_ms;
        let mut dice = self.host_dice(SLOW_DRAW + 100, host);
        let halves = (most / least.max(1)).max(1).ilog2();
        let top = most >> dice.below(u64::from(halves) + 1);
        Duration::from_millis(dice.between((top / 2).max(least), top.max(least)))
    }

    fn is_leaf(&self, host: u64) -> bool {
        let site = self.site_of(host);
        let first = self.first_host(site);
        let below = |number: u64, count: u64| number * CHILDREN_OF_A_HOME + 1 < count;
        let has_hosts = below(host - first, self.first_host(site + 1) - first);
        let has_sites = host == first && below(site, self.sites());
        host > 0 && !has_hosts && !has_sites
    }

    fn host_has(&self, draw: u64, host: u64, share: u32) -> bool {
        self.host_dice(draw, host).permille(u64::from(share))
    }

    fn host_dice(&self, draw: u64, host: u64) -> Dice {
        Dice::of_numbers([self.seed, draw, host])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(settings: GraphSettings) -> SiteGraph {
        SiteGraph::new(3, settings).unwrap()
    }

    #[test]
    fn pages_are_spread_as_it_is_said() {
        for (spread, low, high) in [
            (PageSpread::Equal, 100_000, 100_000),
            (PageSpread::Uniform, 93_000, 107_000),
            (PageSpread::Zipf, 95_000, 101_000),
        ] {
            let settings = GraphSettings::plain(500, 200, 100_000);
            let graph = graph(GraphSettings { spread, ..settings });
            assert!((low..=high).contains(&graph.pages()), "{spread:?}: {}", graph.pages());
            assert!((0..500).all(|host| graph.pages_of(host) > 0));
        }
    }

    #[test]
    fn only_leaves_are_anything_but_plain_and_shares_are_kept() {
        let graph = graph(GraphSettings { pages: 100_000, ..GraphSettings::default() });
        let (mut leaves, mut not_found) = (0, 0);
        for host in 0..graph.hosts() {
            for page in (0..graph.pages_of(host)).map(|page| GraphPage { host, page }) {
                let kind = graph.kind(page);
                let is_leaf = graph.children(page).is_empty() && page.page > 0;
                assert!(is_leaf || kind == PageKind::Plain);
                let parent = graph.parent(page);
                assert!(page.page == 0 || graph.children(parent).contains(&page.page));
                leaves += u64::from(is_leaf);
                not_found += u64::from(kind == PageKind::NotFound);
            }
        }
        assert!(leaves > 80_000);
        assert!((35..45).contains(&(not_found * 1_000 / leaves)), "{not_found} of {leaves}");
    }

    #[test]
    fn the_first_host_is_never_closed_and_a_dead_one_has_no_trap() {
        let settings = GraphSettings {
            dead: 400,
            trap_hosts: 1_000,
            traps: vec![Trap::RobotsUnavailable, Trap::Calendar],
            ..GraphSettings::plain(1_000, 400, 1_000)
        };
        let graph = graph(settings);
        let mut counts = [0; 3];
        for host in 0..1_000 {
            let is_dead = graph.host_behaviour(host) != Behaviour::Fine;
            let trap = graph.trap(host);
            assert!(!is_dead || (trap.is_none() && host > 0));
            counts[0] += u64::from(is_dead);
            counts[1] += u64::from(trap == Some(Trap::RobotsUnavailable));
            counts[2] += u64::from(trap == Some(Trap::Calendar));
        }
        assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
        assert_ne!(graph.trap(0), Some(Trap::RobotsUnavailable));
    }

    #[test]
    fn response_times_and_delays_are_within_their_bounds() {
        let settings = GraphSettings {
            slow: 1_000,
            crawl_delay: 1_000,
            ..GraphSettings::plain(2_000, 100, 2_000)
        };
        let graph = graph(settings);
        let times: Vec<u128> = (0..2_000).map(|h| graph.response_time(h).as_millis()).collect();
        assert!(times.iter().all(|time| (20..=5_000).contains(time)));
        let fast = times.iter().filter(|time| **time < 100).count();
        assert!((300..1_000).contains(&fast), "{fast}");
        let delays = (0..2_000).filter_map(|host| graph.crawl_delay(host));
        assert!(delays.clone().count() == 2_000);
        assert!(delays.into_iter().all(|delay| (1..=60).contains(&delay.as_secs())));
    }
}
