//! Decodes PNG: common files with `png_fast`, all others with the `png` crate.
//!
//! It supports every colour type, bit depth and interlace method, and transparency (tRNS). Of an
//! animated PNG it decodes the default image. Invariant: the picture has exactly the sides in the
//! header (IHDR).

use std::io::Cursor;

use png::{ColorType, Decoder, Limits, Transformations};

use super::png_fast;
use crate::{
    limits::{MAX_DECODER_BYTES, MAX_SIDE_PIXELS},
    pixels::Pixels,
    png::format::sides,
};

/// Decodes a PNG file or a PNG entry of an ICO. Samples of 16 bits are reduced to their high byte.
pub(crate) fn decode(bytes: &[u8]) -> Result<Pixels, String> {
    png_fast::decode(bytes).map_or_else(|| decode_any(bytes), Ok)
}

/// Decodes any PNG with the `png` crate.
fn decode_any(bytes: &[u8]) -> Result<Pixels, String> {
    let (width, height) = sides(bytes).ok_or("unreadable header")?;
    if width > MAX_SIDE_PIXELS || height > MAX_SIDE_PIXELS {
        return Err("sides out of range".to_owned());
    }
    if !png_fast::has_whole_palette(bytes) {
        return Err("a palette of broken entries".to_owned());
    }
    let limits = Limits { bytes: MAX_DECODER_BYTES };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::normalize_to_color8() | Transformations::ALPHA);
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let size = reader.output_buffer_size().ok_or("sides out of range")?;
    if size > MAX_DECODER_BYTES {
        return Err("sides out of range".to_owned());
    }
    let mut buffer = vec![0; size];
    let frame = reader.next_frame(&mut buffer).map_err(|error| error.to_string())?;
    buffer.truncate(frame.buffer_size());
    let rgba = match frame.color_type {
        ColorType::Rgba => buffer,
        ColorType::GrayscaleAlpha => {
            let pairs = buffer.as_chunks::<2>().0;
            pairs.iter().flat_map(|&[grey, alpha]| [grey, grey, grey, alpha]).collect()
        }
        other => return Err(format!("unexpected colour type {other:?}")),
    };
    Pixels::new(frame.width, frame.height, rgba).ok_or_else(|| "sides out of range".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates PNGs of every kind with the `png` crate, some with changed bytes.
    fn file() -> impl Strategy<Value = Vec<u8>> {
        let kinds = [
            (ColorType::Grayscale, 1, 1),
            (ColorType::Grayscale, 2, 1),
            (ColorType::Grayscale, 4, 1),
            (ColorType::Grayscale, 8, 1),
            (ColorType::Rgb, 8, 3),
            (ColorType::Indexed, 1, 1),
            (ColorType::Indexed, 2, 1),
            (ColorType::Indexed, 4, 1),
            (ColorType::Indexed, 8, 1),
            (ColorType::GrayscaleAlpha, 8, 2),
            (ColorType::Rgba, 8, 4),
            (ColorType::Rgba, 16, 8),
        ];
        let filters = [
            png::Filter::NoFilter,
            png::Filter::Sub,
            png::Filter::Up,
            png::Filter::Avg,
            png::Filter::Paeth,
            png::Filter::Adaptive,
        ];
        (
            (0..kinds.len(), 0..filters.len(), 1u32..20, 1u32..20),
            proptest::collection::vec(any::<u8>(), 20 * 20 * 8),
            proptest::option::of(proptest::collection::vec(any::<u8>(), 0..8)),
            (1usize..300, proptest::collection::vec((any::<usize>(), any::<u8>()), 0..2)),
        )
            .prop_map(
                move |((kind, filter, width, height), data, transparency, (entries, damage))| {
                    let (colour_type, depth, channels) = kinds[kind];
                    let mut bytes = Vec::new();
                    let mut encoder = png::Encoder::new(&mut bytes, width, height);
                    encoder.set_color(colour_type);
                    encoder.set_depth(png::BitDepth::from_u8(depth).unwrap());
                    encoder.set_filter(filters[filter]);
                    if colour_type == ColorType::Indexed {
                        let entries = if entries < 200 { 256 } else { entries - 199 };
                        encoder.set_palette(data[..entries * 3].to_vec());
                    }
                    if let Some(transparency) = transparency {
                        encoder.set_trns(transparency);
                    }
                    let bits = if depth == 16 { 8 } else { usize::from(depth) };
                    let stride = (width as usize * channels * bits).div_ceil(8);
                    let mut writer = encoder.write_header().unwrap();
                    writer.write_image_data(&data[..stride * height as usize]).unwrap();
                    writer.finish().unwrap();
                    for (at, value) in damage {
                        let at = at % bytes.len();
                        bytes[at] = value;
                    }
                    bytes
                },
            )
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 3_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn the_fast_decoder_and_the_png_crate_give_the_same_pixels(bytes in file()) {
            if let Some(pixels) = png_fast::decode(&bytes) {
                prop_assert_eq!(decode_any(&bytes), Ok(pixels));
            }
        }
    }

    #[test]
    fn a_palette_of_broken_entries_is_refused_without_a_panic() {
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        let transparency: &[u8] = &[9; 17];
        let parts: [(&[u8; 4], &[u8]); 4] = [
            (b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 3, 0, 0, 0]),
            (b"PLTE", &[7; 49]),
            (b"tRNS", transparency),
            (b"IDAT", &[0x78, 0x9C, 0x63, 0x60, 0, 0, 0, 2, 0, 1]),
        ];
        for (name, data) in parts {
            let named = [name, data].concat();
            bytes.extend((data.len() as u32).to_be_bytes());
            bytes.extend(&named);
            bytes.extend(libdeflater::crc32(&named).to_be_bytes());
        }
        assert_eq!(decode(&bytes), Err("a palette of broken entries".to_owned()));
    }
}
