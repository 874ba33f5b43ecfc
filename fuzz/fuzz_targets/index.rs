//! Reads any bytes as an index file. This must return an error, or captures that match the counts.
#![no_main]

use bytes::Bytes;
use everytab_commoncrawl::index::{IndexOptions, read_bytes};
use libfuzzer_sys::fuzz_target;

// Replace libFuzzer's panic hook, because it would end the process before the reader catches a
// panic of the parquet crate. An uncaught panic still ends the process.
static HOOK: std::sync::Once = std::sync::Once::new();

fuzz_target!(|bytes: &[u8]| {
    HOOK.call_once(|| std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))));
    let mut file = read_bytes(&Bytes::copy_from_slice(bytes), IndexOptions::default());
    let mut given = 0;
    for capture in file.by_ref() {
        if capture.is_err() {
            return;
        }
        given += 1;
    }
    let counts = file.counts().expect("a file without an error has counts");
    assert!(counts.add_up() && counts.captures == given, "{given} given, {counts:?}");
});
