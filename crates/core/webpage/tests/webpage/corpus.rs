//! Real pages from the test corpus in `EVERYTAB_CORPUS`, by default `../shared/corpus` next to the
//! workspace. Without it, each test prints a line and passes.

use std::{
    collections::BTreeMap,
    io::Read,
    path::{Path, PathBuf},
};

use everytab_commoncrawl::warc::{Limits, read_record};
use everytab_webpage::{Page, TitleState, understand};
use serde_json::Value;

pub(crate) fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/corpus");
    let folder = std::env::var_os("EVERYTAB_CORPUS").map_or_else(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no corpus at {}", folder.display());
    None
}

pub(crate) fn unpacked(path: &Path) -> Vec<u8> {
    let mut body = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::MultiGzDecoder::new(file).read_to_end(&mut body).unwrap();
    body
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn expectations(corpus: &Path, name: &str) -> BTreeMap<String, Value> {
    let expected = std::fs::read_to_string(corpus.join("expected").join(name)).unwrap();
    let expected: BTreeMap<String, Value> = serde_json::from_str(&expected).unwrap();
    assert!(expected.len() > 100, "the corpus has {} pages", expected.len());
    expected
}

#[test]
fn every_corpus_page_gives_its_title_charset_and_icon_links() {
    let Some(corpus) = corpus() else { return };
    let mut wrong = Vec::new();
    for (name, page) in &expectations(&corpus, "html_pages.json") {
        let body = unpacked(&corpus.join(name));
        let url = page["url"].as_str().unwrap_or("https://example.com/");
        check(name, page, &understand(url, &[], &body), &mut wrong);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_archived_page_gives_its_title_charset_and_icon_links() {
    let Some(corpus) = corpus() else { return };
    let mut archives: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let expected = expectations(&corpus, "warc_pages.json");
    for (key, page) in &expected {
        let (name, offset) = key.rsplit_once('@').unwrap();
        let archive =
            archives.entry(name).or_insert_with(|| std::fs::read(corpus.join(name)).unwrap());
        let start: usize = offset.parse().unwrap();
        let end = page["length"]
            .as_u64()
            .map_or(archive.len(), |length| start + usize::try_from(length).unwrap());
        let record = read_record(&archive[start..end], Limits::default()).unwrap();
        let url = record.target_uri().unwrap();
        let response = record.http_response().unwrap();
        let found = understand(&url, response.headers.fields(), &response.body);
        check(key, page, &found, &mut wrong);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Compares a page with the result on which html5lib and lexbor agree. If this crate detects UTF-8,
/// their result for UTF-8 counts, because they do not detect it.
fn check(name: &str, page: &Value, found: &Page, wrong: &mut Vec<String>) {
    let is_declared = page["encoding_source"] != "default";
    let in_utf8 = &page["title_if_utf8"];
    let is_undeclared_utf8 = !is_declared && found.charset == "utf-8" && in_utf8.is_string();
    let title = if is_undeclared_utf8 { in_utf8 } else { &page["title"] };
    let absent = found.title.state == TitleState::Absent;
    if found.title.text != text(title) || absent != title.is_null() {
        wrong.push(format!("{name}: title {:?}, not {title}", found.title));
    }
    if is_declared && found.charset != text(&page["encoding"]) {
        wrong.push(format!("{name}: {}, not {}", found.charset, page["encoding"]));
    }
    check_links(name, page, found, wrong);
}

fn check_links(name: &str, page: &Value, found: &Page, wrong: &mut Vec<String>) {
    let is_icon =
        |token: &str| ["icon", "apple-touch-icon", "apple-touch-icon-precomposed"].contains(&token);
    let links: Vec<&Value> = page["icon_links"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|link| link["rel"].as_array().unwrap().iter().any(|token| is_icon(text(token))))
        .filter(|link| !text(&link["href"]).is_empty())
        .collect();
    if links.len() != found.icons.len() {
        wrong.push(format!("{name}: {} links, not {}", found.icons.len(), links.len()));
        return;
    }
    for (link, icon) in links.iter().zip(&found.icons) {
        let rel: Vec<&str> = link["rel"].as_array().unwrap().iter().map(text).collect();
        let same = rel.join(" ").eq_ignore_ascii_case(&icon.rel)
            && link["type"].as_str() == icon.mime.as_deref()
            && link["sizes"].as_str() == icon.sizes.as_deref()
            && expected_url(page, text(&link["href"])) == icon.href;
        if !same {
            wrong.push(format!("{name}: {icon:?}, not {link}"));
        }
    }
}

fn expected_url(page: &Value, href: &str) -> String {
    let url = url::Url::parse(page["url"].as_str().unwrap_or("https://example.com/")).unwrap();
    let base = page["base_href"].as_str().and_then(|base| url.join(base).ok()).unwrap_or(url);
    base.join(href).map(String::from).unwrap_or_default()
}
