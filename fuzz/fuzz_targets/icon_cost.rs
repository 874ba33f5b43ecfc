//! Decodes any bytes and counts the work. No file may cost more than three times as much as the
//! largest PNG. Each attempt may process the file's bytes and only a few more.
#![no_main]

use everytab_icon::{decode::decode_counted, work::MAX_FILE_PIXELS};
use libfuzzer_sys::fuzz_target;

/// Maximum number of attempts per file: three ICO entries, and two decoders for each.
const MAX_ATTEMPTS: u64 = 6;
/// Maximum number of bytes that an attempt adds to the file, such as a colour table.
const MORE_BYTES: u64 = 8 << 10;

fuzz_target!(|bytes: &[u8]| {
    let (_, work) = decode_counted(bytes);
    assert!(work.pixels <= MAX_FILE_PIXELS, "{work:?}");
    assert!(work.bytes <= MAX_ATTEMPTS * (bytes.len() as u64 + MORE_BYTES), "{work:?}");
});
