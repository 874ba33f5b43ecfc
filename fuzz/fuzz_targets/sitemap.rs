//! Parses any bytes as a sitemap. The number and length of URLs must be within the limits.
#![no_main]

use everytab_webpage::{MAX_SITEMAP_ENTRIES, read_sitemap, url_rules::MAX_URL_BYTES};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let found = read_sitemap(bytes);
    assert_eq!(found, read_sitemap(bytes));
    for list in [&found.pages, &found.alternates, &found.sitemaps] {
        assert!(list.len() <= MAX_SITEMAP_ENTRIES);
        for url in list {
            assert!(url.len() <= MAX_URL_BYTES && url.starts_with("http"));
        }
    }
});
