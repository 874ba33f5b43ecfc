//! Parses any bytes as the HTTP message in a WARC record. This must return an error, or a response
//! with a valid status and valid headers.
#![no_main]

use everytab_commoncrawl::warc::{Limits, read_record};
use libfuzzer_sys::fuzz_target;

const MAX_BODY_BYTES: usize = 6 << 20;

fuzz_target!(|message: &[u8]| {
    let head = format!("WARC/1.0\r\nWARC-Type: response\r\nContent-Length: {}\r\n", message.len());
    let bytes = [head.as_bytes(), b"\r\n", message].concat();
    let record = read_record(&bytes, Limits::default()).expect("the record is complete");
    assert_eq!(record.block, message);
    let Ok(response) = record.http_response() else { return };
    assert!((100..=999).contains(&response.status), "{}", response.status);
    assert!(response.body.len() <= MAX_BODY_BYTES.max(message.len()), "{}", response.body.len());
    for (name, value) in response.headers.fields() {
        assert!(!name.is_empty() && !name.bytes().any(|byte| byte.is_ascii_uppercase()), "{name}");
        assert!(!value.contains(&b'\n'));
    }
    assert_eq!(Ok(response), record.http_response());
});
