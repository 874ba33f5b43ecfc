//! Parses any string as a crawl URL, with the first line as its parameter list. The key of the key
//! must be the key itself.
#![no_main]

use std::sync::LazyLock;

use everytab_frontier::{
    CanonicalUrl, Link, MAX_URL_BYTES, ParameterList, Rules, SuffixList, shape_hash, slot_of_site,
};
use libfuzzer_sys::fuzz_target;

static SUFFIXES: LazyLock<SuffixList> = LazyLock::new(SuffixList::default);
static RULES: LazyLock<Rules> = LazyLock::new(Rules::default);

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (list, text) = text.split_once('\n').unwrap_or(("", &text));
    check(text, &ParameterList::default());
    if let Ok(parameters) = ParameterList::parse(&list.replace(' ', "\n")) {
        check(text, &parameters);
    }
});

fn check(text: &str, parameters: &ParameterList) {
    let Ok(url) = CanonicalUrl::parse(text, parameters) else { return };
    assert!(url.key().len() <= MAX_URL_BYTES && url.fetched().len() <= MAX_URL_BYTES);
    assert!(url.key().is_ascii() && url.fetched().is_ascii());
    let again = CanonicalUrl::parse(url.key(), parameters).expect("a key is a URL");
    assert_eq!((again.key(), again.hash()), (url.key(), url.hash()));
    assert_eq!(again.fetched(), url.key());
    let fetched = CanonicalUrl::parse(url.fetched(), parameters);
    assert_eq!(fetched.as_ref(), Ok(&url), "the URL that is fetched has the same key");
    assert!(url.path_and_query().starts_with('/'));
    let site = SUFFIXES.site_of(url.host());
    assert!(url.host().ends_with(site) && SUFFIXES.site_of(site) == site);
    let _ = (slot_of_site(site), shape_hash(url.path_and_query()));
    let link = Link::submitted(url, true, 0);
    let _ = RULES.refusal(&link, &RULES.matches(&link));
}
