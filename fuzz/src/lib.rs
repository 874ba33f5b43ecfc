//! Checks that image decoders return within a time limit and never panic.

use everytab_icon::{Format, IconError, decode::decode, sniff::sniff};
use libfuzzer_sys::Corpus;

/// Maximum CPU time per icon in nanoseconds: ten times the usual limit, because the fuzzer's
/// instrumentation and other programs slow down decoding.
const MOST_NANOSECONDS: u64 = 10 * 200_000_000;

/// Decodes `bytes` if they are in one of `formats`, and checks the result. Otherwise tells the
/// fuzzer not to keep this input.
pub fn decoded(formats: &[Format], bytes: &[u8]) -> Corpus {
    if !sniff(bytes).is_some_and(|format| formats.contains(&format)) {
        return Corpus::Reject;
    }
    let before = processor_nanoseconds();
    let result = decode(bytes);
    let taken = processor_nanoseconds().saturating_sub(before);
    assert!(taken <= MOST_NANOSECONDS, "{taken} ns");
    match result {
        Ok((_, pixels)) => assert!(pixels.width().max(pixels.height()) <= 2048),
        Err(error) => {
            assert!(!matches!(error, IconError::DecoderPanicked { .. }), "{error}");
        }
    }
    Corpus::Keep
}

/// Returns this thread's CPU time, or 0 if the system does not report it.
fn processor_nanoseconds() -> u64 {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    said.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}
