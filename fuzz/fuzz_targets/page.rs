//! Parses any bytes as a home page. The first line is the value of several response headers. All
//! limits must hold.
#![no_main]

use everytab_webpage::{
    candidates,
    candidates::{MAX_DATA_URL_BYTES, MAX_DECLARED},
    tab_title, understand,
    url_rules::MAX_URL_BYTES,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let line_end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (line, body) = bytes.split_at(line_end);
    let headers: Vec<_> = ["content-type", "content-security-policy", "x-frame-options", "link"]
        .iter()
        .map(|name| ((*name).to_owned(), line.to_vec()))
        .collect();
    let page = understand("https://example.com/", &headers, body);
    let found = candidates(&page);
    assert!(found.list.len() <= MAX_DECLARED + 1);
    let longest = MAX_URL_BYTES.max(MAX_DATA_URL_BYTES);
    assert!(found.list.iter().all(|icon| icon.url.len() <= longest));
    assert!(tab_title(&page.title.text).chars().count() <= 300);
    assert_eq!(page, understand("https://example.com/", &headers, body));
});
