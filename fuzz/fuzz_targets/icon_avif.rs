//! Decodes any bytes that start like an AVIF. This must return pixels or an error within the time
//! limit. If the decoder panics, the process exits and the run fails.
#![no_main]

use everytab_icon::Format;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus { everytab_fuzz::decoded(&[Format::Avif], bytes) });
