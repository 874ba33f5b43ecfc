//! Decodes any bytes that begin as an AVIF: they give pixels or an error, within the time limit. A
//! panic of its decoder ends the process, and so the run.
#![no_main]

use everytab_icon::Format;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus { everytab_fuzz::decoded(&[Format::Avif], bytes) });
