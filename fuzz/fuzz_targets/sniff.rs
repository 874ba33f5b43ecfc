//! Any bytes as an icon that is looked at and not decoded: what is said of it is bounded and holds
//! for its decoder, the directory of an ICO and the root of an SVG included.
#![no_main]

use everytab_icon::decode::decode;
use everytab_icon::measure::{check_sides, measure};
use everytab_icon::sniff::{Format, identify, sniff};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let sniffed = sniff(bytes);
    assert_eq!(identify(bytes).ok(), sniffed);
    let Ok(measured) = measure(bytes) else { return };
    assert_eq!(Some(measured.format), sniffed);
    let is_svg = measured.format == Format::Svg;
    assert!(is_svg || (measured.width > 0 && measured.height > 0), "{measured:?}");
    // Small ones are decoded too: the header must have said what they are. Of an ICO another
    // picture is drawn where the best one is broken.
    let has_several = matches!(measured.format, Format::Ico | Format::Cur);
    let is_small = u64::from(measured.width) * u64::from(measured.height) <= 4_096;
    if is_svg || has_several || !is_small || check_sides(&measured).is_err() {
        return;
    }
    if let Ok((format, pixels)) = decode(bytes) {
        let sides = (pixels.width(), pixels.height());
        let said = (measured.width, measured.height);
        // EXIF may say that a JPEG lies on its side.
        assert!(said == sides || said == (sides.1, sides.0), "{format:?}: {said:?}, {sides:?}");
    }
});
