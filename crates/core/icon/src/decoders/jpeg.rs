//! Decodes JPEG exactly as libjpeg-turbo does, because browsers use libjpeg-turbo. From a damaged
//! file we show the same parts (docs/decisions/0134).
//!
//! All arithmetic uses integers, so pixels do not depend on the processor. Colour profiles are
//! ignored (docs/decisions/0018).

mod blocks;
mod default_codes;
mod frame;
mod huffman;
mod input;
mod picture;
mod rows;
mod scan;
mod smoothing;
mod transform;

pub(crate) use self::{
    blocks::{BlockPicture, read_blocks},
    frame::ZIGZAG,
    rows::to_rgb,
    transform::transform,
};
use super::orientation;
use crate::{limits::MAX_SIDE_PIXELS, pixels::Pixels, work::Work};

/// Maximum scans in a small JPEG. Real progressive files have about ten.
const MAX_SCANS: usize = 64;
/// Any JPEG may have this many scans, whatever its dimensions.
const LEAST_SCANS: usize = 12;
/// All scans together may visit at most this many pixels. This determines how many scans a file may
/// have, within the two limits above.
const MAX_VISITED_PIXELS: usize = 16 << 20;

pub(crate) fn sides(bytes: &[u8]) -> Option<(u32, u32)> {
    picture::sides(bytes).map(|(width, height)| (width as u32, height as u32))
}

/// Decodes a JPEG and applies its EXIF orientation. If the file ends early, the missing rows are
/// transparent.
pub(crate) fn decode(bytes: &[u8], work: &mut Work) -> Result<Pixels, String> {
    let (width, height) = sides(bytes).ok_or("unreadable header")?;
    if width > MAX_SIDE_PIXELS || height > MAX_SIDE_PIXELS {
        return Err("width or height out of range".to_owned());
    }
    work.spend_pixels(visited_pixels(bytes, (width, height)), bytes.len())?;
    let area = width as usize * height as usize;
    let scans = (MAX_VISITED_PIXELS / area).clamp(LEAST_SCANS, MAX_SCANS);
    let mut picture = picture::decode(bytes, scans)?;
    picture.rgba.resize(area * 4, 0);
    let pixels = Pixels::new(width, height, picture.rgba).ok_or("width or height out of range")?;
    Ok(orientation::upright(pixels, picture.exif.map_or(1, orientation::read)))
}

/// Returns the decoding cost in PNG pixels: the number of pixels, plus a sixteenth of this number
/// for each scan after the first, as measured.
pub(crate) fn visited_pixels(bytes: &[u8], (width, height): (u32, u32)) -> u64 {
    let area = u64::from(width) * u64::from(height);
    let scans = bytes.windows(2).filter(|pair| *pair == [0xFF, 0xDA]).count() as u64;
    area.saturating_add(area.saturating_mul(scans.saturating_sub(1)) / 16)
}
