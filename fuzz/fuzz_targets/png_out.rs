//! Encodes any pixels as a tab icon's PNG. Decoding must return the same pixels, or similar ones if
//! the setting allows it.
#![no_main]

use everytab_icon::{
    Pixels,
    decode::decode,
    png::{Colours, Difference, encode_with},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [width, height, rest @ ..] = bytes else { return };
    let (width, height) = (u32::from(width % 32) + 1, u32::from(height % 32) + 1);
    // Repeat short inputs, so that every input has enough bytes for an image.
    let rgba = rest.iter().cycle().take((width * height * 4) as usize).copied().collect();
    let Some(pixels) = Pixels::new(width, height, rgba) else { return };
    let clean = pixels.clone().with_clean_transparency();
    let shown = |colours| {
        let (_, shown) = decode(&encode_with(&pixels, colours)).expect("our PNGs decode");
        shown.with_clean_transparency()
    };
    assert_eq!(shown(Colours::Lossless), clean);
    let auto = shown(Colours::Auto);
    assert!(auto == clean || Difference::between(&clean, &auto).is_unseen());
    let mut colours: Vec<_> = shown(Colours::Palette).iter().collect();
    colours.sort_unstable();
    colours.dedup();
    assert!(colours.len() <= 64);
});
