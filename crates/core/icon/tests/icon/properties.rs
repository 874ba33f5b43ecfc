//! Tests properties that must hold for any bytes and any pixels.

use everytab_icon::{
    IconError, Pixels,
    convert::{to_tab_icon, to_tab_icon_with},
    inspect::inspect_icon,
    measure::measure,
    png::{Colours, Difference, encode, encode_with},
    scale::scale_down,
};
use proptest::prelude::*;

const BEGINNINGS: [&[u8]; 14] = [
    b"",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x06\0\0\0",
    b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\
      \xff\xc0\0\x0b\x08\0\x10\0\x10\x01\x01\x11\0",
    b"GIF89a\x10\0\x10\0\x80\0\0\0\0\0\xff\xff\xff\x2c\0\0\0\0\x10\0\x10\0\0\x02",
    b"\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0\0\x04\0\0\x16\0\0\0\
      \x28\0\0\0\x10\0\0\0\x20\0\0\0\x01\0",
    b"\0\0\x02\0\xff\xff",
    b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x10\0\0\0\x10\0\0\0\x01\0\x08\0\x01\0\0\0",
    b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x10\0\0\0\x10\0\0\0\x01\0",
    b"RIFF\x40\0\0\0WEBPVP8 \x20\0\0\0\x10\0\0\x9d\x01\x2a\x10\0\x10\0",
    b"RIFF\x40\0\0\0WEBPVP8L\x20\0\0\0\x2f\x0f\xc0\x03\0",
    b"RIFF\x40\0\0\0WEBPVP8X\x0a\0\0\0\x12\0\0\0\x0f\0\0\x0f\0\0ANMF",
    b"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'>",
    b"<?xml version='1.0'?><!DOCTYPE svg [",
    b"\xff\xfe<\0s\0v\0g\0",
];

fn picture() -> impl Strategy<Value = Pixels> {
    let colours = prop_oneof![Just(1usize), Just(2), Just(5), Just(17), Just(300), Just(4096)];
    let shades = (any::<bool>(), prop_oneof![Just(0u8), Just(1), Just(2)]);
    (1u32..40, 1u32..40, colours, shades).prop_flat_map(
        |(width, height, colours, (grey, alpha))| {
            let count = (width * height) as usize;
            let palette = proptest::collection::vec(any::<[u8; 4]>(), colours.min(count));
            let indices = proptest::collection::vec(any::<usize>(), count);
            (palette, indices).prop_map(move |(palette, indices)| {
                let shade = |index: usize| {
                    let [mut red, green, mut blue, mut opacity] = palette[index % palette.len()];
                    if grey {
                        (red, blue) = (green, green);
                    }
                    match alpha {
                        0 => opacity = 255,
                        1 => opacity = if opacity < 128 { 0 } else { 255 },
                        _ => {}
                    }
                    [red, green, blue, opacity]
                };
                let rgba = indices.into_iter().flat_map(shade).collect();
                Pixels::new(width, height, rgba).unwrap()
            })
        },
    )
}

fn read_back(file: &[u8]) -> Pixels {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().unwrap();
    let mut buffer = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut buffer).unwrap();
    buffer.truncate(frame.buffer_size());
    let rgba = match frame.color_type {
        png::ColorType::Rgba => buffer,
        png::ColorType::GrayscaleAlpha => {
            buffer.chunks_exact(2).flat_map(|pair| [pair[0], pair[0], pair[0], pair[1]]).collect()
        }
        other => panic!("unexpected {other:?}"),
    };
    Pixels::new(frame.width, frame.height, rgba).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn arbitrary_bytes_never_panic_as_icons(
        beginning in 0..BEGINNINGS.len(),
        rest in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let bytes = [BEGINNINGS[beginning], &rest].concat();
        let measured = measure(&bytes);
        match to_tab_icon(&bytes) {
            Ok(icon) => {
                prop_assert!(icon.width.max(icon.height) <= 32);
                prop_assert_eq!(measured, Ok(icon.source));
                let shown = read_back(&icon.png);
                prop_assert_eq!((shown.width(), shown.height()), (icon.width, icon.height));
            }
            Err(error) => prop_assert!(IconError::KINDS.contains(&error.kind())),
        }
        let _ = inspect_icon("any", &bytes);
    }

    #[test]
    fn a_png_reads_back_as_the_same_pixels(pixels in picture()) {
        let file = encode(&pixels);
        let clean = pixels.clone().with_clean_transparency();
        prop_assert_eq!(read_back(&file).with_clean_transparency(), clean);
        prop_assert_eq!(encode(&pixels), file);
    }

    #[test]
    fn merging_colours_is_invisible_and_keeps_transparency(pixels in picture()) {
        let clean = pixels.clone().with_clean_transparency();
        let shown = read_back(&encode_with(&pixels, Colours::Auto)).with_clean_transparency();
        let same_colours = shown == clean;
        let few = distinct(&shown) <= 64 && Difference::between(&clean, &shown).is_unseen();
        prop_assert!(same_colours || few);
        let palette = read_back(&encode_with(&pixels, Colours::Palette)).with_clean_transparency();
        prop_assert!(distinct(&palette) <= 64);
        prop_assert!(distinct(&clean) > 63 || palette == clean);
        for shown in [shown, palette] {
            for (shown, meant) in shown.iter().zip(clean.iter()) {
                prop_assert_eq!(shown[3] == 0, meant[3] == 0);
            }
        }
    }

    #[test]
    fn scaling_keeps_within_the_target_and_the_alpha_of_the_source(pixels in picture()) {
        let most = pixels.iter().map(|pixel| pixel[3]).max().unwrap();
        let opaque = pixels.iter().all(|pixel| pixel[3] == 255);
        let small = scale_down(pixels.clone(), 7);
        prop_assert!(small.width().max(small.height()) <= 7);
        prop_assert!(!opaque || small.iter().all(|pixel| pixel[3] == 255));
        prop_assert!(most > 0 || small.fully_transparent());
        prop_assert_eq!(scale_down(pixels, 7), small);
    }
}

fn distinct(pixels: &Pixels) -> usize {
    pixels.iter().collect::<std::collections::HashSet<_>>().len()
}

#[test]
fn noise_keeps_its_colours_unless_a_palette_is_forced() {
    let mixed = |i: u32| i.wrapping_mul(i).wrapping_mul(0x9E37_79B9) >> 7 | 0xFF00_0000;
    let rgba = (1..=32 * 32u32).flat_map(|i| mixed(i).to_le_bytes());
    let pixels = Pixels::new(32, 32, rgba.collect()).unwrap();
    let lossless = encode(&pixels);
    assert_eq!(read_back(&lossless), pixels);
    let quantized = encode_with(&pixels, Colours::Palette);
    assert!(distinct(&read_back(&quantized)) <= 64 && quantized.len() < lossless.len());
    let by = |colours| to_tab_icon_with(&lossless, colours).unwrap().png;
    assert_eq!(by(Colours::Lossless), lossless);
    assert_eq!(by(Colours::Palette), quantized);
    assert_eq!(by(Colours::Auto), lossless);
    assert_eq!(to_tab_icon(&lossless).unwrap().png, lossless);
}

#[test]
fn a_blend_of_a_thousand_colours_becomes_a_palette_invisibly() {
    let shade = |i: u32| [(i % 32 * 2) as u8 + 90, (i / 32 * 2) as u8 + 90, 128, 255];
    let pixels = Pixels::new(32, 32, (0..32 * 32).flat_map(shade).collect()).unwrap();
    let icon = encode_with(&pixels, Colours::Auto);
    let shown = read_back(&icon);
    assert!(distinct(&pixels) == 1024 && distinct(&shown) <= 64, "{}", distinct(&shown));
    assert!(Difference::between(&pixels, &shown).is_unseen());
}

#[test]
fn tracking_pixels_and_transparent_pictures_are_rejected() {
    let plain = |width: u32, height: u32, pixel: [u8; 4]| {
        encode(&Pixels::new(width, height, pixel.repeat((width * height) as usize)).unwrap())
    };
    for (width, height) in [(1, 1), (2, 2), (2, 1)] {
        let kind = to_tab_icon(&plain(width, height, [1, 2, 3, 255])).unwrap_err().kind();
        assert_eq!(kind, "image_too_small");
    }
    assert_eq!(to_tab_icon(&plain(16, 16, [9, 9, 9, 0])).unwrap_err().kind(), "image_blank");
    let icon = to_tab_icon(&plain(64, 16, [9, 9, 9, 255])).unwrap();
    assert_eq!((icon.width, icon.height, icon.blank), (32, 8, true));
}
