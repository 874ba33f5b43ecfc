//! Decodes any bytes as a page. The first line is the Content-Type. The text must not contain NUL,
//! because Postgres cannot store it.
#![no_main]

use everytab_webpage::{CharsetSource, understand};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let line_end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (line, body) = bytes.split_at(line_end);
    let body = body.strip_prefix(b"\n").unwrap_or(body);
    let headers = [("content-type".to_owned(), line.to_vec())];
    let page = understand("https://example.com/", &headers, body);
    let encoding = encoding_rs::Encoding::for_label(page.charset.as_bytes())
        .or_else(|| (page.charset == "replacement").then_some(encoding_rs::REPLACEMENT))
        .expect("an encoding's name is also one of its labels");
    assert!(encoding.name().eq_ignore_ascii_case(&page.charset));
    let has_mark = encoding_rs::Encoding::for_bom(body).is_some();
    assert_eq!(page.charset_source == CharsetSource::Bom, has_mark);
    assert!(!page.title.text.contains('\0'));
    assert!(page.icons.iter().all(|icon| !icon.href.contains('\0') && !icon.rel.contains('\0')));
});
