//! ICO and CUR: a directory of pictures, and which of them suits a tab.
//!
//! Invariants: at most [`MAX_ENTRIES`] entries are looked at, however many the header claims; the
//! sides in the directory are never believed, only those of the picture inside; an entry that
//! can't be decoded falls through to the next best one. The DIB's height counts picture and mask.
//! The AND mask gives alpha below 32 bits a pixel, and at 32 where every alpha is 0.

use std::cmp::Reverse;

use super::dib::DibHeader;
use super::{MAX_SIDE_PIXELS, TAB_ICON_PIXELS, png, read_u16, read_u32};
use crate::error::IconError;
use crate::measure::png_sides;
use crate::pixels::Pixels;
use crate::sniff::Format;

/// Directory entries that are looked at.
pub(crate) const MAX_ENTRIES: usize = 64;
const HEADER_BYTES: usize = 6;
const ENTRY_BYTES: usize = 16;

/// One picture of the file, measured by its own header.
#[derive(Debug, Clone, Copy)]
struct Entry<'a> {
    /// The file from the picture's first byte on: the length in the directory lies, often 0.
    payload: &'a [u8],
    /// That length; it ends the mask only.
    length: usize,
    width: u32,
    height: u32,
    bits: u32,
}

impl<'a> Entry<'a> {
    fn read(file: &'a [u8], index: usize) -> Option<Self> {
        let entry = file.get(HEADER_BYTES + index * ENTRY_BYTES..)?.get(..ENTRY_BYTES)?;
        let (length, offset) = (read_u32(entry, 8)? as usize, read_u32(entry, 12)? as usize);
        let payload = file.get(offset..)?;
        let (width, height, bits) = if payload.starts_with(b"\x89PNG") {
            let (width, height) = png_sides(payload)?;
            (width, height, png_bits(payload)?)
        } else {
            let header = DibHeader::parse(payload)?;
            (header.width, header.height / 2, header.bits)
        };
        let sides = 1..=MAX_SIDE_PIXELS;
        let usable = sides.contains(&width) && sides.contains(&height);
        usable.then_some(Self { payload, length, width, height, bits })
    }

    /// Nearest size of at least 32 first, then the largest below; deepest; squares; as stored.
    fn rank(&self) -> impl Ord + use<> {
        let size = self.width.min(self.height);
        let small = size < TAB_ICON_PIXELS;
        let distance = if small { TAB_ICON_PIXELS - size } else { size - TAB_ICON_PIXELS };
        (small, distance, Reverse(self.bits), self.width != self.height)
    }

    fn decode(&self) -> Result<Pixels, String> {
        if self.payload.starts_with(b"\x89PNG") {
            return png::decode(self.payload);
        }
        self.decode_dib().map_err(str::to_owned)
    }

    fn decode_dib(&self) -> Result<Pixels, &'static str> {
        let header = DibHeader::parse(self.payload).ok_or("unreadable bitmap header")?;
        let at = header.end();
        let mut rgba = header.decode(self.payload, self.height, at, true)?;
        let no_alpha = rgba.as_chunks::<4>().0.iter().all(|pixel| pixel[3] == 0);
        if header.bits < 32 || no_alpha {
            let stride = (self.width as usize * header.bits as usize).div_ceil(32) * 4;
            let mask_at = at.saturating_add(stride * self.height as usize);
            // What follows a picture without a mask is the next picture.
            let end = if self.length < mask_at { usize::MAX } else { self.length };
            let mask = self.payload.get(mask_at..end.min(self.payload.len()));
            self.apply_mask(&mut rgba, mask.unwrap_or_default(), &header);
        }
        Pixels::new(self.width, self.height, rgba).ok_or("sides out of range")
    }

    /// Sets alpha by the AND mask: a set bit is transparent; where the mask ends, opaque.
    fn apply_mask(&self, rgba: &mut [u8], mask: &[u8], header: &DibHeader) {
        let (width, height) = (self.width as usize, self.height as usize);
        let stride = width.div_ceil(32) * 4;
        for (y, row) in rgba.chunks_exact_mut(width * 4).enumerate() {
            let stored = if header.top_down { y } else { height - 1 - y };
            for (x, pixel) in row.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let byte = mask.get(stored * stride + x / 8).copied().unwrap_or(0);
                pixel[3] = if byte >> (7 - x % 8) & 1 == 1 { 0 } else { 255 };
            }
        }
    }
}

/// Bits a pixel of a PNG as stored; depth times channels.
fn png_bits(payload: &[u8]) -> Option<u32> {
    let channels = match payload.get(25)? {
        2 => 3,
        4 => 2,
        6 => 4,
        _ => 1,
    };
    Some(u32::from(*payload.get(24)?) * channels)
}

/// The usable entries, best first.
fn entries(file: &[u8]) -> Vec<Entry<'_>> {
    let claimed = read_u16(file, 4).map_or(0, usize::from);
    let looked_at = 0..claimed.min(MAX_ENTRIES);
    let mut entries: Vec<_> = looked_at.filter_map(|index| Entry::read(file, index)).collect();
    entries.sort_by_key(Entry::rank);
    entries
}

/// Real sides of the best entry, `None` where no entry can be read.
pub(crate) fn best_entry_sides(file: &[u8]) -> Option<(u32, u32)> {
    entries(file).first().map(|entry| (entry.width, entry.height))
}

/// The best entry that decodes.
pub(crate) fn decode(file: &[u8], format: Format) -> Result<Pixels, IconError> {
    let mut first_reason = None;
    for entry in entries(file) {
        match entry.decode() {
            Ok(pixels) => return Ok(pixels),
            Err(reason) => first_reason = first_reason.or(Some(reason)),
        }
    }
    let reason = first_reason.unwrap_or_else(|| "no readable entry".to_owned());
    Err(IconError::corrupt(format, reason))
}
