//! JPEG through `zune-jpeg`, by its integer scalar code: its SIMD paths need not give the same
//! pixels, and pixels must not depend on the machine. CMYK and YCCK become RGB as the decoder
//! does it; EXIF orientation is obeyed, colour profiles are not (docs/decisions/0018).

use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::{MAX_SIDE_PIXELS, orientation};
use crate::pixels::Pixels;

/// Passes of a progressive JPEG, where it is small; real ones have about ten.
const MAX_SCANS: usize = 64;
/// Passes that any may have.
const LEAST_SCANS: usize = 12;
/// Pixels that all passes together may visit.
const MAX_VISITED_PIXELS: usize = 16 << 20;

/// Sides by the first frame header (SOF).
pub(crate) fn sides(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        // Bytes between segments are skipped, as decoders do.
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
            // Markers that stand alone.
            0x01 | 0xD0..=0xD8 => continue,
            0xD9 | 0xDA => return None,
            _ => {}
        }
        at += (side(at)? as usize).max(2);
    }
}

/// Decodes a JPEG, turned the right way up: its sides may have changed places.
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
    // RGB, for the decoder's way from CMYK to RGBA writes three bytes a pixel (zune-jpeg 0.5.15).
    let rgb = decoder.decode().map_err(|error| error.to_string())?;
    let info = decoder.info().ok_or("no header")?;
    let pixels = rgb.as_chunks::<3>().0.iter();
    let rgba = pixels.flat_map(|&[red, green, blue]| [red, green, blue, 255]).collect();
    let pixels = Pixels::new(u32::from(info.width), u32::from(info.height), rgba)
        .ok_or_else(|| "sides out of range".to_owned())?;
    let orientation = decoder.exif().map_or(1, |exif| orientation::of_exif(exif));
    Ok(orientation::upright(pixels, orientation))
}
