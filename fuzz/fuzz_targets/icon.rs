//! Converts any bytes as an icon. This must give a small PNG that can be converted again, or a
//! classified error.
#![no_main]

use everytab_icon::convert::{TabIcon, to_tab_icon};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(TabIcon { png, width, height, .. }) = to_tab_icon(bytes) else { return };
    assert!((1..=32).contains(&width) && (1..=32).contains(&height), "{width}x{height}");
    let again = to_tab_icon(bytes).expect("the same bytes give the same answer");
    assert_eq!(png, again.png);
    // Images up to 2x2 pixels are rejected, and a thin image may be scaled down to this size.
    if width.max(height) > 2 {
        let (measured, pixels) = everytab_icon::decode::decode(&png).expect("we read our PNGs");
        assert_eq!((pixels.width(), pixels.height()), (width, height), "{measured:?}");
    }
});
