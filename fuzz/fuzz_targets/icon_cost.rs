//! Decodes any bytes as an icon, and checks that the counted work is within its limits.
#![no_main]

use everytab_icon::{decode::decode_counted, work::MAX_FILE_PIXELS};
use libfuzzer_sys::fuzz_target;

/// Maximum attempts per file: three ICO entries, and two decoders for each.
const MAX_ATTEMPTS: u64 = 6;
/// Maximum bytes that an attempt adds to the file, such as a colour table.
const MORE_BYTES: u64 = 8 << 10;

fuzz_target!(|bytes: &[u8]| {
    let (_, work) = decode_counted(bytes);
    assert!(work.pixels <= MAX_FILE_PIXELS, "{work:?}");
    assert!(work.bytes <= MAX_ATTEMPTS * (bytes.len() as u64 + MORE_BYTES), "{work:?}");
});
