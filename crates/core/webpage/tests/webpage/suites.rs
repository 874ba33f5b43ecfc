//! Public test suites, converted to the data files in `suites/` (its README.md lists the sources).

use std::collections::BTreeMap;

use everytab_webpage::{CharsetSource, RobotsTxt, TitleState, understand};
use serde::Deserialize;
use url::{Position, Url};

const URL: &str = "https://example.com/";

fn with_content_type(value: &str) -> Vec<(String, Vec<u8>)> {
    vec![("content-type".to_owned(), value.as_bytes().to_vec())]
}

#[test]
fn every_html5lib_encoding_case_gives_its_encoding() {
    let cases: Vec<(String, String, String)> =
        serde_json::from_str(include_str!("suites/html5lib_encoding.json")).unwrap();
    assert_eq!(cases.len(), 82);
    let mut wrong = Vec::new();
    for (file, data, label) in &cases {
        let bytes: Vec<u8> = data.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        let found = understand(URL, &[], &bytes).charset;
        let expected = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap().name();
        if !expected.eq_ignore_ascii_case(&found) {
            wrong.push(format!("{file}: {found} not {expected}: {data}"));
        }
    }
    assert!(wrong.is_empty(), "{} of 82 wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn every_encoding_standard_label_gives_its_encoding() {
    let labels: BTreeMap<String, Vec<String>> =
        serde_json::from_str(include_str!("suites/labels.json")).unwrap();
    let all: Vec<(&str, &str)> = labels
        .iter()
        .flat_map(|(name, labels)| labels.iter().map(|label| (name.as_str(), label.as_str())))
        .collect();
    assert_eq!((labels.len(), all.len()), (40, 228));
    for (name, label) in all {
        let spaced = format!("text/html; charset=\" {} \"", label.to_ascii_uppercase());
        for header in [format!("text/html;charset={label}"), spaced] {
            let found = understand(URL, &with_content_type(&header), b"");
            assert_eq!((found.charset.as_str(), found.charset_source), (name, CharsetSource::Http));
        }
        // In a `meta`, UTF-16 means UTF-8, and x-user-defined means windows-1252.
        let in_meta = match name {
            "utf-16le" | "utf-16be" => "utf-8",
            "x-user-defined" => "windows-1252",
            name => name,
        };
        let found = understand(URL, &[], format!("<meta charset='{label}'>").as_bytes());
        assert_eq!((found.charset.as_str(), found.charset_source), (in_meta, CharsetSource::Meta));
    }
}

#[test]
fn every_html5lib_tree_gives_its_title() {
    let cases: Vec<(String, String, Option<String>)> =
        serde_json::from_str(include_str!("suites/html5lib_titles.json")).unwrap();
    let with_title = cases.iter().filter(|(_, _, title)| title.is_some()).count();
    assert_eq!((cases.len(), with_title), (1573, 31));
    let mut wrong = Vec::new();
    for (file, data, expected) in &cases {
        let headers = with_content_type("text/html;charset=utf-8");
        let found = understand(URL, &headers, data.as_bytes()).title;
        let found = (found.state != TitleState::Absent).then_some(found.text);
        if found != *expected {
            wrong.push(format!("{file}: {found:?}, not {expected:?}: {data}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}

#[derive(Deserialize)]
struct RobotsCase {
    name: String,
    robots: String,
    checks: Vec<(String, String, bool)>,
}

fn long(text: &str) -> String {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, run)) = rest.split_once('{') {
        let (run, after) = run.split_once('}').unwrap();
        let (what, times) = run.split_once('*').unwrap();
        whole += before;
        whole += &what.repeat(times.parse().unwrap());
        rest = after;
    }
    whole + rest
}

fn path_and_query(url: &str) -> &str {
    let after = url.split_once("://").map_or(url, |(_, rest)| rest);
    after.find('/').map_or("", |at| &after[at..])
}

#[test]
fn every_case_in_googles_robots_suite_is_decided_alike() {
    let cases: Vec<RobotsCase> = serde_json::from_str(include_str!("suites/robots.json")).unwrap();
    let mut count = 0;
    let mut wrong = Vec::new();
    for case in &cases {
        let robots = RobotsTxt::parse(long(&case.robots).as_bytes());
        for (agent, url, expected) in &case.checks {
            count += 1;
            if robots.allowed(agent, path_and_query(&long(url))) != *expected {
                wrong.push(format!("{}: {agent} {url}: not {expected}", case.name));
            }
        }
    }
    assert_eq!(count, 141);
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Google's cases in TestGetPathParamsQuery, except URLs without a scheme, which cannot occur here.
#[test]
fn the_requested_path_equals_googles() {
    for (url, path) in [
        ("http://www.example.com", "/"),
        ("http://www.example.com/", "/"),
        ("http://www.example.com/a", "/a"),
        ("http://www.example.com/a/", "/a/"),
        ("http://www.example.com/a/b?c=http://d.e/", "/a/b?c=http://d.e/"),
        ("http://www.example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
        ("http://example.com?a", "/?a"),
        ("http://example.com/a;b#c", "/a;b"),
    ] {
        let url = Url::parse(url).unwrap();
        assert_eq!(&url[Position::BeforePath..Position::AfterQuery], path);
    }
}
