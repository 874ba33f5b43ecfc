//! Decodes JPEG with the scalar integer code of `zune-jpeg`. Its SIMD code may give other pixels,
//! and pixels must not depend on the machine.
//!
//! The decoder converts CMYK and YCCK to RGB. The EXIF orientation is applied; colour profiles are
//! not (docs/decisions/0018).

use zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};
use zune_jpeg::JpegDecoder;

use super::orientation;
use crate::{limits::MAX_SIDE_PIXELS, pixels::Pixels};

/// Greatest number of scans of a small progressive JPEG. Real files have about ten.
const MAX_SCANS: usize = 64;
/// Number of scans that a JPEG of any size may have.
const LEAST_SCANS: usize = 12;
/// Number of pixels that all scans together may visit, which bounds the time of decoding. Between
/// the two limits above it decides how many scans a file may have.
const MAX_VISITED_PIXELS: usize = 16 << 20;

/// Reads the sides from the first frame header (SOF).
pub(crate) fn sides(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        // Skip bytes between segments, as decoders do.
        let skipped = bytes
            .get(at..)?
            .windows(2)
            .position(|pair| pair[0] == 0xFF && !matches!(pair[1], 0 | 0xFF))?;
        at += skipped + 2;
        let side =
            |at: usize| Some(u32::from(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?)));
        match bytes[at - 1] {
            0xC4 | 0xC8 | 0xCC => {}
            0xC0..=0xCF => return Some((side(at + 5)?, side(at + 3)?)),
            // Markers without a segment.
            0x01 | 0xD0..=0xD8 => continue,
            0xD9 | 0xDA => return None,
            _ => {}
        }
        at += (side(at)? as usize).max(2);
    }
}

/// Decodes a JPEG and applies its orientation, which may exchange width and height.
pub(crate) fn decode(bytes: &[u8]) -> Result<Pixels, String> {
    let (width, height) = sides(bytes).ok_or("unreadable header")?;
    let area = (width as usize * height as usize).max(1);
    let scans = (MAX_VISITED_PIXELS / area).clamp(LEAST_SCANS, MAX_SCANS);
    let options = DecoderOptions::default()
        .set_use_unsafe(false)
        .set_strict_mode(true)
        .set_max_width(MAX_SIDE_PIXELS as usize)
        .set_max_height(MAX_SIDE_PIXELS as usize)
        .jpeg_set_max_scans(scans)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    // Not RGBA: when it converts from CMYK, zune-jpeg 0.5.15 writes three bytes per pixel even
    // then.
    let rgb = decoder.decode().map_err(|error| error.to_string())?;
    let info = decoder.info().ok_or("no header")?;
    let pixels = rgb.as_chunks::<3>().0.iter();
    let rgba = pixels.flat_map(|&[red, green, blue]| [red, green, blue, 255]).collect();
    let pixels = Pixels::new(u32::from(info.width), u32::from(info.height), rgba)
        .ok_or_else(|| "sides out of range".to_owned())?;
    let orientation = decoder.exif().map_or(1, |exif| orientation::read(exif));
    Ok(orientation::upright(pixels, orientation))
}
