//! Decodes ICO and CUR files. Their directory lists several pictures, and we decode the one that
//! suits a tab best. Width and height are read from each picture's header, never from the
//! directory.
//!
//! A DIB's height includes picture and mask. The AND mask gives alpha if pixels have no alpha bits,
//! or if every alpha is 0. As in Chromium, a PNG entry's EXIF orientation is ignored.

use std::{cmp::Reverse, collections::HashSet};

use super::{
    dib::{DibHeader, DibPicture},
    png,
};
use crate::{
    error::IconError,
    format::Format,
    limits::{MAX_SIDE_PIXELS, TAB_ICON_PIXELS},
    little_endian::{read_u16, read_u32},
    pixels::Pixels,
    png::format::sides as png_sides,
    work::Work,
};

/// Maximum directory entries to read. Entries beyond this limit are ignored, because each requires
/// parsing a picture's header. Real files have up to a dozen entries.
pub(crate) const MAX_ENTRIES: usize = 64;
/// Maximum entries to try to decode. If this many of the best entries are broken, no drawing
/// program wrote the file.
pub(crate) const MAX_TRIED: usize = 3;
const HEADER_BYTES: usize = 6;
const ENTRY_BYTES: usize = 16;

#[derive(Debug, Clone, Copy)]
struct DirectoryEntry<'a> {
    /// The bytes from this picture's start to the file's end, because the length in the directory
    /// is often wrong (usually 0).
    payload: &'a [u8],
    offset: usize,
    /// The length in the directory, which we use only to find the mask's end.
    length: usize,
    width: u32,
    height: u32,
    bits: u32,
}

impl<'a> DirectoryEntry<'a> {
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
        usable.then_some(Self { payload, offset, length, width, height, bits })
    }

    /// The best entry has the lowest rank: the smallest picture whose width and height are at least
    /// 32 pixels, or the largest picture if all are smaller. Among equally large pictures, more
    /// bits per pixel are better, and then square pictures.
    fn rank(&self) -> impl Ord + use<> {
        let size = self.width.min(self.height);
        let small = size < TAB_ICON_PIXELS;
        let distance = if small { TAB_ICON_PIXELS - size } else { size - TAB_ICON_PIXELS };
        (small, distance, Reverse(self.bits), self.width != self.height)
    }

    fn decode(&self, work: &mut Work) -> Result<Pixels, String> {
        if self.payload.starts_with(b"\x89PNG") {
            return png::decode_stored(self.payload, work);
        }
        work.spend((self.width, self.height), self.payload.len())?;
        self.decode_dib().map_err(str::to_owned)
    }

    fn decode_dib(&self) -> Result<Pixels, &'static str> {
        let header = DibHeader::parse(self.payload).and_then(DibHeader::in_icon);
        let header = header.ok_or("unreadable bitmap header")?;
        let at = header.end();
        let data = self.payload.get(at..).ok_or("pixels start past the end")?;
        let DibPicture { mut rgba, received } = header.decode(self.payload, self.height, data)?;
        let no_alpha = rgba.as_chunks::<4>().0.iter().all(|pixel| pixel[3] == 0);
        if !header.has_alpha() || no_alpha {
            let stride = (self.width as usize * header.bits as usize).div_ceil(32) * 4;
            let mask_at = at.saturating_add(stride * self.height as usize);
            // Do not read the mask beyond the directory's length, because the next picture may
            // follow there. But if this length does not even contain the pixels, it is wrong.
            let end = if self.length < mask_at { usize::MAX } else { self.length };
            let mask = self.payload.get(mask_at..end.min(self.payload.len()));
            self.apply_mask(&mut rgba, mask.unwrap_or_default(), &header, received);
        }
        Pixels::new(self.width, self.height, rgba).ok_or("width or height out of range")
    }

    /// A set mask bit means transparent, and pixels beyond the mask's end are opaque. The picture's
    /// missing rows remain transparent.
    fn apply_mask(&self, rgba: &mut [u8], mask: &[u8], header: &DibHeader, received: usize) {
        let (width, height) = (self.width as usize, self.height as usize);
        let stride = width.div_ceil(32) * 4;
        for (y, row) in rgba.chunks_exact_mut(width * 4).enumerate() {
            let stored = if header.top_down { y } else { height - 1 - y };
            if stored >= received {
                continue;
            }
            for (x, pixel) in row.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let byte = mask.get(stored * stride + x / 8).copied().unwrap_or(0);
                pixel[3] = if byte >> (7 - x % 8) & 1 == 1 { 0 } else { 255 };
            }
        }
    }
}

fn png_bits(payload: &[u8]) -> Option<u32> {
    let channels = match payload.get(25)? {
        2 => 3,
        4 => 2,
        6 => 4,
        _ => 1,
    };
    Some(u32::from(*payload.get(24)?) * channels)
}

/// Returns the usable entries, best first, and each picture only once.
fn entries(file: &[u8]) -> Vec<DirectoryEntry<'_>> {
    let claimed = read_u16(file, 4).map_or(0, usize::from);
    let read = 0..claimed.min(MAX_ENTRIES);
    let mut entries: Vec<_> = read.filter_map(|index| DirectoryEntry::read(file, index)).collect();
    let mut seen = HashSet::new();
    entries.retain(|entry| seen.insert(entry.offset));
    entries.sort_by_key(DirectoryEntry::rank);
    entries
}

pub(crate) fn best_entry_sides(file: &[u8]) -> Option<(u32, u32)> {
    entries(file).first().map(|entry| (entry.width, entry.height))
}

pub(crate) fn decode(file: &[u8], format: Format, work: &mut Work) -> Result<Pixels, IconError> {
    let mut first_reason = None;
    for entry in entries(file).into_iter().take(MAX_TRIED) {
        match entry.decode(work) {
            Ok(pixels) => return Ok(pixels),
            Err(reason) => first_reason = first_reason.or(Some(reason)),
        }
    }
    let reason = first_reason.unwrap_or_else(|| "no readable entry".to_owned());
    Err(IconError::corrupt(format, reason))
}
