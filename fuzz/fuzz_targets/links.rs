//! Extracts links from any bytes. All limits must hold, and an independent HTML rewriter must find
//! the same links.
//!
//! Pages for which the two differ by design are skipped, and so are refresh links, because the
//! oracle supports only their usual form.
#![no_main]

use everytab_webpage::{
    LinkKind, LinkOrigin, LinkRequest, links::MAX_LINKS_PER_PAGE, understand,
    understand_with_links, url_rules::MAX_URL_BYTES,
};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/core/webpage/tests/webpage/links_oracle.rs"]
mod links_oracle;

const URL: &str = "https://example.com/a/b?c";

fuzz_target!(|bytes: &[u8]| {
    let request = LinkRequest { robot: "EveryTabBot", with_requisites: true };
    let (page, found) = understand_with_links(URL, &[], bytes, &request);
    assert_eq!(page, understand(URL, &[], bytes));
    assert!(found.links.len() <= MAX_LINKS_PER_PAGE);
    for link in &found.links {
        assert!(matches!(link.url.scheme(), "http" | "https"));
        assert!(link.url.as_str().len() <= MAX_URL_BYTES && link.url.fragment().is_none());
    }
    let pages = LinkRequest { with_requisites: false, ..request };
    let pages = understand_with_links(URL, &[], bytes, &pages).1;
    let is_page = |link: &&everytab_webpage::PageLink| link.origin.kind() == LinkKind::Page;
    if bytes.len() < MAX_URL_BYTES {
        assert!(pages.links.iter().eq(found.links.iter().filter(is_page)));
        compare(bytes);
    }
});

fn compare(bytes: &[u8]) {
    let Ok(html) = std::str::from_utf8(bytes) else { return };
    let lower = html.to_ascii_lowercase();
    if ["<svg", "<math", "<template", "<frameset", "\0"].iter().any(|word| lower.contains(word)) {
        return;
    }
    let is_value_missing = |(at, _): (usize, &str)| html[at + 1..].trim_start().starts_with('>');
    if html.match_indices('=').any(is_value_missing) {
        return;
    }
    let headers = [("content-type".to_owned(), b"text/html;charset=utf-8".to_vec())];
    let request = LinkRequest { robot: "EveryTabBot", with_requisites: true };
    let ours = understand_with_links(URL, &headers, bytes, &request).1.links;
    let ours = ours.into_iter().map(|link| (link.origin, String::from(link.url), link.is_nofollow));
    let theirs = links_oracle::links(URL, html).into_iter();
    let is_compared = |link: &links_oracle::FoundLink| link.0 != LinkOrigin::Refresh;
    let (ours, theirs): (Vec<_>, Vec<_>) =
        (ours.filter(is_compared).collect(), theirs.filter(is_compared).collect());
    assert_eq!(ours, theirs);
}
