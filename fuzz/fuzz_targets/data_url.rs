//! Parses any string as a `data:` URL. This must not return more than `MAX_BYTES`.
#![no_main]

use everytab_webpage::data_url::decode;
use libfuzzer_sys::fuzz_target;

const MAX_BYTES: usize = 4_096;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for url in [text.as_ref(), &format!("data:{text}"), &format!("data:;base64,{text}")] {
        if let Ok(data) = decode(url, MAX_BYTES) {
            assert!(data.bytes.len() <= MAX_BYTES && data.bytes.len() <= url.len());
        }
    }
});
