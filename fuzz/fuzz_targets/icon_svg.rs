//! Decodes any bytes that start like an SVG, and checks that the counted work is within its limit.
#![no_main]

use everytab_icon::{Format, MAX_SVG_WORK, svg_work};
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    if let Ok(work) = svg_work(bytes) {
        assert!(work <= MAX_SVG_WORK, "{work} units");
    }
    everytab_fuzz::decoded(&[Format::Svg], bytes)
});
