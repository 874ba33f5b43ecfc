//! Reads any bytes as a Parquet index file. Captures and counts must add up, or this must return an
//! error.
#![no_main]

use bytes::Bytes;
use everytab_commoncrawl::index::{IndexOptions, read_bytes};
use libfuzzer_sys::fuzz_target;

// The reader turns panics of the parquet crate into errors. libFuzzer's panic hook would end the
// process before that; without the hook an uncaught panic still ends it.
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
