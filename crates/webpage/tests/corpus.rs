//! Real pages and the suites of html5lib, read from the test corpus, which is no part of the
//! repository: its folder is `EVERYTAB_CORPUS`, else `../shared/corpus` beside the workspace.
//! Where it is absent each test says so and passes.
// A test reads files, and a broken corpus is to stop it.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use everytab_webpage::{TitleState, understand};
use serde_json::Value;

fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("EVERYTAB_CORPUS").map_or_else(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no corpus at {}", folder.display());
    None
}

/// The page of the suite that its expectation describes, unpacked.
fn unpacked(path: &Path) -> Vec<u8> {
    let mut body = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::MultiGzDecoder::new(file).read_to_end(&mut body).unwrap();
    body
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Pages on which we differ from the expectation on purpose, and why.
const OURS: [(&str, &str); 1] =
    [("smh-biz-article-1", "undeclared but valid UTF-8, which a page held whole can tell")];

#[test]
fn every_page_of_the_corpus_gives_its_title_and_icon_links() {
    let Some(corpus) = corpus() else { return };
    let expected = std::fs::read_to_string(corpus.join("expected/html_pages.json")).unwrap();
    let expected: BTreeMap<String, Value> = serde_json::from_str(&expected).unwrap();
    assert!(expected.len() > 100, "the corpus has {} pages", expected.len());
    let mut wrong = Vec::new();
    for (name, page) in &expected {
        let body = unpacked(&corpus.join(name));
        let url = page["url"].as_str().unwrap_or("https://example.com/");
        let found = understand(url, &[], &body);
        let is_ours = OURS.iter().any(|(ours, _)| name.contains(ours));
        let title = if is_ours { &page["title_if_utf8"] } else { &page["title"] };
        if found.title.text != text(title) {
            wrong.push(format!("{name}: title {:?}, not {title}", found.title));
        }
        let absent = found.title.state == TitleState::Absent;
        if absent != page["title"].is_null() {
            wrong.push(format!("{name}: title {:?}, not {title}", found.title.state));
        }
        let declared = page["encoding_source"] != "default";
        if declared && found.charset != text(&page["encoding"]) {
            wrong.push(format!("{name}: {}, not {}", found.charset, page["encoding"]));
        }
        check_links(name, page, &found, &mut wrong);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Compares rel, type and sizes of every link of either icon class, and the resolved URL where
/// the page has an address.
fn check_links(name: &str, page: &Value, found: &everytab_webpage::Page, wrong: &mut Vec<String>) {
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

/// One test of a html5lib file: its sections by name.
fn sections(file: &str) -> Vec<BTreeMap<&str, String>> {
    let mut tests: Vec<BTreeMap<&str, String>> = Vec::new();
    let mut name = "";
    for line in file.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        let is_name = bare.len() > 1
            && bare.starts_with('#')
            && bare[1..].bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        if is_name {
            if bare == "#data" {
                tests.push(BTreeMap::new());
            }
            name = &bare[1..];
        }
        if let Some(test) = tests.last_mut() {
            let text = test.entry(name).or_default();
            if !is_name {
                text.push_str(line);
            }
        }
    }
    tests
}

/// A file of a suite; its bytes may be no UTF-8.
fn suite_files(folder: &Path) -> Vec<(String, String)> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "dat"))
        .collect();
    files.sort();
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).unwrap();
        let latin: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        (path.file_name().unwrap().to_string_lossy().into_owned(), latin)
    };
    files.into_iter().map(read).collect()
}

fn latin_bytes(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
}

#[test]
fn every_encoding_case_of_html5lib_gives_its_encoding() {
    let Some(corpus) = corpus() else { return };
    let (mut count, mut wrong) = (0, Vec::new());
    for (file, content) in suite_files(&corpus.join("suites/html5lib-tests/encoding")) {
        for test in sections(&content) {
            let data = test["data"].trim_end_matches('\n');
            let found = understand("https://example.com/", &[], &latin_bytes(data));
            let expected = test["encoding"].trim();
            let expected = encoding_rs::Encoding::for_label(expected.as_bytes()).unwrap();
            count += 1;
            if !expected.name().eq_ignore_ascii_case(&found.charset) {
                wrong.push(format!("{file}: {} not {}: {data}", found.charset, expected.name()));
            }
        }
    }
    assert!(count > 80, "{count} cases");
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}

/// The first HTML title of a dumped tree that is outside template content, its text collapsed.
fn tree_title(document: &str) -> Option<String> {
    let mut title: Option<(usize, String)> = None;
    let mut template: Option<usize> = None;
    let mut in_text = false;
    for line in document.lines() {
        let Some(line) = line.strip_prefix("| ") else {
            // A text node that goes on over a line end.
            if let Some((_, text)) = title.as_mut().filter(|_| in_text) {
                text.push('\n');
                text.push_str(line);
            }
            continue;
        };
        let depth = line.len() - line.trim_start_matches(' ').len();
        let node = &line[depth..];
        if title.as_ref().is_some_and(|(at, _)| depth <= *at) {
            break;
        }
        if template.is_some_and(|at| depth <= at) {
            template = None;
        }
        in_text = node.starts_with('"');
        match &mut title {
            Some((_, text)) if in_text => text.push_str(&node[1..]),
            None if node == "<template>" && template.is_none() => template = Some(depth),
            None if node == "<title>" && template.is_none() => title = Some((depth, String::new())),
            _ => {}
        }
    }
    let text = title?.1;
    let words: Vec<&str> = text.trim_end().trim_end_matches('"').split_ascii_whitespace().collect();
    Some(words.join(" "))
}

#[test]
fn every_tree_of_html5lib_gives_its_title() {
    let Some(corpus) = corpus() else { return };
    let (mut count, mut with_title, mut wrong) = (0, 0, Vec::new());
    for (file, content) in suite_files(&corpus.join("suites/html5lib-tests/tree-construction")) {
        for test in sections(&content) {
            // Fragments have no title; without scripts a noscript is markup, and we have scripts.
            if test.contains_key("document-fragment") || test.contains_key("script-off") {
                continue;
            }
            let data = test["data"].strip_suffix('\n').unwrap_or_default();
            let expected = tree_title(&test["document"]);
            let headers = [("content-type".to_owned(), b"text/html;charset=utf-8".to_vec())];
            let found = understand("https://example.com/", &headers, &latin_bytes(data)).title;
            let document = expected.as_deref().map(latin_bytes);
            let document = document.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            count += 1;
            with_title += usize::from(expected.is_some());
            let same = (found.state == TitleState::Absent) == document.is_none()
                && found.text == document.clone().unwrap_or_default();
            if !same {
                wrong.push(format!("{file}: {found:?}, not {document:?}: {data}"));
            }
        }
    }
    assert!(count > 1000 && with_title > 25, "{count} trees, {with_title} with a title");
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}
