//! Decodes any bytes that start like a PNG.
#![no_main]

use everytab_icon::Format;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus { everytab_fuzz::decoded(&[Format::Png], bytes) });
