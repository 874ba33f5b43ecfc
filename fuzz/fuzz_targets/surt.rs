//! Converts any string to its key in the index. This key must be printable ASCII without spaces,
//! and a fragment must not change it.
#![no_main]

use everytab_commoncrawl::{MAX_URL_BYTES, surt};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let url = String::from_utf8_lossy(bytes);
    let Ok(key) = surt(&url) else { return };
    assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "{key:?}");
    assert!(key.contains(")/"), "{key:?}");
    // One character in a hostname can become up to 18 characters.
    assert!(key.len() <= 32 * url.len() + 16, "{key:?}");
    let without_end = url.trim_end_matches(|c: char| c.is_ascii_whitespace());
    let with_fragment = format!("{without_end}#\u{e9}");
    if with_fragment.len() <= MAX_URL_BYTES {
        assert_eq!(surt(&with_fragment).as_ref(), Ok(&key));
    }
});
