//! The oracle: the records that a crawl of this world must have at its end. It depends neither on
//! the crawler nor on its frontier.
//!
//! * Each known URL has one record, under its normalized key. robots.txt has no record.
//! * A redirect within a host and a redirect from a seed are always in scope, and so are a page's
//!   images.
//! * **Depth** is the minimum number of links from a seed. A crawl may first reach a URL by a
//!   longer path, so if the depth excludes URLs, the result is exact only within one host, and
//!   otherwise an upper bound.
//! * If a host has an address but does not respond, its known URLs are left as
//!   `robots_unreachable`.
//! * A page that forbids copies is refused as `noarchive`, but its links are followed.
//! * **Sitemaps** become known when a page at less than the maximum depth is processed on their
//!   host. Their pages are one level deeper, and must be in the scope of the sitemap's host.
//! * **Budgets** are not modelled. A crawler's budget per site must be at least twice the page
//!   count of the largest site.
//! * **Traps** are excluded, because their URLs are endless.

use std::collections::{HashMap, HashSet, VecDeque};

use sha2::{Digest, Sha256};

use super::{
    links::GraphLinkKind,
    reply::GraphAnswer,
    sitemaps::{GraphSitemap, SitemapFile},
    traps::Trap,
    world::{GraphPage, PageKind, SiteGraph},
};
use crate::behaviour::Behaviour;

/// The links that a crawl follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OracleScope {
    /// No links and no sitemaps. The crawl fetches only the seeds, their redirects' targets and
    /// their images.
    Page,
    /// Links to the page's host.
    Host,
    /// Links to the page's site.
    Site,
    /// Links to the seeds' sites.
    List,
    /// All links.
    Any,
}

impl OracleScope {
    /// Parses a scope's name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "page" => Self::Page,
            "host" => Self::Host,
            "site" => Self::Site,
            "list" => Self::List,
            "any" => Self::Any,
            _ => return None,
        })
    }
}

/// The sitemaps that a crawl reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OracleSitemaps {
    /// No sitemap.
    Off,
    /// The sitemaps that robots.txt names.
    Robots,
    /// The sitemaps that robots.txt names, and `/sitemap.xml` as well.
    Also,
}

/// Settings for a crawl in a closed world without limits.
#[derive(Clone, Debug)]
pub struct ClosedCrawl {
    /// The seeds.
    pub seeds: Vec<GraphPage>,
    /// The links to follow.
    pub scope: OracleScope,
    /// Maximum depth. 0 means that only the seeds are fetched.
    pub depth: u16,
    /// Whether pages' images are kept.
    pub keeps_images: bool,
    /// Whether nofollow is ignored.
    pub ignores_nofollow: bool,
    /// The sitemaps to read.
    pub sitemaps: OracleSitemaps,
    /// The crawl's day.
    pub day: u32,
}

impl ClosedCrawl {
    /// Creates a crawl without media that obeys nofollow and reads the sitemaps that robots.txt
    /// names, at depth 1,000, on day 0.
    #[must_use]
    pub fn new(seeds: Vec<GraphPage>, scope: OracleScope) -> Self {
        let (keeps_images, ignores_nofollow) = (false, false);
        let sitemaps = OracleSitemaps::Robots;
        Self { seeds, scope, depth: 1_000, keeps_images, ignores_nofollow, sitemaps, day: 0 }
    }
}

/// A URL's final state, as in the crawl's totals.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ExpectedEnding {
    /// The URL was fetched and its capture was kept.
    Captured,
    /// The URL was requested without success.
    Failed,
    /// A rule excluded the URL or its response.
    Refused,
    /// The URL was not requested before the crawl ended.
    Left,
}

/// The record that a crawl must have for one URL.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct ExpectedFetch {
    /// The normalized URL.
    pub url: String,
    /// The URL's final state.
    pub ending: ExpectedEnding,
    /// The fetch outcome's name.
    pub outcome: &'static str,
    /// The decoded body's SHA-256. `None` if there is no response with a body.
    pub sha256: Option<[u8; 32]>,
    /// The minimum number of links from a seed to this URL.
    pub depth: u16,
    /// The page. `None` for a sitemap and for the URL that sets a cookie wall's cookie.
    pub page: Option<GraphPage>,
}

#[derive(Clone, Copy)]
struct Reached {
    page: GraphPage,
    depth: u16,
    is_seed: bool,
}

#[derive(Clone, Copy)]
enum Due {
    Page(Reached),
    Sitemap(GraphSitemap, u16),
    Check(GraphPage, u16),
}

/// Iterates over the records that a crawl must have, each URL once, by depth.
pub struct Oracle<'a> {
    graph: &'a SiteGraph,
    crawl: ClosedCrawl,
    seed_sites: HashSet<u64>,
    known: HashMap<u64, Vec<u64>>,
    known_sitemaps: HashSet<GraphSitemap>,
    told: HashSet<u64>,
    due: VecDeque<Due>,
}

impl SiteGraph {
    /// Returns the records that this crawl must have at its end.
    #[must_use]
    pub fn oracle(&self, crawl: ClosedCrawl) -> Oracle<'_> {
        let seed_sites = crawl.seeds.iter().map(|seed| self.site_of(seed.host)).collect();
        let seeds = crawl.seeds.clone();
        let mut oracle = Oracle {
            graph: self,
            crawl,
            seed_sites,
            known: HashMap::new(),
            known_sitemaps: HashSet::new(),
            told: HashSet::new(),
            due: VecDeque::new(),
        };
        for page in seeds {
            oracle.reach(Reached { page, depth: 0, is_seed: true }, false);
        }
        oracle
    }

    /// Returns the trap that contains a normalized URL.
    #[must_use]
    pub fn trap_of_url(&self, url: &str) -> Option<Trap> {
        let (_, rest) = url.split_once("://")?;
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (name, target) = rest.split_at_checked(at)?;
        let named = self.named(name.split(':').next()?)?;
        let trap = self.trap(named.host)?;
        let is_of_it = named.farm.is_some()
            || (!trap.prefix().is_empty() && target.starts_with(trap.prefix()));
        is_of_it.then_some(trap)
    }

    /// Returns the result for every URL on a host. `None` if this depends on the page.
    fn ending_of_host(&self, host: u64) -> Option<(ExpectedEnding, &'static str)> {
        match self.host_behaviour(host) {
            Behaviour::Fine => {}
            Behaviour::DnsNxdomain => return Some((ExpectedEnding::Failed, "dns_nxdomain")),
            Behaviour::DnsServfail => return Some((ExpectedEnding::Failed, "dns_servfail")),
            _ => return Some((ExpectedEnding::Left, "robots_unreachable")),
        }
        match self.trap(host) {
            Some(Trap::RobotsUnavailable) => Some((ExpectedEnding::Left, "robots_unreachable")),
            Some(Trap::RobotsDelay) => Some((ExpectedEnding::Left, "crawl_delay_too_long")),
            _ => None,
        }
    }

    fn ending(&self, page: GraphPage) -> (ExpectedEnding, &'static str) {
        if let Some(ending) = self.ending_of_host(page.host) {
            return ending;
        }
        match self.kind(page) {
            PageKind::Redirect | PageKind::RedirectAway => (ExpectedEnding::Captured, "redirected"),
            PageKind::NotFound => (ExpectedEnding::Failed, "http_404_410"),
            PageKind::Forbidden => (ExpectedEnding::Refused, "robots_disallowed"),
            PageKind::LinkedImage => (ExpectedEnding::Refused, "type_refused"),
            PageKind::NoarchiveMeta | PageKind::NoarchiveHeader => {
                (ExpectedEnding::Refused, "noarchive")
            }
            _ => (ExpectedEnding::Captured, "ok"),
        }
    }
}

impl Oracle<'_> {
    fn reach(&mut self, reached: Reached, is_redirect: bool) {
        let GraphPage { host, page } = reached.page;
        let pages = self.graph.pages_of(host);
        let bits = self.known.entry(host).or_insert_with(|| vec![0; pages.div_ceil(64) as usize]);
        let Some(word) = bits.get_mut((page / 64) as usize) else { return };
        let bit = 1 << (page % 64);
        if *word & bit != 0 {
            return;
        }
        *word |= bit;
        // A redirect's target has the depth of the page that led to it, so it is processed next.
        if is_redirect {
            self.due.push_front(Due::Page(reached));
        } else {
            self.due.push_back(Due::Page(reached));
        }
    }

    fn reach_sitemap(&mut self, sitemap: GraphSitemap, depth: u16) {
        if self.known_sitemaps.insert(sitemap) {
            self.due.push_front(Due::Sitemap(sitemap, depth));
        }
    }

    fn tell_sitemaps(&mut self, from: Reached) {
        let host = from.page.host;
        let is_read = self.crawl.sitemaps != OracleSitemaps::Off
            && self.crawl.scope != OracleScope::Page
            && from.depth < self.crawl.depth;
        if !is_read || self.graph.ending_of_host(host).is_some() || !self.told.insert(host) {
            return;
        }
        if self.crawl.sitemaps == OracleSitemaps::Also {
            let well_known = GraphSitemap { at: host, file: SitemapFile::WellKnown };
            self.reach_sitemap(well_known, from.depth);
        }
        if let Some(sitemap) = self.graph.named_sitemap(host)
            && (sitemap.at == host || self.is_in_scope(host, sitemap.at))
        {
            self.reach_sitemap(sitemap, from.depth);
        }
    }

    fn read_sitemap(&mut self, sitemap: GraphSitemap, depth: u16) -> ExpectedFetch {
        let graph = self.graph;
        let url = self.graph.sitemap_url(sitemap);
        let expected = |(ending, outcome), sha256| ExpectedFetch {
            url,
            ending,
            outcome,
            sha256,
            depth,
            page: None,
        };
        if let Some(ending) = graph.ending_of_host(sitemap.at) {
            return expected(ending, None);
        }
        let sha256 = Some(Sha256::digest(&graph.sitemap(sitemap).body).into());
        if !graph.has_sitemap(sitemap) {
            return expected((ExpectedEnding::Failed, "http_404_410"), sha256);
        }
        for child in graph.sitemaps_in(sitemap) {
            if self.is_in_scope(sitemap.at, child.at) {
                self.reach_sitemap(child, depth);
            }
        }
        for page in graph.pages_in(sitemap) {
            if self.is_in_scope(sitemap.at, page.host) {
                self.reach(Reached { page, depth: depth + 1, is_seed: false }, false);
            }
        }
        let outcome = if graph.sitemap(sitemap).status == 200 { "ok" } else { "redirected" };
        expected((ExpectedEnding::Captured, outcome), sha256)
    }

    fn check(&self, page: GraphPage, depth: u16) -> Option<ExpectedFetch> {
        let url = format!("{}{}", self.graph.origin(page.host), self.graph.check_target(page)?);
        let body = GraphAnswer::redirect(302, String::new()).body;
        Some(ExpectedFetch {
            url,
            ending: ExpectedEnding::Captured,
            outcome: "redirected",
            sha256: Some(Sha256::digest(&body).into()),
            depth,
            page: None,
        })
    }

    fn is_in_scope(&self, from: u64, to: u64) -> bool {
        match self.crawl.scope {
            OracleScope::Page => false,
            OracleScope::Host => from == to,
            OracleScope::Site => self.graph.site_of(from) == self.graph.site_of(to),
            OracleScope::List => self.seed_sites.contains(&self.graph.site_of(to)),
            OracleScope::Any => true,
        }
    }

    fn follow(&mut self, from: Reached) {
        if let Some(to) = self.graph.redirect(from.page) {
            let is_own = to.host == from.page.host;
            if is_own || from.is_seed || self.is_in_scope(from.page.host, to.host) {
                self.reach(Reached { page: to, ..from }, true);
            }
            return;
        }
        let obeys = !self.crawl.ignores_nofollow;
        let kind = self.graph.kind(from.page);
        let is_followed = !(obeys && kind == PageKind::Nofollow);
        if kind == PageKind::Document || kind == PageKind::Image {
            return;
        }
        for link in self.graph.links(from.page) {
            if link.kind == GraphLinkKind::Picture {
                if self.crawl.keeps_images {
                    self.reach(Reached { page: link.to, depth: from.depth, is_seed: false }, true);
                }
                continue;
            }
            let is_nofollow = obeys && link.kind == GraphLinkKind::NofollowAnchor;
            if is_followed
                && !is_nofollow
                && from.depth < self.crawl.depth
                && self.is_in_scope(from.page.host, link.to.host)
            {
                let reached = Reached { page: link.to, depth: from.depth + 1, is_seed: false };
                self.reach(reached, false);
            }
        }
    }
}

impl Iterator for Oracle<'_> {
    type Item = ExpectedFetch;

    fn next(&mut self) -> Option<ExpectedFetch> {
        let reached = match self.due.pop_front()? {
            Due::Page(reached) => reached,
            Due::Sitemap(sitemap, depth) => return Some(self.read_sitemap(sitemap, depth)),
            Due::Check(page, depth) => return self.check(page, depth),
        };
        let page = reached.page;
        self.tell_sitemaps(reached);
        let (ending, outcome) = self.graph.ending(page);
        let is_noarchive = outcome == "noarchive";
        let is_answered = (is_noarchive
            || matches!(ending, ExpectedEnding::Captured | ExpectedEnding::Failed))
            && self.graph.host_behaviour(page.host) == Behaviour::Fine;
        if ending == ExpectedEnding::Captured || is_noarchive {
            self.follow(reached);
            if self.graph.check_target(page).is_some() {
                self.due.push_front(Due::Check(page, reached.depth));
            }
        }
        let sha256 = is_answered
            .then(|| Sha256::digest(&self.graph.content(page, self.crawl.day).body).into());
        let url = self.graph.url(page);
        let depth = reached.depth;
        Some(ExpectedFetch { url, ending, outcome, sha256, depth, page: Some(page) })
    }
}
