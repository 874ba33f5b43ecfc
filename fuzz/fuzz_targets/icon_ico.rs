//! Decodes any bytes that start like an ICO or CUR. This must return pixels or an error within the
//! time limit.
#![no_main]

use everytab_icon::Format;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    everytab_fuzz::decoded(&[Format::Ico, Format::Cur], bytes)
});
