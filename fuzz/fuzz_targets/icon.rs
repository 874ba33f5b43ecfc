//! Converts any bytes as an icon. This must return an error, or a small PNG that can be decoded.
#![no_main]

use everytab_icon::convert::{TabIcon, to_tab_icon};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(TabIcon { png, width, height, .. }) = to_tab_icon(bytes) else { return };
    assert!((1..=32).contains(&width) && (1..=32).contains(&height), "{width}x{height}");
    let again = to_tab_icon(bytes).expect("the result is deterministic");
    assert_eq!(png, again.png);
    // Skip PNGs of at most 2x2 pixels, to which very thin images are scaled down.
    if width.max(height) > 2 {
        let (measured, pixels) = everytab_icon::decode::decode(&png).expect("our PNGs decode");
        assert_eq!((pixels.width(), pixels.height()), (width, height), "{measured:?}");
    }
});
