//! Any bytes as an icon that is looked at and not decoded: what is said of it is bounded and holds
//! for its decoder, the directory of an ICO and the root of an SVG included.
#![no_main]

use everytab_bundler::decode::decode;
use everytab_bundler::measure::{check_sides, measure};
use everytab_bundler::sniff::{Format, identify, looks_like_html, sniff};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let sniffed = sniff(bytes);
    looks_like_html(bytes);
    assert_eq!(identify(bytes).ok(), sniffed.filter(|_| identify(bytes).is_ok()));
    let Ok(measured) = measure(bytes) else { return };
    assert_eq!(Some(measured.format), sniffed);
    let is_svg = measured.format == Format::Svg;
    assert!(is_svg || (measured.width > 0 && measured.height > 0), "{measured:?}");
    // Small ones are decoded too: the header must have said what they are.
    if !is_svg && check_sides(&measured).is_ok() && measured.width * measured.height <= 4_096 {
        if let Ok((format, pixels)) = decode(bytes) {
            let sides = (pixels.width(), pixels.height());
            let turned = (sides.1, sides.0);
            let said = (measured.width, measured.height);
            assert!(said == sides || said == turned, "{format:?}: {said:?}, {sides:?}");
        }
    }
});
