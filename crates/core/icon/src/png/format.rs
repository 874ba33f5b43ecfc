//! The parts of the PNG file format that the decoders and the encoder share (PNG, Third Edition, 5,
//! 9.4 and 11.2).

use libdeflater::crc32;

pub(crate) const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Data bytes in the header chunk (IHDR).
pub(crate) const HEADER_BYTES: usize = 13;
/// Bytes in a chunk in addition to its data: length, name and CRC, 4 bytes each.
pub(crate) const CHUNK_BYTES: usize = 12;

pub(crate) const GREY: u8 = 0;
pub(crate) const RGB: u8 = 2;
pub(crate) const INDEXED: u8 = 3;
pub(crate) const GREY_ALPHA: u8 = 4;
pub(crate) const RGBA: u8 = 6;

/// `None` if the header is not the first chunk.
pub(crate) fn sides(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.get(12..16)? != b"IHDR" {
        return None;
    }
    let side = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    Some((side(16)?, side(20)?))
}

pub(crate) fn push_chunk(file: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    let start = file.len();
    file.extend([0; 4]);
    file.extend(name);
    file.extend_from_slice(data);
    close_chunk(file, start);
}

/// Completes the chunk from `start` to the file's end: writes its length and appends its CRC.
pub(crate) fn close_chunk(file: &mut Vec<u8>, start: usize) {
    // A picture has at most 16 MiB, so a chunk never reaches 4 GiB.
    let length = (file.len() - start - 8) as u32;
    file[start..start + 4].copy_from_slice(&length.to_be_bytes());
    let sum = crc32(&file[start + 4..]);
    file.extend(sum.to_be_bytes());
}

/// Returns the neighbour whose value is nearest to `left + above - corner` (PNG 9.4).
#[inline(always)]
pub(crate) fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let [a, b, c] = [left, above, corner].map(i16::from);
    // Distances from `a + b - c` to each neighbour, simplified algebraically.
    let (to_a, to_b, to_c) = ((b - c).abs(), (a - c).abs(), (a + b - 2 * c).abs());
    let nearer = if to_b <= to_c { above } else { corner };
    if to_a <= to_b && to_a <= to_c { left } else { nearer }
}
