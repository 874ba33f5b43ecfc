//! What must hold for the bytes of one image format, whatever they are: they are decoded or
//! refused, no decoder panics, and it takes no longer than a worker can spare.

use everytab_icon::IconError;
use everytab_icon::decode::decode;
use everytab_icon::sniff::{Format, sniff};
use libfuzzer_sys::Corpus;

/// Time on the processor that one icon may take; ten times as much with the fuzzer's counters and
/// other programs on the same core.
const MOST_NANOSECONDS: u64 = 10 * 200_000_000;

/// Decodes `bytes` where they are of one of `formats`.
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

/// What this thread has had of the processor; 0 where the system does not say.
fn processor_nanoseconds() -> u64 {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    said.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}
