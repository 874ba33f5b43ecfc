//! Memory for pages that are constructed to be expensive grows at most linearly with the page. With
//! `--nocapture`, each test prints the milliseconds.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail")]
#![allow(clippy::disallowed_types, reason = "a test may show what it took")]

mod counting;

use counting::{Taken, taken};
use everytab_commoncrawl::warc::{Limits, read_record};
use everytab_webpage::{
    LinkRequest, Page, TitleState, candidates, understand, understand_with_links,
};

const URL: &str = "https://site.example/";
/// Size of the largest test pages in bytes. Common Crawl truncates payloads at this size.
const MAX_PAGE_BYTES: usize = 5 << 20;
/// Memory in bytes that any page may take in addition to a multiple of its size.
const FIXED_BYTES: usize = 2 << 20;

struct Hostile {
    name: &'static str,
    start: &'static str,
    piece: &'static str,
}

const fn hostile(name: &'static str, start: &'static str, piece: &'static str) -> Hostile {
    Hostile { name, start, piece }
}

const PAGES: [Hostile; 34] = [
    hostile("text", "", "just text, as in a book. "),
    hostile("tags", "", "<p class=\"a b\" id=c>text</p>"),
    hostile("nesting", "", "<div>"),
    hostile("nesting that cannot close", "", "<b></p>"),
    hostile("a title without an end", "<title>", "a &amp; b "),
    hostile("a title of end tags", "<title>", "</titl"),
    hostile("links", "", "<link rel=icon href=/a>"),
    hostile("links to data", "", "<link rel=icon href=data:,a>"),
    hostile("links in the body", "<p>", "<link rel='shortcut icon' href='//a.example/b?c'>"),
    hostile("an endless link", "<link rel=icon href='", "a&amp;"),
    hostile("an endless rel", "<link rel='", "icon "),
    hostile("attributes", "<link ", "rel=icon "),
    hostile("names without values", "<a ", "b "),
    hostile("equals signs", "<a ", "= "),
    hostile("quotes", "<a ", "b=\"' "),
    hostile("less-than signs", "", "<"),
    hostile("end tags without a name", "", "</"),
    hostile("comments", "", "<!-- -- --><!-->"),
    hostile("dashes", "<!--", "-!"),
    hostile("scripts in scripts", "<script>", "<!--<script></script>"),
    hostile("scripts without an end", "<script>", "</scrip"),
    hostile("templates", "", "<template>"),
    hostile("drawings", "", "<svg>"),
    hostile("a deep drawing", "<svg>", "<g>"),
    hostile("a drawing's stray end tags", "<svg><g><g><g><g>", "</x>"),
    hostile("a deep drawing's stray end tags", "<svg>", "<g></x></x>"),
    hostile("titles of drawings", "<svg>", "<title>"),
    hostile("formulas", "", "<math><mi>"),
    hostile("character data", "<svg>", "<![CDATA["),
    hostile("framesets", "", "<frameset>"),
    hostile("metas", "", "<meta charset=x>"),
    hostile("bases", "", "<base href='http://'>"),
    hostile("NULs", "<title>a", "\0"),
    hostile("what is no UTF-8", "<meta charset=utf-8><title>", "\u{80}"),
];

impl Hostile {
    fn of(&self, bytes: usize) -> Vec<u8> {
        [self.start, &self.piece.repeat(bytes / self.piece.len())].concat().into_bytes()
    }
}

fn read(body: &[u8]) -> (Page, Taken, u128) {
    let start = std::time::Instant::now();
    let (page, taken) = taken(|| {
        let page = understand(URL, &[], body);
        let _ = candidates(&page);
        page
    });
    (page, taken, start.elapsed().as_millis())
}

#[test]
fn the_most_expensive_pages_take_a_bounded_multiple_of_their_size() {
    for hostile in &PAGES {
        let half = hostile.of(MAX_PAGE_BYTES / 2);
        let whole = hostile.of(MAX_PAGE_BYTES);
        let (_, of_half, half_ms) = read(&half);
        let (_, of_whole, whole_ms) = read(&whole);
        let name = hostile.name;
        println!("{name}: {half_ms} then {whole_ms} ms, {of_half:?} then {of_whole:?}");
        assert!(of_whole.peak <= whole.len() + FIXED_BYTES, "{name}: {of_whole:?}");
        assert!(of_whole.total <= 2 * of_half.total + FIXED_BYTES, "{name}: {of_whole:?}");
    }
}

#[test]
fn the_most_expensive_pages_in_wide_encodings_take_a_bounded_multiple_of_their_size() {
    for hostile in &PAGES {
        let text = String::from_utf8_lossy(&hostile.of(MAX_PAGE_BYTES / 2)).into_owned();
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let body = [&[0xfe, 0xff], wide.as_slice()].concat();
        let (page, taken, ms) = read(&body);
        println!("{}: {ms} ms, {taken:?}", hostile.name);
        assert_eq!(page.charset, "utf-16be");
        assert!(taken.peak <= 4 * body.len() + FIXED_BYTES, "{}: {taken:?}", hostile.name);
    }
}

const LINK_PAGES: [Hostile; 10] = [
    hostile("anchors", "", "<a href=/x>"),
    hostile("anchors of scripts", "", "<a href=javascript:x>"),
    hostile("anchors in encoded text", "", "<a href='/é&amp;&#x41;'>"),
    hostile("an endless anchor", "<a href='", "a&amp;"),
    hostile("an endless srcset", "<img srcset='", "a 1x,"),
    hostile("many candidates", "", "<img srcset='a 1x, b 2x, c 3x, d 4x, e 5x'>"),
    hostile("refreshes", "", "<meta http-equiv=refresh content='0;url=/x'>"),
    hostile("words to robots", "", "<meta name=robots content='noindex, nofollow'>"),
    hostile("content without scripts", "", "<noscript>"),
    hostile("metas without an end", "<meta name=robots content='", "none, "),
];

/// Memory in bytes for 5,000 links with 2,048 bytes each, with some unused capacity.
const LINKS_BYTES: usize = 24 << 20;

#[test]
fn the_links_on_the_most_expensive_pages_take_a_bounded_multiple_of_their_size() {
    let request = LinkRequest { robot: "EveryTabBot", with_requisites: true };
    let base = format!("<base href='http://a.example/{}/'>", "x".repeat(2_000)).into_bytes();
    for hostile in PAGES.iter().chain(&LINK_PAGES) {
        for start in [&[][..], &base] {
            let half = [start, &hostile.of(MAX_PAGE_BYTES / 2)].concat();
            let whole = [start, &hostile.of(MAX_PAGE_BYTES)].concat();
            let read = |body: &[u8]| taken(|| understand_with_links(URL, &[], body, &request)).1;
            let (of_half, of_whole) = (read(&half), read(&whole));
            let name = hostile.name;
            println!("{name}: {of_half:?} then {of_whole:?}");
            let bound = whole.len() + FIXED_BYTES + LINKS_BYTES;
            assert!(of_whole.peak <= bound, "{name}: {of_whole:?}");
            let bound = 2 * of_half.total + FIXED_BYTES + LINKS_BYTES;
            assert!(of_whole.total <= bound, "{name}: {of_whole:?}");
        }
    }
}

#[test]
fn a_title_of_a_megabyte_is_cut_and_ten_thousand_links_are_counted() {
    let title = format!("<title>{}</title>", "é ".repeat(350_000));
    let (page, taken, _) = read(title.as_bytes());
    assert_eq!(page.title.state, TitleState::Truncated);
    assert!(page.title.text.len() <= 64 << 10);
    assert!(taken.peak <= 1 << 20, "{taken:?}");

    let links: String = (0..10_000).map(|n| format!("<link rel=icon href=/{n}.png>")).collect();
    let (page, taken, _) = read(links.as_bytes());
    assert_eq!((page.icons.len(), page.icons_over_limit), (1_000, 9_000));
    assert!(taken.peak <= 2 << 20, "{taken:?}");
}

#[test]
fn nesting_of_a_hundred_thousand_hides_nothing_before_or_after_it() {
    let depth = 100_000;
    let html = format!(
        "<title>before</title>{}<link rel=icon href=/in.png>{}<link rel=icon href=/after.png>",
        "<div>".repeat(depth),
        "</div>".repeat(depth)
    );
    let (page, taken, _) = read(html.as_bytes());
    assert_eq!((page.title.text.as_str(), page.icons.len()), ("before", 2));
    assert!(taken.peak <= 64 << 10, "{taken:?}");
}

#[test]
fn every_header_a_thousand_times_is_read_within_bounds() {
    let mut headers = Vec::new();
    for (name, value) in [
        ("content-type", "text/html; charset=bogus"),
        ("content-security-policy", "frame-ancestors https://a.example, default-src 'self'"),
        ("content-security-policy-report-only", "frame-ancestors 'none'"),
        ("x-frame-options", "SAMEORIGIN"),
        ("content-disposition", "inline"),
        ("link", "</i.png>; rel=icon"),
        ("set-cookie", "a=b"),
    ] {
        headers.extend((0..1_000).map(|_| (name.to_owned(), value.as_bytes().to_vec())));
    }
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    let (page, taken) = taken(|| understand(URL, &headers, b"<title>a</title>"));
    assert_eq!(page.framing.rule, "frame_ancestors_list");
    assert!(page.framing.value.unwrap().len() <= 1_024);
    assert!(taken.peak <= 4 * bytes, "{taken:?} for {bytes}");

    let block: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}\r\n", value.escape_ascii()))
        .collect();
    let block = format!("HTTP/1.1 200 OK\r\n{block}\r\n<title>a</title>");
    let head = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://site.example/";
    let record = format!("{head}\r\nContent-Length: {}\r\n\r\n{block}", block.len());
    let (page, taken) = counting::taken(|| {
        let record = read_record(record.as_bytes(), Limits::default()).unwrap();
        let response = record.http_response().unwrap();
        assert_eq!((response.headers.fields().len(), response.headers.dropped()), (2_000, 5_000));
        understand(URL, response.headers.fields(), &response.body)
    });
    assert_eq!(page.title.text, "a");
    assert!(taken.peak <= 5 * record.len(), "{taken:?} for {}", record.len());
}
