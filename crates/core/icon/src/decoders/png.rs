//! Decodes PNG files: common ones with `png_fast`, all others with the `png` crate. From an
//! animated PNG we decode the first frame.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, InterlaceInfo, Limits, Reader, Transformations};

use super::{
    apng::{self, Preamble},
    orientation,
    png_fast::{self, PngParts},
};
use crate::{
    limits::{MAX_DECODER_BYTES, MAX_SIDE_PIXELS},
    pixels::Pixels,
    png::format::sides,
    work::Work,
};

pub(crate) fn shown_sides(bytes: &[u8]) -> Option<(u32, u32)> {
    let (width, height) = sides(bytes)?;
    let lies = Preamble::read(bytes).orientation > 4;
    Some(if lies { (height, width) } else { (width, height) })
}

/// 16-bit samples are reduced to their high byte.
pub(crate) fn decode(bytes: &[u8], work: &mut Work) -> Result<Pixels, String> {
    let pixels = decode_stored(bytes, work)?;
    Ok(orientation::upright(pixels, Preamble::read(bytes).orientation))
}

/// Does not apply the EXIF orientation, because browsers ignore it in ICO entries.
pub(crate) fn decode_stored(bytes: &[u8], work: &mut Work) -> Result<Pixels, String> {
    let canvas = sides(bytes).ok_or("unreadable header")?;
    let preamble = Preamble::read(bytes);
    if preamble.has_frame_data {
        return Err("frame data before the image".to_owned());
    }
    if !preamble.default_image_is_apart {
        return decode_still(bytes, work);
    }
    let frame = apng::first_frame(bytes).ok_or("no valid first frame")?;
    let pixels = decode_still(&frame.file, work)?;
    let pixels = pixels.on_canvas((frame.left, frame.top), canvas);
    pixels.ok_or_else(|| "frame outside its canvas".to_owned())
}

/// The work of both decoders counts, because the fast decoder may fail at the last byte.
fn decode_still(bytes: &[u8], work: &mut Work) -> Result<Pixels, String> {
    if let Some(parts) = PngParts::read(bytes) {
        work.spend(parts.sides(), bytes.len())?;
        if let Some(pixels) = png_fast::decode(&parts) {
            return Ok(pixels);
        }
    }
    let sides = sides(bytes).ok_or("unreadable header")?;
    work.spend(sides, bytes.len())?;
    decode_any(bytes)
}

/// Rows from the first undecodable one on are transparent.
fn decode_any(bytes: &[u8]) -> Result<Pixels, String> {
    let (width, height) = sides(bytes).ok_or("unreadable header")?;
    if width > MAX_SIDE_PIXELS || height > MAX_SIDE_PIXELS {
        return Err("width or height out of range".to_owned());
    }
    if !png_fast::has_whole_palette(bytes) {
        return Err("a palette with broken entries".to_owned());
    }
    let limits = Limits { bytes: MAX_DECODER_BYTES };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::normalize_to_color8() | Transformations::ALPHA);
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let channels = match reader.output_color_type() {
        (ColorType::Rgba, BitDepth::Eight) => 4,
        (ColorType::GrayscaleAlpha, BitDepth::Eight) => 2,
        other => return Err(format!("unexpected colour type {other:?}")),
    };
    let samples = read_rows(&mut reader, (width, height), channels)?;
    let rgba = if channels == 4 {
        samples
    } else {
        let pairs = samples.as_chunks::<2>().0;
        pairs.iter().flat_map(|&[grey, alpha]| [grey, grey, grey, alpha]).collect()
    };
    Pixels::new(width, height, rgba).ok_or_else(|| "width or height out of range".to_owned())
}

/// Reads as many rows as possible. It stops after the last row, because the compressed data may
/// continue for hundreds of megabytes. As in browsers, each pass of an interlaced picture fills the
/// pixels that later passes have yet to draw.
fn read_rows(
    reader: &mut Reader<Cursor<&[u8]>>,
    (width, height): (u32, u32),
    channels: usize,
) -> Result<Vec<u8>, String> {
    let stride = width as usize * channels;
    let mut samples = vec![0; stride * height as usize];
    let all = if reader.info().interlaced { interlaced_rows(width, height) } else { height };
    for index in 0..all {
        let row = match reader.next_interlaced_row() {
            Ok(Some(row)) => row,
            Ok(None) => break,
            Err(error) if index == 0 => return Err(error.to_string()),
            Err(_) => break,
        };
        match row.interlace() {
            InterlaceInfo::Null(_) => {
                let at = index as usize * stride;
                samples[at..at + stride].copy_from_slice(row.data());
            }
            InterlaceInfo::Adam7(pass) => {
                let bits = 8 * channels as u8;
                png::splat_interlaced_row(&mut samples, stride, row.data(), pass, bits);
            }
        }
    }
    Ok(samples)
}

fn interlaced_rows(width: u32, height: u32) -> u32 {
    // First column, first row and distance between rows for each pass (PNG 8.2).
    const PASSES: [(u32, u32, u32); 7] =
        [(0, 0, 8), (4, 0, 8), (0, 4, 8), (2, 0, 4), (0, 2, 4), (1, 0, 2), (0, 1, 2)];
    let passes = PASSES.iter().filter(|(column, _, _)| *column < width);
    passes.map(|&(_, first, step)| height.saturating_sub(first).div_ceil(step)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            let fast = PngParts::read(&bytes).and_then(|parts| png_fast::decode(&parts));
            if let Some(pixels) = fast {
                prop_assert_eq!(decode_any(&bytes), Ok(pixels));
            }
        }
    }

    #[test]
    fn a_palette_with_a_broken_length_is_rejected_without_a_panic() {
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
        assert_eq!(
            decode(&bytes, &mut Work::default()),
            Err("a palette with broken entries".to_owned())
        );
    }
}
