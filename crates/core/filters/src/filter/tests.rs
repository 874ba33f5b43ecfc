//! Tests which part of a filter decides about a URL or a page.

use std::collections::HashMap;

use everytab_frontier::{
    Attributes, CanonicalUrl, Link, LinkFilter as _, LinkFlags, ParameterList, PatternLists,
    RejectReason, UrlMatches, UrlPatterns,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    filter_set::FilterSet,
    list::{CountryRangesBuilder, ListFileKind, NameListBuilder},
};

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text, &ParameterList::default()).unwrap()
}

fn lists() -> HashMap<&'static str, LoadedList> {
    let names = |lines: &[(&str, &str)]| {
        let mut builder = NameListBuilder::default();
        for (category, line) in lines {
            builder.add_line(category, ListFileKind::Domains, line.as_bytes()).unwrap();
        }
        LoadedList::Names(Arc::new(NameList::open(Arc::new(builder.build())).unwrap()))
    };
    let mut ranges = CountryRangesBuilder::default();
    ranges.add_line(b"x|FR|ipv4|192.0.2.0|256|1|allocated").unwrap();
    let ranges = CountryRanges::open(Arc::new(ranges.build())).unwrap();
    HashMap::from([
        ("bad", names(&[("adult", "bad.example"), ("games", "play.example")])),
        ("good", names(&[("x", "good.example"), ("x", "bad.example")])),
        ("rir", LoadedList::Countries(Arc::new(ranges))),
    ])
}

fn filter(json: Value) -> FilterSet {
    let settings = FilterSettings::of_value(json).unwrap();
    let lists = lists();
    let filter = Filter::compile(&settings, |name| lists.get(name).cloned()).unwrap();
    FilterSet::new(vec![filter]).unwrap()
}

fn decided(set: &FilterSet, text: &str) -> String {
    shown(set.decide_url(&url(text), false))
}

fn shown(decision: Option<Decision>) -> String {
    decision.map_or("-".to_owned(), |found| format!("{} {}", found.verdict.as_str(), found.by))
}

#[test]
fn the_first_pattern_decides_then_lists_then_the_top_level_domain() {
    let set = filter(json!({
        "rules": [
            { "pattern": "*/robots-guide*", "verdict": "keep" },
            { "pattern": "*/old/*", "verdict": "drop" },
            { "pattern": "*.example/links/*", "verdict": "nofollow" },
            { "pattern": "*/links/*", "verdict": "keep" },
        ],
        "lists": [{ "name": "bad", "mode": "drop", "categories": ["adult"] }],
        "countries": { "drop": ["FR"] },
    }));
    for (text, expected) in [
        ("http://a.example/", "-"),
        ("http://a.example/old/x", "drop rules[1]"),
        ("http://a.example/old/robots-guide", "keep rules[0]"),
        ("http://bad.example/robots-guide", "keep rules[0]"),
        ("http://x.bad.example/", "drop lists[0]"),
        ("http://play.example/", "-"),
        ("http://a.example/links/x", "nofollow rules[2]"),
        ("http://bad.example/links/x", "drop lists[0]"),
        ("http://a.com/links/x", "keep rules[3]"),
        ("http://a.fr/", "drop countries: top-level domain of FR"),
        ("http://a.de/", "-"),
    ] {
        assert_eq!(decided(&set, text), expected, "{text}");
    }
    assert_eq!(decided(&FilterSet::default(), "http://bad.example/"), "-");
}

#[test]
fn keep_lists_are_combined_and_a_drop_list_wins() {
    let set = filter(json!({ "lists": [
        { "name": "good", "mode": "keep" },
        { "name": "bad", "mode": "drop", "categories": ["adult"] },
        { "name": "bad", "mode": "keep", "categories": ["games"] },
    ]}));
    for (text, expected) in [
        ("http://good.example/", "-"),
        ("http://play.example/", "-"),
        ("http://bad.example/", "drop lists[1]"),
        ("http://other.example/", "drop lists: not in any list with mode keep"),
    ] {
        assert_eq!(decided(&set, text), expected, "{text}");
    }
    let exempt = |text: &str| shown(set.decide_url(&url(text), true));
    assert_eq!(exempt("http://other.example/"), "-");
    assert_eq!(exempt("http://bad.example/"), "drop lists[1]");
}

#[test]
fn a_filter_rejects_links_and_seeds_are_exempt_from_keep_only_filters() {
    let set = filter(json!({
        "rules": [{ "pattern": "*/x", "verdict": "drop" },
                  { "pattern": "*/y", "verdict": "nofollow" }],
        "lists": [{ "name": "good", "mode": "keep" }],
        "countries": { "keep": ["DE"] },
    }));
    // A crawl compiles the patterns of all its filters, in order.
    let rules = PatternLists { filters: vec![vec!["*/x", "*/y"]], ..PatternLists::default() };
    let patterns = UrlPatterns::compile(&rules).unwrap();
    let refusal = |text: &str, flags| {
        let attributes = Attributes { flags, ..Attributes::default() };
        let url = url(text);
        let matches = patterns.matches(&url);
        set.refusal(&Link { url, attributes, via: None }, &matches)
    };
    let none = LinkFlags::default();
    assert_eq!(refusal("http://good.example/x", none), Some(RejectReason::FilterRule));
    assert_eq!(refusal("http://good.example/x", LinkFlags::SEED), Some(RejectReason::FilterRule));
    assert_eq!(refusal("http://good.example/y", none), None);
    assert_eq!(refusal("http://a.fr/", none), Some(RejectReason::FilterList));
    assert_eq!(refusal("http://a.fr/", LinkFlags::SEED), None);
    assert_eq!(refusal("http://a.example/i.png", LinkFlags::REQUISITE), None);
    let by_country = filter(json!({ "countries": { "keep": ["DE"] } }));
    let link = Link::submitted(url("http://a.fr/"), false, 0);
    let none = UrlMatches::default();
    assert_eq!(by_country.refusal(&link, &none), None);
    let attributes = Attributes::default();
    let refused = by_country.refusal(&Link { attributes, ..link }, &none);
    assert_eq!(refused, Some(RejectReason::FilterCountry));
}

#[test]
fn the_cheapest_checks_of_a_page_are_first() {
    let set = filter(json!({
        "rules": [{ "pattern": "kept.example", "verdict": "keep" },
                  { "pattern": "*/n", "verdict": "nofollow" }],
        "types": { "keep": ["text/*", "application/pdf"] },
        "countries": { "drop": ["FR"], "addresses": "rir" },
        "languages": { "keep": ["de"] },
        "words": { "weights": { "Casino": 3, "chess": -2 }, "threshold": 3,
                   "in": ["title", "text"] },
    }));
    assert!(set.is_complete() && set.needs_text() && set.needs_language());
    let page = PageContent { content_type: Some("text/html"), ..PageContent::default() };
    let in_france = Some("192.0.2.9".parse().unwrap());
    let cases = [
        ("http://a.com/", page, "-"),
        ("http://a.com/n", page, "nofollow rules[1]"),
        ("http://a.com/", PageContent { content_type: Some("image/png"), ..page }, "drop types"),
        ("http://a.com/", PageContent { content_type: None, ..page }, "-"),
        (
            "http://a.com/",
            PageContent { address: in_france, ..page },
            "drop countries: server address in FR",
        ),
        ("http://a.de/", PageContent { address: in_france, ..page }, "-"),
        ("http://a.com/n", PageContent { language: Some("eng"), ..page }, "drop languages: eng"),
        ("http://a.com/", PageContent { language: Some("deu"), ..page }, "-"),
        ("http://a.com/", PageContent { title: "CASINO!", ..page }, "drop words: 3"),
        ("http://a.com/", PageContent { title: "casino", text: "casino", ..page }, "drop words: 6"),
        ("http://a.com/", PageContent { text: "casino chess", ..page }, "-"),
        ("http://kept.example/", PageContent { title: "casino", ..page }, "keep rules[0]"),
    ];
    for (text, page, expected) in cases {
        assert_eq!(shown(set.decide_content(&url(text), &page)), expected, "{text} {page:?}");
    }
}

#[test]
fn a_missing_list_drops_nothing_and_keeps_possible_entries() {
    let settings = FilterSettings::of_value(json!({
        "lists": [{ "name": "absent", "mode": "drop" }, { "name": "gone", "mode": "keep" },
                  { "name": "good", "mode": "keep" }],
        "countries": { "drop": ["FR"], "addresses": "absent" },
    }));
    let lists = lists();
    let filter = Filter::compile(&settings.unwrap(), |name| lists.get(name).cloned()).unwrap();
    assert!(!filter.is_complete());
    let set = FilterSet::new(vec![filter]).unwrap();
    assert_eq!(decided(&set, "http://other.example/"), "-");
    assert!(!set.is_complete());
}

#[test]
fn a_list_of_another_kind_or_without_the_category_is_an_error() {
    let lists = lists();
    let error = |json: Value| {
        let settings = FilterSettings::of_value(json).unwrap();
        Filter::compile(&settings, |name| lists.get(name).cloned()).unwrap_err().to_string()
    };
    let kind = error(json!({ "lists": [{ "name": "rir", "mode": "drop" }] }));
    assert!(kind.starts_with("lists[0].name: "), "{kind}");
    let kind = error(json!({ "countries": { "drop": ["FR"], "addresses": "bad" } }));
    assert!(kind.starts_with("countries.addresses: "), "{kind}");
    let lists_of = json!([{ "name": "bad", "mode": "drop", "categories": ["adult", "no"] }]);
    let category = error(json!({ "lists": lists_of }));
    assert!(category.contains("lists[0].categories") && category.contains("\"no\""), "{category}");
}

#[test]
fn the_strictest_filter_decides_and_each_has_its_own_classifier() {
    let compile = |json: Value| {
        let settings = FilterSettings::of_value(json).unwrap();
        Filter::compile(&settings, |_| None).unwrap()
    };
    let classifier = |socket: &str| json!({ "socket": socket });
    let set = FilterSet::new(vec![
        compile(json!({ "rules": [{ "pattern": "*/a*", "verdict": "keep" }],
                        "classifier": classifier("/one") })),
        compile(json!({ "rules": [{ "pattern": "*/ab*", "verdict": "nofollow" }],
                        "classifier": classifier("/two") })),
        compile(json!({ "rules": [{ "pattern": "*/abc*", "verdict": "drop" }] })),
    ])
    .unwrap();
    for (path, verdict) in [("a", "keep"), ("ab", "nofollow"), ("abc", "drop")] {
        let decision = set.decide_url(&url(&format!("http://x.com/{path}")), false).unwrap();
        assert_eq!(decision.verdict.as_str(), verdict, "{path}");
    }
    let asked = |text: &str| {
        let asked: Vec<String> =
            set.classifiers(&url(text)).map(|asked| asked.socket.clone()).collect();
        asked.join(" ")
    };
    assert_eq!(asked("http://x.com/"), "/one /two");
    assert_eq!(asked("http://x.com/a"), "/two");
}

#[test]
fn a_test_reports_which_part_decides_about_each_url() {
    let set = filter(json!({ "rules": [{ "pattern": "*/x", "verdict": "drop" }] }));
    let tested = set.test(
        &["HTTP://A.example/x", "http://a.example/", "nonsense"],
        false,
        &ParameterList::default(),
    );
    assert_eq!(tested[0].key.as_deref(), Some("http://a.example/x"));
    assert_eq!(tested[0].decision.map(|found| found.by), Some(DecidedBy::Rule(0)));
    assert_eq!((tested[1].decision, tested[1].error.as_deref()), (None, None));
    assert!(tested[2].key.is_none() && tested[2].error.is_some());
}

proptest! {
    #[test]
    fn all_spellings_of_a_url_get_one_decision(path in "[a-c/]{0,8}", session in "[0-9]{1,5}") {
        let set = filter(json!({
            "rules": [{ "pattern": "re:/a+b", "verdict": "drop" }],
            "lists": [{ "name": "bad", "mode": "drop" }],
        }));
        let plain = decided(&set, &format!("http://x.bad.example/{path}"));
        let other = format!("HTTP://X.BAD.example:80/{path}?PHPSESSID={session}#f");
        prop_assert_eq!(decided(&set, &other), plain);
    }
}
