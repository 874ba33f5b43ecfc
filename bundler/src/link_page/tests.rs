//! Tests of link pages.

use super::*;
use crate::map::MapLayout;

const PREFIX: &str = "scans/01900000-0000-7000-8000-000000000001/";

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The page's own tests visit a copy of this page, `site/tests/link-page.html`.
fn page() -> LinkPage {
    let map = MapLayout::new(1_000, 121).unwrap().manifest();
    LinkPage {
        bundle: 7,
        tabs: 119,
        first: Some(833),
        names: names(&["wikipedia.org", "www.example.com", "xn--bcher-kva.example"]),
        prefix: PREFIX.to_owned(),
        site_url: Some("https://tabs.example/".to_owned()),
        script: "js/link.0123456789abcdef.js".to_owned(),
        picture: LinkPicture::of_bundle(&map, PREFIX, 7),
    }
}

#[test]
fn crawlers_read_title_address_and_picture() {
    let html = page().write();
    let tile = format!("https://tabs.example/{PREFIX}map/0/1-0.jpg");
    let title = "wikipedia.org, www.example.com and 117 more sites";
    let description =
        "119 neighbours on EveryTab, with a browser tab for every website. Find yours.";
    for tag in [
        format!("<title>{title} · EveryTab</title>"),
        format!("<meta name=\"description\" content=\"{description}\">"),
        "<link rel=\"canonical\" href=\"https://tabs.example/t/7.html\">".to_owned(),
        "<meta property=\"og:url\" content=\"https://tabs.example/t/7.html\">".to_owned(),
        "<meta property=\"og:type\" content=\"website\">".to_owned(),
        format!("<meta property=\"og:title\" content=\"{title}\">"),
        format!("<meta property=\"og:description\" content=\"{description}\">"),
        format!("<meta property=\"og:image\" content=\"{tile}\">"),
        "<meta property=\"og:image:width\" content=\"528\">".to_owned(),
        "<meta property=\"og:image:height\" content=\"528\">".to_owned(),
        format!("<meta property=\"og:image:alt\" content=\"{ALT}\">"),
        "<meta name=\"twitter:card\" content=\"summary_large_image\">".to_owned(),
        "<script src=\"../js/link.0123456789abcdef.js\"></script>".to_owned(),
        "<li>xn--bcher-kva.example</li>".to_owned(),
    ] {
        assert_eq!(html.matches(&format!("{tag}\n")).count(), 1, "{tag} in {html}");
    }
    assert!(html.contains("<a href=\"../#site=wikipedia.org\">"), "{html}");
    assert_eq!(html, include_str!("../../../site/tests/link-page.html"));
}

#[test]
fn a_page_without_the_sites_url_names_none_and_its_picture_by_a_relative_one() {
    let html = LinkPage { site_url: None, ..page() }.write();
    assert!(!html.contains("canonical") && !html.contains("og:url"), "{html}");
    assert!(!html.contains("https://"), "{html}");
    let picture = format!("<meta property=\"og:image\" content=\"../{PREFIX}map/0/1-0.jpg\">");
    assert!(html.contains(&picture), "{html}");
    let html = LinkPage { picture: None, ..page() }.write();
    assert!(!html.contains("og:image"), "{html}");
    assert!(html.contains("<meta name=\"twitter:card\" content=\"summary\">"), "{html}");
}

#[test]
fn titles_have_up_to_three_names_and_count_the_rest() {
    let title = |tabs, list: &[&str]| LinkPage { tabs, names: names(list), ..page() }.title();
    let long = format!("{}.example", "x".repeat(60));
    assert_eq!(title(0, &[]), "EveryTab: every website, a tab");
    assert_eq!(title(1, &["a.org"]), "a.org");
    assert_eq!(title(2, &["a.org", "b.org"]), "a.org and b.org");
    assert_eq!(title(3, &["a.org", "b.org", "c.org"]), "a.org, b.org and c.org");
    let four = ["a.org", "b.org", "c.org", "d.org"];
    assert_eq!(title(4, &four), "a.org, b.org, c.org and 1 more site");
    assert_eq!(title(9, &four), "a.org, b.org, c.org and 6 more sites");
    assert_eq!(title(2, &["a.org", &long]), "a.org and 1 more site");
    assert_eq!(title(2, &[&long, "a.org"]), format!("{long} and 1 more site"));
}

#[test]
fn hostile_names_are_text_and_pages_are_read_back() {
    let hostile = names(&["\"><script>alert(1)</script>", "a&amp;b.example", "-odd_.example"]);
    let pages = [
        page(),
        LinkPage { site_url: None, ..page() },
        LinkPage { picture: None, ..page() },
        LinkPage { first: None, ..page() },
        LinkPage { names: hostile.clone(), tabs: 3, ..page() },
        LinkPage { names: Vec::new(), tabs: 0, prefix: String::new(), ..page() },
        LinkPage { site_url: Some("https://tabs.example/\"<&/".to_owned()), ..page() },
    ];
    for page in pages {
        let html = page.write();
        assert_eq!(LinkPage::read(7, html.as_bytes()).as_ref(), Some(&page), "{html}");
        assert_eq!(html.matches("<script").count(), 1, "{html}");
    }
    let html = LinkPage { names: hostile, ..page() }.write();
    assert!(html.contains("&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    for other in [b"".as_slice(), b"<html>", b"\xff"] {
        assert_eq!(LinkPage::read(7, other), None);
    }
    assert_eq!(LinkPage::read(8, page().write().as_bytes()).unwrap().site_url, None);
}

#[test]
fn an_empty_bundle_has_a_page_that_leads_to_the_whole() {
    let html = LinkPage { names: Vec::new(), tabs: 0, script: String::new(), ..page() }.write();
    assert!(html.contains("<title>EveryTab: every website, a tab</title>"), "{html}");
    assert!(html.contains("data-site=\"\"") && html.contains("<a href=\"../\">"), "{html}");
    assert!(!html.contains("<ul>") && !html.contains("<script"), "{html}");
}

#[test]
fn a_page_of_ordinary_names_has_two_kilobytes_at_most() {
    let names = (0..LISTED_NAMES).map(|at| format!("www.ordinary-name-{at}.example")).collect();
    let page = LinkPage { names, first: Some(30_000_000), ..page() };
    let bytes = page.write().len();
    assert!(bytes <= 2_048, "{bytes}");
}

#[test]
fn the_best_known_names_do_not_depend_on_the_order_of_adding() {
    let hosts: Vec<(String, Option<u32>)> = (0..30_u32)
        .map(|at| {
            let name = format!("{}-{at}.example", "x".repeat((at % 4) as usize));
            (name, (at % 5 == 0).then_some(1_000 - at))
        })
        .collect();
    let best_of = |hosts: &mut dyn Iterator<Item = &(String, Option<u32>)>| {
        let mut best = BestKnown::default();
        hosts.for_each(|(name, rank)| best.add(name, *rank));
        best
    };
    let best = best_of(&mut hosts.iter());
    assert_eq!(best, best_of(&mut hosts.iter().rev()));
    assert_eq!(best.tabs(), 30);
    let found = best.names();
    assert_eq!(found.len(), LISTED_NAMES);
    assert_eq!(found[..2], ["x-25.example", "-20.example"]);
    assert_eq!(found[3..], ["xx-10.example", "x-5.example", "-0.example"]);
}
