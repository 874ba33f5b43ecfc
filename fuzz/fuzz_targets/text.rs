//! Extracts the text from any bytes. All limits must hold, and the page and its links must stay the
//! same.
#![no_main]

use everytab_webpage::{
    LinkRequest, TextRequest, plain_text, understand, understand_with_links,
    understand_with_links_and_text, understand_with_text,
};
use libfuzzer_sys::fuzz_target;

const URL: &str = "https://example.com/a/b?c";

fuzz_target!(|bytes: &[u8]| {
    let (limit, body) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    let short = TextRequest { max_bytes: usize::from(limit) };
    let long = TextRequest { max_bytes: 4 << 20 };
    for text in [understand_with_text(URL, &[], body, &short).1, plain_text(&[], body, &short)] {
        assert!(text.text.len() <= short.max_bytes);
        assert!(text.text.chars().all(|c| c == '\n' || !c.is_control()));
        assert_eq!(text.text.trim(), text.text);
    }
    let (page, whole) = understand_with_text(URL, &[], body, &long);
    assert_eq!(page, understand(URL, &[], body));
    let links = LinkRequest { robot: "EveryTabBot", with_requisites: true };
    let (_, found, text) = understand_with_links_and_text(URL, &[], body, (&links, &long));
    assert_eq!((&found, &text), (&understand_with_links(URL, &[], body, &links).1, &whole));
});
