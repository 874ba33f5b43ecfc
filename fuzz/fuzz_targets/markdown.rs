//! Converts any bytes to Markdown. All limits must hold, the simplified HTML must be properly
//! nested, and no library may panic.
#![no_main]

use everytab_markdown::{PagePart, markdown};
use everytab_webpage::{simplify, understand};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let page = understand("https://example.com/a/b?c", &[], body);
    let simple = simplify(&page.decode(body), page.base.as_ref(), 64 << 10);
    assert!(simple.html.len() <= (64 << 10) + (8 << 10));
    let mut open = Vec::new();
    for tag in simple.html.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        let name = tag.split(' ').next().unwrap();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if matches!(name, "br" | "hr" | "img") => {}
            None => open.push(name),
        }
        assert!(open.len() <= 65);
    }
    assert!(open.is_empty());
    for content in [PagePart::Main, PagePart::Whole] {
        let found = markdown(&page, body, content, 1 << 20).unwrap();
        assert!(found.text.len() <= 1 << 20);
    }
});
