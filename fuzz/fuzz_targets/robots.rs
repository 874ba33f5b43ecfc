//! Parses any bytes as a robots.txt file. The first line is also the requested path. The decision
//! must match the deciding rule.
#![no_main]

use everytab_webpage::{
    CrawlDelay, RobotsTxt,
    robots::{MAX_CRAWL_DELAY, MAX_SITEMAPS},
    url_rules::MAX_URL_BYTES,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let line_end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let path = format!("/{}", String::from_utf8_lossy(&bytes[..line_end]));
    let robots = RobotsTxt::parse(bytes);
    let first = robots.allowed("everytab", &path);
    assert_eq!(first, RobotsTxt::parse(bytes).allowed("EveryTab", &path), "case matters");
    let rule = robots.deciding_rule("everytab", &path);
    assert!(first || rule.is_some_and(|rule| !rule.allow));
    if let Some(CrawlDelay::Wait(delay)) = robots.crawl_delay("everytab") {
        assert!(delay <= MAX_CRAWL_DELAY);
    }
    assert!(robots.sitemaps().len() <= MAX_SITEMAPS);
    for sitemap in robots.sitemaps() {
        assert!(sitemap.len() <= MAX_URL_BYTES && sitemap.starts_with("http"));
    }
});
