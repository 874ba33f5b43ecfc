//! The oracle: what a crawl of the world must have recorded at its end, by the world alone.
//!
//! It knows neither the crawler nor its frontier. It goes from the seeds along the links, as the
//! world's functions have them, and says of each URL that becomes known how it ends. The rules:
//!
//! * **Known** is a URL that was a seed, is linked to in scope within the depth, or is where a
//!   known one redirects to in scope. Each known URL is recorded once, under its normalized key.
//! * **Scope** is that of a link and the page it is on: the same host, the same site, a site of the
//!   seeds, or any. Of a redirect it is the same, but one within a host, and one that begins at a
//!   seed, are always in scope. Images of a page are in every scope.
//! * **Depth** is the least number of links from a seed. A redirect and an image have the depth of
//!   what led to them. A crawl of several hosts may first reach a URL by a longer path, so with a
//!   depth that cuts something off the set is exact within one host only, and an upper bound else.
//! * **A redirect** is a record of its own with the outcome `redirected` and the digest of its own
//!   body, and leads to its target; no path of redirects of the graph is longer than one.
//! * **robots.txt**: a page that it disallows is refused, `robots_disallowed`, and not asked for.
//!   Of a host whose robots.txt is 503 every known URL is left, `robots_unreachable`; of one with a
//!   longer Crawl-delay than crawlers obey, `crawl_delay_too_long`. robots.txt itself is no record.
//! * **A dead host** ends each of its known URLs as failed, with the fetcher's outcome where its
//!   name has no address. Where no connection gets an answer robots.txt has none either: left,
//!   `robots_unreachable`.
//! * **404** is failed, `http_404_410`. A page that is 503 at first is asked once more: `ok`.
//! * **A cookie wall** is passed: its page is `ok`. Where another URL sets the cookie, that is
//!   `redirected`.
//! * **Media**: an image that is linked to is refused by its type, `type_refused`. An image of a
//!   page is known only if the crawl keeps media, then it is `ok`. A PDF file is `ok`.
//! * **nofollow**: unless the crawl ignores it, no link with `rel=nofollow` is followed, and none
//!   of a page whose meta element says so.
//! * **noarchive**: a page that forbids copies is refused, `noarchive`; its links are followed.
//! * **Digest** is SHA-256 of the body without codings, of every answer that has one: of 404 and of
//!   redirects too. What is refused without being asked for, or left, has none.
//! * **Sitemaps**, unless the crawl reads none: a host of which a page has its turn, before the
//!   last level of the depth, has its sitemaps known, with the depth of that page: the one that
//!   robots.txt names, in scope from the host, and `/sitemap.xml` if the crawl asks for that as
//!   well. What an index lists is known with the same depth, and what a list has with one more, in
//!   scope from the sitemap's host. One that is there is `ok`, one that is not is 404 as a page,
//!   and where one redirects to is a sitemap too.
//! * **Budgets** are none. Hosts have few shapes of URLs, so a crawler's budget of a site must be
//!   twice the pages of its largest site, or it is a limit. Pages have text of their own.
//! * **Traps** are left out: their URLs have no end. [`SiteGraph::trap_of_url`] tells them apart.

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

/// Which links a crawl follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OracleScope {
    /// None: the seeds, and where they redirect to.
    Page,
    /// Those to the host of the page.
    Host,
    /// Those to the site of the page.
    Site,
    /// Those to the sites of the seeds.
    List,
    /// All.
    Any,
}

impl OracleScope {
    /// The scope of this name.
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

/// Which sitemaps a crawl reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OracleSitemaps {
    /// None.
    Off,
    /// Those that robots.txt names.
    Robots,
    /// `/sitemap.xml` as well.
    Also,
}

/// A crawl in a closed world without limits.
#[derive(Clone, Debug)]
pub struct ClosedCrawl {
    /// The pages that were submitted.
    pub seeds: Vec<GraphPage>,
    /// Which links are followed.
    pub scope: OracleScope,
    /// Greatest depth; 0: the seeds only.
    pub depth: u16,
    /// Whether the images of pages are kept.
    pub keeps_images: bool,
    /// Whether nofollow is ignored.
    pub ignores_nofollow: bool,
    /// Which sitemaps are read.
    pub sitemaps: OracleSitemaps,
    /// The day of the crawl.
    pub day: u32,
}

impl ClosedCrawl {
    /// A crawl without media that obeys nofollow and reads the sitemaps that robots.txt names, as
    /// deep as a crawl can be, on day 0.
    #[must_use]
    pub fn new(seeds: Vec<GraphPage>, scope: OracleScope) -> Self {
        let (keeps_images, ignores_nofollow) = (false, false);
        let sitemaps = OracleSitemaps::Robots;
        Self { seeds, scope, depth: 1_000, keeps_images, ignores_nofollow, sitemaps, day: 0 }
    }
}

/// The sum of a crawl to which a record belongs.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ExpectedEnding {
    /// Fetched, and its record kept.
    Captured,
    /// Asked for without success.
    Failed,
    /// Refused by a rule.
    Refused,
    /// Not asked for.
    Left,
}

/// What a crawl must have recorded of one URL.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct ExpectedFetch {
    /// The normalized URL.
    pub url: String,
    /// The sum to which it belongs.
    pub ending: ExpectedEnding,
    /// The outcome word.
    pub outcome: &'static str,
    /// SHA-256 of the body without codings, if there is an answer with one.
    pub sha256: Option<[u8; 32]>,
    /// The least depth at which the URL is reached.
    pub depth: u16,
    /// The page; none if it is a sitemap.
    pub page: Option<GraphPage>,
}

/// A URL that is reached and not recorded yet.
#[derive(Clone, Copy)]
struct Reached {
    page: GraphPage,
    depth: u16,
    is_seed: bool,
}

/// What is known and not recorded yet.
#[derive(Clone, Copy)]
enum Due {
    Page(Reached),
    Sitemap(GraphSitemap, u16),
    /// What sets the cookie of a page.
    Check(GraphPage, u16),
}

/// Iterates over what a crawl must have recorded, each URL once, by depth. Takes one bit for each
/// page of each host that was reached.
pub struct Oracle<'a> {
    graph: &'a SiteGraph,
    crawl: ClosedCrawl,
    seed_sites: HashSet<u64>,
    known: HashMap<u64, Vec<u64>>,
    known_sitemaps: HashSet<GraphSitemap>,
    /// Hosts whose sitemaps were looked for.
    told: HashSet<u64>,
    due: VecDeque<Due>,
}

impl SiteGraph {
    /// What a crawl must have recorded at its end.
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

    /// The trap to which a normalized URL belongs, if it is none of a page.
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

    /// How every URL of a host ends, if they all end so.
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

    /// How a page ends, and what it answers.
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
        // What has the depth of the page that led to it comes before what is deeper.
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

    /// A page of a host has its turn: its sitemaps become known.
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

    /// A sitemap has its turn: what it lists becomes known.
    fn read_sitemap(&mut self, sitemap: GraphSitemap, depth: u16) -> ExpectedFetch {
        let (graph, url) = (self.graph, self.graph.sitemap_url(sitemap));
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

    /// The URL that sets the cookie of a page, which is there.
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
