//! Decodes JPEG with the scalar integer code of `zune-jpeg`. Its SIMD code may give different
//! pixels, and pixels must not depend on the machine.
//!
//! The decoder converts CMYK and YCCK to RGB. The EXIF orientation is applied; colour profiles are
//! not (docs/decisions/0018).

use zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};
use zune_jpeg::JpegDecoder;

use super::{
    jpeg_header::{JpegHeader, has_end, scans, whole_segments},
    orientation,
};
use crate::{limits::MAX_SIDE_PIXELS, pixels::Pixels, work::Work};

/// Maximum number of scans of a small progressive JPEG. Real files have about ten.
const MAX_SCANS: usize = 64;
/// Number of scans that a JPEG of any size may have.
const LEAST_SCANS: usize = 12;
/// Maximum number of pixels that all scans together may visit, which bounds the decoding time. It
/// decides the maximum number of scans between the two limits above.
const MAX_VISITED_PIXELS: usize = 16 << 20;

/// Two tails that are appended to a file that ends early. They contain no marker, and all their
/// bits differ, so that every symbol read from them does, too.
const TAIL: [u8; 7] = [0x00, 0x5A, 0x13, 0x81, 0x3C, 0x42, 0x6E];
const OTHER_TAIL: [u8; 7] = [0xFE, 0xA5, 0xEC, 0x7E, 0xC3, 0xBD, 0x91];
/// The marker of the end of a file (EOI).
const END: [u8; 2] = [0xFF, 0xD9];
/// Number of bytes at the end of a file without its end marker that libjpeg does not use, because
/// it waits for up to seven more.
const WAITING_BYTES: usize = 4;
/// More bytes than a row of blocks can have that starts in the file and has no differing pixel.
const TAIL_REPEATS: usize = 512;

/// Reads the sides from the first frame header (SOF).
pub(crate) fn sides(bytes: &[u8]) -> Option<(u32, u32)> {
    JpegHeader::read(bytes).map(|header| (header.width, header.height))
}

/// Decodes a JPEG and applies its orientation, which may exchange width and height. If the file
/// ends early, the missing rows are transparent.
pub(crate) fn decode(bytes: &[u8], work: &mut Work) -> Result<Pixels, String> {
    let (width, height) = sides(bytes).ok_or("unreadable header")?;
    let sides = (width, height);
    let (rgb, came, orientation) = if has_end(bytes) {
        spend(bytes, sides, work)?;
        let decoded = decode_rgb(bytes, sides, true).or_else(|_| {
            spend(bytes, sides, work)?;
            decode_rgb(bytes, sides, false)
        });
        let (rgb, orientation) = decoded?;
        (rgb, height as usize, orientation)
    } else {
        partial(bytes, sides, work)?
    };
    let row_bytes = width as usize * 3;
    let shown = rgb[..came * row_bytes].as_chunks::<3>().0.iter();
    let mut rgba: Vec<u8> = shown.flat_map(|&[red, green, blue]| [red, green, blue, 255]).collect();
    rgba.resize(width as usize * height as usize * 4, 0);
    let pixels = Pixels::new(width, height, rgba).ok_or_else(|| "sides out of range".to_owned())?;
    Ok(orientation::upright(pixels, orientation))
}

/// Returns the cost of one attempt: the pixels, and for each scan after the first one a sixteenth
/// of them, as measured.
pub(crate) fn visited_pixels(bytes: &[u8], (width, height): (u32, u32)) -> u64 {
    let area = u64::from(width) * u64::from(height);
    let more_scans = scans(bytes).saturating_sub(1) as u64;
    area.saturating_add(area.saturating_mul(more_scans) / 16)
}

/// Counts one attempt.
fn spend(bytes: &[u8], sides: (u32, u32), work: &mut Work) -> Result<(), String> {
    let pixels = visited_pixels(bytes, sides);
    Ok(work.spend_pixels(pixels, bytes.len())?)
}

/// Decodes a file that ends early: returns RGB, the number of complete rows, and the orientation.
///
/// Chromium shows rows whose data are complete, and for a progressive file also the result of the
/// scans so far. zune-jpeg does not report how far the data reached, so two tails are appended:
/// rows that are equal with both do not depend on the tails.
fn partial(
    bytes: &[u8],
    sides: (u32, u32),
    work: &mut Work,
) -> Result<(Vec<u8>, usize, u8), String> {
    let header = JpegHeader::read(bytes).ok_or("unreadable header")?;
    let came = whole_segments(bytes);
    let came = if came.len() == bytes.len() {
        &bytes[..bytes.len().saturating_sub(WAITING_BYTES)]
    } else {
        came
    };
    let mut decode = |tail: &[u8]| {
        let bytes = [came, &tail.repeat(TAIL_REPEATS), &END].concat();
        spend(&bytes, sides, work)?;
        decode_rgb(&bytes, sides, false)
    };
    let height = sides.1 as usize;
    if header.progressive && scans(bytes) > 1 {
        let (rgb, orientation) = decode(&[])?;
        return Ok((rgb, height, orientation));
    }
    let (rgb, orientation) = decode(&TAIL)?;
    let (other, _) = decode(&OTHER_TAIL)?;
    let row_bytes = sides.0 as usize * 3;
    let mut rows = rgb.chunks_exact(row_bytes).zip(other.chunks_exact(row_bytes));
    let Some(equal) = rows.position(|(row, other)| row != other) else {
        return Ok((rgb, height, orientation));
    };
    // If chroma has half the rows, the last two rows of a row of blocks depend on the next one.
    let waiting = if header.vertical > 1 { 2 } else { 0 };
    let came =
        ((equal + waiting) / (8 * header.vertical) * 8 * header.vertical).saturating_sub(waiting);
    if came == 0 { Err("no row came".to_owned()) } else { Ok((rgb, came, orientation)) }
}

/// Decodes to RGB with the sides in the header. In strict mode any fault is an error; otherwise the
/// decoder continues as far as it can.
fn decode_rgb(
    bytes: &[u8],
    (width, height): (u32, u32),
    strict: bool,
) -> Result<(Vec<u8>, u8), String> {
    let area = (width as usize * height as usize).max(1);
    let scans = (MAX_VISITED_PIXELS / area).clamp(LEAST_SCANS, MAX_SCANS);
    let options = DecoderOptions::default()
        .set_use_unsafe(false)
        .set_strict_mode(strict)
        .set_max_width(MAX_SIDE_PIXELS as usize)
        .set_max_height(MAX_SIDE_PIXELS as usize)
        .jpeg_set_max_scans(scans)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    // Not RGBA: when zune-jpeg 0.5.15 converts from CMYK, it writes three bytes per pixel even
    // then.
    let rgb = decoder.decode().map_err(|error| error.to_string())?;
    let info = decoder.info().ok_or("no header")?;
    let same_sides = (u32::from(info.width), u32::from(info.height)) == (width, height);
    if !same_sides || rgb.len() != area * 3 {
        return Err("sides differ from the header's".to_owned());
    }
    Ok((rgb, decoder.exif().map_or(1, |exif| orientation::read(exif))))
}
