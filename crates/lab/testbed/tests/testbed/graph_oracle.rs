//! Compares the oracle with a plain breadth-first crawler over the real listeners.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
};

use everytab_frontier::{CanonicalUrl, Link, ParameterList, Rules, SuffixList};
use everytab_testbed::{
    Behaviour, ClosedCrawl, ExpectedEnding, GraphSettings, OracleScope, OracleSitemaps, PageSpread,
    Running, SiteGraph, Trap,
};
use everytab_webpage::{RobotsTxt, read_sitemap};
use lol_html::{HtmlRewriter, Settings, element};
use sha2::{Digest, Sha256};
use url::Url;

use crate::client::{client_of, port, start_graph};

type Found = BTreeMap<String, (ExpectedEnding, String, Option<[u8; 32]>)>;

#[derive(Clone)]
enum Manners {
    Rules(RobotsTxt),
    Closed(ExpectedEnding, &'static str),
}

#[derive(Clone)]
struct Pending {
    url: CanonicalUrl,
    depth: u16,
    is_seed: bool,
    is_sitemap: bool,
}

struct Crawler<'a> {
    running: &'a Running,
    crawl: &'a ClosedCrawl,
    client: reqwest::Client,
    seed_sites: HashSet<String>,
    parameters: ParameterList,
    suffixes: SuffixList,
    manners: HashMap<String, Manners>,
    known: HashSet<String>,
    told: HashSet<String>,
    due: VecDeque<Pending>,
    found: Found,
}

struct Links {
    links: Vec<(String, bool)>,
    is_nofollow: bool,
}

fn links_of(html: &[u8], ignores_nofollow: bool) -> Links {
    let read = RefCell::new(Links { links: Vec::new(), is_nofollow: false });
    let plain = |text: String| text.replace("&amp;", "&");
    let handlers = vec![
        element!("a[href]", |a| {
            let rel = a.get_attribute("rel").unwrap_or_default();
            if ignores_nofollow || !rel.split(' ').any(|word| word == "nofollow") {
                let href = plain(a.get_attribute("href").unwrap_or_default());
                read.borrow_mut().links.push((href, false));
            }
            Ok(())
        }),
        element!("img[src]", |img| {
            let src = plain(img.get_attribute("src").unwrap_or_default());
            read.borrow_mut().links.push((src, true));
            Ok(())
        }),
        element!("meta[name=robots]", |meta| {
            let content = meta.get_attribute("content").unwrap_or_default();
            read.borrow_mut().is_nofollow |= content.contains("nofollow");
            Ok(())
        }),
    ];
    let add = Settings::append_element_content_handler;
    let settings = handlers.into_iter().fold(Settings::new(), add);
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(html).unwrap();
    rewriter.end().unwrap();
    read.into_inner()
}

impl<'a> Crawler<'a> {
    async fn new(running: &'a Running, crawl: &'a ClosedCrawl) -> Self {
        let hosts: Vec<String> = running.hosts().collect();
        let mut crawler = Self {
            running,
            crawl,
            client: client_of(running, &hosts).await,
            seed_sites: HashSet::new(),
            parameters: ParameterList::default(),
            suffixes: SuffixList::default(),
            manners: HashMap::new(),
            known: HashSet::new(),
            told: HashSet::new(),
            due: VecDeque::new(),
            found: Found::new(),
        };
        let graph = running.graph().unwrap();
        for seed in &crawl.seeds {
            let url = CanonicalUrl::parse(&graph.url(*seed), &crawler.parameters).unwrap();
            crawler.seed_sites.insert(crawler.suffixes.site_of(url.host()).to_owned());
            let pending = Pending { url, depth: 0, is_seed: true, is_sitemap: false };
            crawler.learn(pending, false);
        }
        crawler
    }

    fn learn(&mut self, pending: Pending, is_redirect: bool) {
        if self.known.insert(pending.url.key().to_owned()) {
            if is_redirect { self.due.push_front(pending) } else { self.due.push_back(pending) }
        }
    }

    async fn ask(&self, url: &Url) -> Option<(u16, reqwest::header::HeaderMap, Vec<u8>)> {
        let host = url.host_str()?;
        let is_dead = crate::client::addresses(self.running, host).await.is_err();
        let mut dialled = url.clone();
        dialled.set_port(Some(port(self.running, url.scheme()))).unwrap();
        if is_dead {
            return None;
        }
        let answer = self.client.get(dialled).send().await.ok()?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Some((status, headers, answer.bytes().await.ok()?.to_vec()))
    }

    async fn manners(&mut self, url: &Url) -> Manners {
        let host = url.host_str().unwrap().to_owned();
        if let Some(known) = self.manners.get(&host) {
            return known.clone();
        }
        let unreachable = Manners::Closed(ExpectedEnding::Left, "robots_unreachable");
        let is_nameless = crate::client::addresses(self.running, &host).await.is_err();
        let learnt = match self.ask(&url.join("/robots.txt").unwrap()).await {
            None if is_nameless => Manners::Closed(ExpectedEnding::Failed, "dns_nxdomain"),
            Some((200, _, text)) => {
                let lines = String::from_utf8_lossy(&text).to_lowercase();
                let delay = lines.lines().find_map(|line| line.strip_prefix("crawl-delay: "));
                match delay.map(|seconds| seconds.parse::<f64>().unwrap()) {
                    Some(seconds) if seconds > 300.0 => {
                        Manners::Closed(ExpectedEnding::Left, "crawl_delay_too_long")
                    }
                    _ => Manners::Rules(RobotsTxt::parse(&text)),
                }
            }
            Some((404, ..)) => Manners::Rules(RobotsTxt::default()),
            _ => unreachable,
        };
        self.manners.insert(host, learnt.clone());
        learnt
    }

    fn is_in_scope(&self, from: &str, to: &str) -> bool {
        let site = |host| self.suffixes.site_of(host);
        match self.crawl.scope {
            OracleScope::Page => false,
            OracleScope::Host => from == to,
            OracleScope::Site => site(from) == site(to),
            OracleScope::List => self.seed_sites.contains(site(to)),
            OracleScope::Any => true,
        }
    }

    async fn visit(
        &mut self,
        pending: &Pending,
    ) -> (ExpectedEnding, &'static str, Option<[u8; 32]>) {
        let url = Url::parse(pending.url.fetched()).unwrap();
        match self.manners(&url).await {
            Manners::Closed(ending, outcome) => return (ending, outcome, None),
            Manners::Rules(rules) => {
                self.tell_sitemaps(pending, &url, &rules);
                if !rules.allowed("everytabbot", pending.url.path_and_query()) {
                    return (ExpectedEnding::Refused, "robots_disallowed", None);
                }
            }
        }
        let mut answer = self.ask(&url).await.unwrap();
        if answer.0 == 503 {
            assert_eq!(answer.1["retry-after"], "1");
            answer = self.ask(&url).await.unwrap();
        }
        let (status, headers, body) = answer;
        let digest = Some(Sha256::digest(&body).into());
        let header = |name| headers.get(name).map_or("", |value| value.to_str().unwrap());
        let mime = header("content-type").split(';').next().unwrap_or_default();
        if pending.is_sitemap && status == 200 {
            self.read_sitemap(pending, &body);
            return (ExpectedEnding::Captured, "ok", digest);
        }
        let is_page = matches!(mime, "text/html" | "application/pdf");
        match status {
            200 if !is_page && !pending.url.path().starts_with("/media/") => panic!("{mime}"),
            200 if !is_page
                && !self.found.contains_key(&format!("image {}", pending.url.key())) =>
            {
                (ExpectedEnding::Refused, "type_refused", None)
            }
            200 => {
                if mime == "text/html" {
                    self.follow(&url, pending, &body);
                }
                (ExpectedEnding::Captured, "ok", digest)
            }
            301 | 302 | 303 | 307 | 308 => {
                let target = url.join(header("location")).unwrap();
                let target = CanonicalUrl::of(target, &self.parameters).unwrap();
                let from = pending.url.host();
                let is_own = target.host() == from;
                if is_own || pending.is_seed || self.is_in_scope(from, target.host()) {
                    self.learn(Pending { url: target, ..pending.clone() }, true);
                }
                (ExpectedEnding::Captured, "redirected", digest)
            }
            404 => (ExpectedEnding::Failed, "http_404_410", digest),
            _ => panic!("{status} of {url}"),
        }
    }

    fn tell_sitemaps(&mut self, from: &Pending, url: &Url, rules: &RobotsTxt) {
        let ClosedCrawl { sitemaps, scope, depth, .. } = *self.crawl;
        let is_read = sitemaps != OracleSitemaps::Off && scope != OracleScope::Page;
        if !is_read || from.depth >= depth || from.is_sitemap {
            return;
        }
        if !self.told.insert(from.url.host().to_owned()) {
            return;
        }
        let mut named = rules.sitemaps().to_vec();
        if sitemaps == OracleSitemaps::Also {
            named.push(url.join("/sitemap.xml").unwrap().into());
        }
        self.learn_all(from, &named, (from.depth, true));
    }

    fn read_sitemap(&mut self, from: &Pending, body: &[u8]) {
        let found = read_sitemap(body);
        self.learn_all(from, &found.sitemaps, (from.depth, true));
        for pages in [&found.pages, &found.alternates] {
            self.learn_all(from, pages, (from.depth + 1, false));
        }
    }

    fn learn_all(&mut self, from: &Pending, urls: &[String], (depth, is_sitemap): (u16, bool)) {
        for url in urls {
            let url = CanonicalUrl::parse(url, &self.parameters).unwrap();
            let (own, other) = (from.url.host().to_owned(), url.host().to_owned());
            if own == other || self.is_in_scope(&own, &other) {
                self.learn(Pending { url, depth, is_seed: false, is_sitemap }, is_sitemap);
            }
        }
    }

    fn follow(&mut self, base: &Url, from: &Pending, body: &[u8]) {
        let Links { links, is_nofollow } = links_of(body, self.crawl.ignores_nofollow);
        let is_followed = self.crawl.ignores_nofollow || !is_nofollow;
        for (href, is_image) in links {
            let target = base.join(&href).unwrap();
            let url = CanonicalUrl::of(target, &self.parameters).unwrap();
            let is_in_scope = self.is_in_scope(from.url.host(), url.host());
            if is_image {
                if self.crawl.keeps_images {
                    let note = (ExpectedEnding::Captured, String::new(), None);
                    self.found.insert(format!("image {}", url.key()), note);
                    let pending =
                        Pending { url, depth: from.depth, is_seed: false, is_sitemap: false };
                    self.learn(pending, true);
                }
            } else if is_followed && is_in_scope && from.depth < self.crawl.depth {
                let depth = from.depth + 1;
                self.learn(Pending { url, depth, is_seed: false, is_sitemap: false }, false);
            }
        }
    }

    async fn run(mut self) -> Found {
        while let Some(pending) = self.due.pop_front() {
            let (ending, outcome, digest) = self.visit(&pending).await;
            let record = (ending, outcome.to_owned(), digest);
            assert_eq!(self.found.insert(pending.url.key().to_owned(), record), None);
        }
        self.found.retain(|key, _| !key.starts_with("image "));
        self.found
    }
}

fn expected(graph: &SiteGraph, crawl: &ClosedCrawl) -> Found {
    let mut found = Found::new();
    let mut depth = 0;
    for fetch in graph.oracle(crawl.clone()) {
        assert!(fetch.depth >= depth, "by depth");
        depth = fetch.depth;
        let record = (fetch.ending, fetch.outcome.to_owned(), fetch.sha256);
        assert_eq!(found.insert(fetch.url, record), None, "each URL once");
    }
    found
}

async fn compare(running: &Running, crawl: &ClosedCrawl) -> Found {
    let found = Crawler::new(running, crawl).await.run().await;
    let expected = expected(running.graph().unwrap(), crawl);
    for (url, record) in &expected {
        assert_eq!(found.get(url), Some(record), "{url} in {:?}", crawl.scope);
    }
    let more: Vec<_> = found.keys().filter(|url| !expected.contains_key(*url)).collect();
    assert!(more.is_empty(), "{more:?} in {:?}", crawl.scope);
    expected
}

fn count(found: &Found, word: &str) -> usize {
    found.values().filter(|(_, outcome, _)| outcome == word).count()
}

#[tokio::test]
async fn a_crawler_finds_what_the_oracle_says_in_every_scope() {
    let settings = GraphSettings { pages: 600, ..GraphSettings::default() };
    let (running, _scratch) = start_graph(settings).await;
    let graph = running.graph().unwrap();
    let mut sizes = Vec::new();
    for scope in [
        OracleScope::Page,
        OracleScope::Host,
        OracleScope::Site,
        OracleScope::List,
        OracleScope::Any,
    ] {
        let seeds = [0, graph.first_host(9), graph.first_host(11)].map(|host| graph.home(host));
        let found = compare(&running, &ClosedCrawl::new(seeds.to_vec(), scope)).await;
        sizes.push(found.len());
    }
    assert_eq!(sizes[0], 3);
    assert!(sizes.is_sorted() && sizes[4] > 500, "{sizes:?}");
}

#[tokio::test]
async fn every_kind_of_page_ends_as_the_oracle_says() {
    let settings = GraphSettings {
        hosts: 9,
        sites: 9,
        pages: 700,
        spread: PageSpread::Equal,
        redirect: 100,
        redirect_away: 100,
        not_found: 50,
        forbidden: 100,
        nofollow: 50,
        hidden: 100,
        media: 200,
        variants: 400,
        ..GraphSettings::default()
    };
    let (running, _scratch) = start_graph(settings).await;
    let graph = running.graph().unwrap();
    let usual = ClosedCrawl::new(vec![graph.home(0)], OracleScope::Any);
    let found = compare(&running, &usual).await;
    for word in ["ok", "redirected", "http_404_410", "robots_disallowed", "type_refused"] {
        assert!(count(&found, word) > 5, "{word}");
    }
    running.set_day(1);
    let all = ClosedCrawl { keeps_images: true, ignores_nofollow: true, day: 1, ..usual.clone() };
    let more = compare(&running, &all).await;
    assert!(count(&more, "ok") > count(&found, "ok") + 50, "hidden pages and images");
    assert_eq!(more.len() as u64, graph.pages(), "every page is reached");
    // Find a seed that redirects to another host, which the scope excludes.
    let away = found.iter().find_map(|(url, (_, outcome, _))| {
        let page = graph.page_of_url(url)?;
        let is_away = graph.kind(page) == everytab_testbed::PageKind::RedirectAway;
        (is_away && outcome == "redirected").then_some(page)
    });
    let crawl = ClosedCrawl::new(vec![away.unwrap()], OracleScope::Page);
    assert_eq!(compare(&running, &ClosedCrawl { day: 1, ..crawl }).await.len(), 2);
}

#[tokio::test]
async fn sitemaps_list_what_the_oracle_says_and_hidden_pages_too() {
    let settings = GraphSettings { sitemaps: 800, hidden: 100, ..GraphSettings::default() };
    let (running, _scratch) = start_graph(settings).await;
    let home = running.graph().unwrap().home(0);
    for scope in [OracleScope::Host, OracleScope::Site, OracleScope::Any] {
        let mut sizes = Vec::new();
        for sitemaps in [OracleSitemaps::Off, OracleSitemaps::Robots, OracleSitemaps::Also] {
            let crawl = ClosedCrawl { sitemaps, ..ClosedCrawl::new(vec![home], scope) };
            sizes.push(compare(&running, &crawl).await.len());
        }
        assert!(sizes.is_sorted(), "{sizes:?}");
        assert!(scope != OracleScope::Any || sizes[2] > sizes[0] + 50, "{sizes:?}");
    }
}

#[tokio::test]
async fn a_depth_cuts_a_host_where_the_oracle_says() {
    let settings = GraphSettings { pages: 400, links: 6, ..GraphSettings::default() };
    let (running, _scratch) = start_graph(settings).await;
    let graph = running.graph().unwrap();
    let host = (0..20).max_by_key(|host| graph.pages_of(*host)).unwrap();
    let mut sizes = Vec::new();
    for depth in [0, 1, 2, 3, 16] {
        let crawl = ClosedCrawl::new(vec![graph.home(host)], OracleScope::Host);
        sizes.push(compare(&running, &ClosedCrawl { depth, ..crawl }).await.len());
    }
    assert!(sizes[0] == 1 && sizes[1] > 3 && sizes[2] > sizes[1] && sizes.is_sorted(), "{sizes:?}");
}

#[tokio::test]
async fn hosts_that_are_dead_or_closed_lose_their_own_pages_alone() {
    let settings = GraphSettings {
        hosts: 90,
        sites: 60,
        pages: 400,
        dead: 200,
        dead_as: vec![Behaviour::DnsNxdomain, Behaviour::Reset],
        traps: vec![Trap::RobotsUnavailable, Trap::RobotsDelay, Trap::RobotsHtml],
        trap_hosts: 600,
        ..GraphSettings::default()
    };
    let (running, _scratch) = start_graph(settings).await;
    let graph = running.graph().unwrap();
    let crawl = ClosedCrawl::new(vec![graph.home(0)], OracleScope::Any);
    let found = compare(&running, &crawl).await;
    for word in ["dns_nxdomain", "robots_unreachable", "crawl_delay_too_long"] {
        assert!(count(&found, word) > 3, "{word}");
    }
    let homes = (0..90).filter(|host| found.contains_key(&graph.url(graph.home(*host))));
    assert_eq!(homes.count(), 90);
}

#[test]
fn names_and_urls_are_those_that_the_frontier_makes_of_them() {
    let settings = GraphSettings { hosts: 300, sites: 100, ..GraphSettings::default() };
    let graph = SiteGraph::new(4, settings).unwrap();
    let suffixes = SuffixList::default();
    let parameters = ParameterList::default();
    for host in 0..300 {
        let name = graph.host_name(host);
        assert_eq!(suffixes.site_of(&name), graph.site_name(graph.site_of(host)));
        for page in 0..graph.pages_of(host) {
            let url = graph.url(everytab_testbed::GraphPage { host, page });
            let canonical = CanonicalUrl::parse(&url, &parameters).unwrap();
            assert_eq!((canonical.key(), canonical.fetched()), (url.as_str(), url.as_str()));
            let link = Link::submitted(canonical, false, 0);
            let rules = Rules::default();
            assert_eq!(rules.refusal(&link, &rules.matches(&link)), None, "{url} is no trap");
        }
    }
}
