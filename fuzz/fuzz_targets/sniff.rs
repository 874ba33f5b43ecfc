//! Measures any bytes as an icon without decoding them. The format must match the detected one, and
//! the size of a small raster image must match the decoded image.
#![no_main]

use everytab_icon::{
    Format,
    decode::decode,
    measure::{check_sides, measure},
    sniff::{identify, sniff},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let sniffed = sniff(bytes);
    assert_eq!(identify(bytes).ok(), sniffed);
    let Ok(measured) = measure(bytes) else { return };
    assert_eq!(Some(measured.format), sniffed);
    let is_svg = measured.format == Format::Svg;
    assert!(is_svg || (measured.width > 0 && measured.height > 0), "{measured:?}");
    // Decode small images to compare their size. Skip ICO and CUR, because the decoder uses another
    // entry if the best entry is broken.
    let has_several = matches!(measured.format, Format::Ico | Format::Cur);
    let is_small = u64::from(measured.width) * u64::from(measured.height) <= 4_096;
    if is_svg || has_several || !is_small || check_sides(&measured).is_err() {
        return;
    }
    if let Ok((format, pixels)) = decode(bytes) {
        let sides = (pixels.width(), pixels.height());
        let said = (measured.width, measured.height);
        // The EXIF orientation may rotate a JPEG by 90 degrees.
        assert!(said == sides || said == (sides.1, sides.0), "{format:?}: {said:?}, {sides:?}");
    }
});
