//! Decodes any bytes and counts the work. No file should cost more than three times the largest
//! plain PNG, and each attempt should get at most the file and a tail.
#![no_main]

use everytab_icon::{decode::decode_counted, work::MAX_FILE_PIXELS};
use libfuzzer_sys::fuzz_target;

/// Maximum attempts per file: three ICO entries, each decoded by two decoders.
const MAX_ATTEMPTS: u64 = 6;
/// Maximum bytes that an attempt adds to the file: a tail or a colour table.
const MORE_BYTES: u64 = 8 << 10;

fuzz_target!(|bytes: &[u8]| {
    let (_, work) = decode_counted(bytes);
    assert!(work.pixels <= MAX_FILE_PIXELS, "{work:?}");
    assert!(work.bytes <= MAX_ATTEMPTS * (bytes.len() as u64 + MORE_BYTES), "{work:?}");
});
