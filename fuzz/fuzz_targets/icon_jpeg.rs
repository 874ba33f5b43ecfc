//! Any bytes that begin as a JPEG: pixels or a refusal, in time.
#![no_main]

use everytab_icon::sniff::Format;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus { everytab_fuzz::decoded(&[Format::Jpeg], bytes) });
