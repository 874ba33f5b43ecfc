//! Tests that crawls judge pages by their content: long lists must be captured completely, and a
//! trap must end after at most as many pages as its site has otherwise.
//!
//! Most of these crawls use no sockets. The host's state is packed and unpacked periodically, as if
//! its holder had died.

use std::collections::HashMap;

use everytab_crawl_settings::CrawlSettings;
use everytab_crawler::OwnHosts;
use everytab_frontier::{
    CanonicalUrl, ChunkKind, FinalState, FoundLinks, HostState, Link, LinkFlags, ParameterList,
    PendingUrl, Referrer, RejectReason, Rules, SiteUsage, SuffixList, never_paused,
};
use everytab_testbed::GraphSettings;
use everytab_webpage::{LinkRequest, TextRequest, lines_said, understand_with_links_and_text};

use crate::{
    made_sites::{LISTS, MadeSite, REAL_PAGES, TRAPS},
    server::{Act, Server, page},
    world::{World, settings},
};

const ORIGIN: &str = "https://made.example";

/// Number of pages in flight before the first one finishes.
const IN_FLIGHT: usize = 10;
const FETCHES_PER_PACK: u64 = 25;
const PACKS_PER_DEATH: u64 = 7;

#[derive(Debug, Default)]
struct Crawled {
    wanted: u64,
    of_trap: u64,
    left: u64,
    rejected: u64,
    known: u64,
    /// Total size of the last chunks in bytes, and of all chunks written.
    stored: usize,
    written: usize,
}

struct Crawl {
    parameters: ParameterList,
    suffixes: SuffixList,
    rules: Rules,
    state: HostState,
    site: SiteUsage,
    chunks: Vec<Vec<u8>>,
    crawled: Crawled,
}

fn path_of(url: &str) -> &str {
    url.strip_prefix(ORIGIN).unwrap()
}

impl Crawl {
    fn new(rules: Rules) -> Self {
        let parameters = ParameterList::default();
        let mut crawl = Self {
            suffixes: SuffixList::default(),
            rules,
            state: HostState::new("made.example"),
            site: SiteUsage::default(),
            chunks: Vec::new(),
            crawled: Crawled::default(),
            parameters,
        };
        let home = CanonicalUrl::parse(&format!("{ORIGIN}/"), &crawl.parameters).unwrap();
        crawl.merge([Link::submitted(home, false, 0)]);
        crawl
    }

    fn merge(&mut self, links: impl IntoIterator<Item = Link>) {
        let merged = self.state.merge(links, &self.rules, &mut self.site);
        self.crawled.rejected += merged.rejected.of(RejectReason::TrapShape);
    }

    fn fetch(&mut self, pending: &PendingUrl, html: &str) {
        let request = LinkRequest { robot: "EveryTabBot", with_requisites: false };
        let requests = (&request, &TextRequest::default());
        let (page, links, text) =
            understand_with_links_and_text(&pending.url, &[], html.as_bytes(), requests);
        let said = lines_said(&pending.url, &page.title.text, &text.text, &links.pictures);
        let referrer =
            Referrer { url: &pending.url, host: "made.example", attributes: pending.attributes };
        let links = links.links.iter().map(|link| (link.url.as_str(), LinkFlags::default()));
        let (parameters, suffixes) = (&self.parameters, &self.suffixes);
        let found = FoundLinks::of_page(links, &referrer, &self.rules, parameters, suffixes);
        let url = CanonicalUrl::parse(&pending.url, &self.parameters).unwrap();
        let of = (pending.hash, url.path_and_query());
        self.state.note_page(of, &said, &found.own_host, &self.rules);
        self.merge(found.own_host);
    }

    fn pack(&mut self) {
        if let Some(packed) = self.state.pack(never_paused) {
            if packed.kind == ChunkKind::Snapshot {
                self.chunks.clear();
            }
            self.crawled.written += packed.bytes.len();
            self.chunks.push(packed.bytes);
        }
    }

    /// Loses the changes since the last pack, as when the holder dies.
    fn die(&mut self) {
        let chunks = self.chunks.iter().map(Vec::as_slice);
        self.state = HostState::unpack("made.example", chunks, &self.parameters).unwrap().state;
        self.site = SiteUsage::default();
        self.site.add_host(self.state.pages(), 1);
    }

    fn run(mut self, site: &MadeSite) -> Crawled {
        let mut flight = Vec::new();
        let mut finished = 0;
        let mut packs = 0;
        let mut fetched: HashMap<String, bool> = HashMap::new();
        loop {
            match self.state.next(0, never_paused) {
                Some(pending) => {
                    let url = CanonicalUrl::parse(&pending.url, &self.parameters).unwrap();
                    let flags = pending.attributes.flags;
                    if self.state.is_of_trap(&url, flags, &self.rules) {
                        self.state.leave_trap(pending.hash, &mut self.site);
                        continue;
                    }
                    let path = path_of(&pending.url);
                    let html = site.html(path);
                    fetched.insert(path.to_owned(), MadeSite::is_wanted(path));
                    let html = html.unwrap_or_else(|| panic!("{}: no page {path}", site.name));
                    self.fetch(&pending, &html);
                    flight.push(pending.hash);
                }
                None if flight.is_empty() => break,
                None => {}
            }
            if flight.len() >= IN_FLIGHT || self.state.next_ready_s(never_paused).is_none() {
                for hash in flight.drain(..) {
                    self.state.finish(hash, FinalState::Captured);
                    finished += 1;
                }
            }
            if finished >= FETCHES_PER_PACK * (packs + 1) {
                packs += 1;
                self.pack();
                if packs.is_multiple_of(PACKS_PER_DEATH) {
                    self.die();
                    flight.clear();
                }
            }
        }
        self.pack();
        let sums = self.state.sums();
        assert_eq!(sums.known, sums.captured + sums.left, "{}", site.name);
        assert_eq!(sums.captured, fetched.len() as u64, "{}", site.name);
        let wanted = fetched.values().filter(|is_wanted| **is_wanted).count() as u64;
        self.crawled.wanted = wanted;
        self.crawled.of_trap = fetched.len() as u64 - wanted;
        self.crawled.left = sums.left;
        self.crawled.known = sums.known;
        self.crawled.stored = self.chunks.iter().map(Vec::len).sum();
        self.crawled
    }
}

fn print(site: &MadeSite, crawled: &Crawled) {
    let Crawled { wanted, of_trap, left, rejected, known, stored, written } = crawled;
    let each = |bytes: &usize| *bytes as f64 / *known as f64;
    println!(
        "| {} | {wanted} | {of_trap} | {left} | {rejected} | {:.1} | {:.1} |",
        site.name,
        each(stored),
        each(written)
    );
}

#[test]
fn lists_of_pages_with_new_content_are_captured_completely() {
    for site in &LISTS {
        let crawled = Crawl::new(Rules { depth: 1_000, ..Rules::default() }).run(site);
        print(site, &crawled);
        assert!(crawled.wanted >= REAL_PAGES + site.own_pages, "{}: {crawled:?}", site.name);
    }
}

#[test]
fn traps_end_within_as_many_pages_as_their_site_has_otherwise() {
    for site in &TRAPS {
        let crawled = Crawl::new(Rules { depth: 1_000, ..Rules::default() }).run(site);
        print(site, &crawled);
        assert!(crawled.wanted > REAL_PAGES, "{}: {crawled:?}", site.name);
        assert!(crawled.of_trap <= REAL_PAGES, "{}: {crawled:?}", site.name);
    }
}
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_captures_a_whole_list_and_leaves_a_trap() {
    let graph = GraphSettings { hosts: 1, sites: 1, pages: 1, ..GraphSettings::default() };
    let world = World::new(52, graph).await;
    let serve = |site: &'static MadeSite| {
        move |path: &str, _| match site.html(path) {
            Some(html) => page(&html),
            None => Act::Respond(404, "", String::new()),
        }
    };
    let (list, trap) = (&LISTS[0], &TRAPS[3]);
    let of_list = Server::start("127.8.0.1:8080", serve(list)).await;
    let of_trap = Server::start("127.8.0.2:8080", serve(trap)).await;
    let host = CrawlSettings { site_pages: 10_000, ..settings("host") };
    let urls = |n: u8| [format!("http://127.8.0.{n}:8080/")];
    // A worker sends at most ten requests per second to an address, so crawl only part of the list.
    let part = CrawlSettings {
        exclude: vec![r"re:article-(\d{4}|[3-9]\d\d)|index-(\d\d|[3-9])".to_owned()],
        ..host.clone()
    };
    let (_, whole) = world.start_urls("one", &part, &urls(1)).await;
    let (_, ends) = world.start_urls("one", &host, &urls(2)).await;
    let patient = CrawlSettings { trap_pages: 200, ..host };
    // Only the operator's own hosts may have no delay.
    let own = || OwnHosts::new(["127.8.0.1", "127.8.0.2"]);
    let worker = world.worker("worker-1", |settings| settings.own = own());
    let status = world.ended(whole).await;
    assert!(status.captured as u64 >= REAL_PAGES + 300, "{status:?}");
    assert_eq!((&status.left, status.failed), (&serde_json::json!({}), 0), "{status:?}");
    let status = world.ended(ends).await;
    worker.finish().await;
    let captured = status.captured as u64;
    assert!((REAL_PAGES..=2 * REAL_PAGES).contains(&captured), "{status:?}");
    assert!(status.left["trap_shape"].as_i64() > Some(0), "{status:?}");
    let requests = of_trap.requests();
    let real = requests.iter().filter(|path| path.starts_with("/real/"));
    assert_eq!(real.count() as u64, REAL_PAGES);
    assert_eq!(of_list.count("/robots.txt"), 1);

    let (_, more) = world.start_urls("one", &patient, &urls(2)).await;
    let worker = world.worker("worker-2", |settings| settings.own = own());
    let status = world.ended(more).await;
    worker.finish().await;
    assert!(status.captured as u64 > 2 * REAL_PAGES, "{status:?}");
}
