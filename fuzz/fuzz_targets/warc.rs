//! Reads any bytes as a WARC file. Offsets must not decrease, and parsing a response as a page must
//! not panic.
#![no_main]

use everytab_commoncrawl::warc::{Limits, Records};
use everytab_webpage::understand;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { max_block_bytes: 64 << 10, max_header_bytes: 8 << 10 };
    let mut last = 0;
    for (offset, record) in Records::new(bytes, limits) {
        assert!(last <= offset && offset < bytes.len() as u64, "{last}, then {offset}");
        last = offset;
        let Ok(record) = record else { continue };
        assert!(record.block.len() as u64 <= limits.max_block_bytes);
        let url = record.target_uri().unwrap_or_default();
        if let Ok(response) = record.http_response() {
            let _ = understand(&url, response.headers.fields(), &response.body);
        }
    }
});
