//! Compares links with those of a general HTML rewriter, on generated tag soup and on the test
//! corpus (see `corpus.rs`).

use std::collections::BTreeMap;

use everytab_commoncrawl::warc::{Limits, read_record};
use everytab_webpage::{LinkOrigin, LinkRequest, understand, understand_with_links};
use proptest::{collection::vec, prelude::*};

use crate::{
    corpus::{corpus, expectations, unpacked},
    links_oracle::{FoundLink, links},
};

const URL: &str = "https://site.example/dir/page.html?q=1";

fn ours(url: &str, html: &str) -> Vec<FoundLink> {
    let headers = [("content-type".to_owned(), b"text/html;charset=utf-8".to_vec())];
    let request = LinkRequest { robot: "EveryTabBot", with_requisites: true };
    let found = understand_with_links(url, &headers, html.as_bytes(), &request).1;
    let link =
        |link: everytab_webpage::PageLink| (link.origin, String::from(link.url), link.is_nofollow);
    found.links.into_iter().map(link).collect()
}

/// Without foreign content, which the rewriter ignores, and with complete templates, because the
/// rewriter ends them with any element around them.
const PIECES: [&str; 61] = [
    "<a href=/x>",
    "<A HREF='y z' REL=NoFollow>",
    "<a href=\"?a&amp;b=&#99\">",
    "<a =href=x href =\n x>",
    "<a href href=x>",
    "<a href=x",
    "<a href='",
    "<area href=x/>",
    "<frame src=x>",
    "<frameset>",
    "</frameset>",
    "<iframe src=x>",
    "</iframe>",
    "<img src=x srcset='a 1x, b,c 2x ,,d'>",
    "<img srcset=a,b/>",
    "<source src=x srcset=' a(b,c) (1x, 2x), d'>",
    "<link rel=stylesheet href=x>",
    "<link rel='icon' href=x>",
    "<link rel='next nofollow' href=x>",
    "<link rel=alternate type=text/html href=x>",
    "<link rel=alternate type=application/atom+xml href=x>",
    "<link rel=canonical>",
    "<meta http-equiv=refresh content='5; url=x'>",
    "<meta http-equiv=REFRESH content=\"0;URL='http://a.example'\">",
    "<meta http-equiv=refresh content=7>",
    "<base href=/b/>",
    "<base href=http://>",
    "<base>",
    "<noscript>",
    "</noscript>",
    "</noscript",
    "<template><img src=x></template>",
    "<!--",
    "-->",
    "--!>",
    "<!-->",
    "<!doctype html>",
    "<?x>",
    "</ x>",
    "<script>",
    "</script>",
    "<style>",
    "</style>",
    "<textarea>",
    "</textarea>",
    "<title>",
    "</title>",
    "<noframes>",
    "</noframes>",
    "<a b=\"",
    "<a \"'",
    "<p>",
    "</a>",
    "'",
    "\"",
    ">",
    "<",
    "=",
    " ",
    "é",
    "\0",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn tag_soup_has_the_links_that_a_general_rewriter_finds(
        pieces in vec(proptest::sample::select(PIECES.to_vec()), 0..25),
    ) {
        let html = pieces.concat();
        prop_assert_eq!(ours(URL, &html), links(URL, &html), "{}", html);
    }
}

#[derive(Default)]
struct Compared {
    pages: usize,
    by_origin: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

impl Compared {
    fn page(&mut self, name: &str, url: &str, body: &[u8]) {
        let charset = understand(url, &[], body).charset;
        let encoding = encoding_rs::Encoding::for_label(charset.as_bytes()).unwrap();
        let html = encoding.decode(body).0;
        let (ours, theirs) = (ours(url, &html), links(url, &html));
        self.pages += 1;
        for (origin, ..) in &ours {
            *self.by_origin.entry(origin.as_str()).or_default() += 1;
        }
        if ours != theirs {
            let both = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
            self.wrong.push(format!("{name}: {} and {} links, {both:?}", ours.len(), theirs.len()));
        }
    }

    fn end(self) {
        println!("{} pages: {:?}", self.pages, self.by_origin);
        assert!(self.by_origin[LinkOrigin::A.as_str()] > 1_000, "{:?}", self.by_origin);
        assert!(self.wrong.is_empty(), "{} wrong:\n{}", self.wrong.len(), self.wrong.join("\n"));
    }
}

#[test]
fn every_corpus_page_has_the_links_that_a_general_rewriter_finds() {
    let Some(corpus) = corpus() else { return };
    let mut compared = Compared::default();
    for (name, page) in &expectations(&corpus, "html_pages.json") {
        let body = unpacked(&corpus.join(name));
        compared.page(name, page["url"].as_str().unwrap_or("https://example.com/"), &body);
    }
    compared.end();
}

#[test]
fn every_archived_page_has_the_links_that_a_general_rewriter_finds() {
    let Some(corpus) = corpus() else { return };
    let mut archives: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let expected = expectations(&corpus, "warc_pages.json");
    let mut compared = Compared::default();
    for (key, page) in &expected {
        let (name, offset) = key.rsplit_once('@').unwrap();
        let archive =
            archives.entry(name).or_insert_with(|| std::fs::read(corpus.join(name)).unwrap());
        let start: usize = offset.parse().unwrap();
        let length = page["length"].as_u64().map(|length| usize::try_from(length).unwrap());
        let end = length.map_or(archive.len(), |length| start + length);
        let record = read_record(&archive[start..end], Limits::default()).unwrap();
        let body = record.http_response().unwrap().body;
        compared.page(key, &record.target_uri().unwrap(), &body);
    }
    compared.end();
}
