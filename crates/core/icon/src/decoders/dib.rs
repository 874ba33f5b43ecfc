//! Decodes Windows bitmaps: the device-independent bitmap (DIB) in BMP files and ICO entries. See
//! MS-WMF 2.2.2 and the way browsers show the bmpsuite files.

use super::dib_rows::{DibRows, decode_rle, decode_rows};
use crate::{
    limits::MAX_SIDE_PIXELS,
    little_endian::{read_u16, read_u32},
    pixels::Pixels,
    work::Work,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DibStorage {
    /// Uncompressed rows with 1, 2, 4, 8, 16, 24 or 32 bits per pixel.
    Rows,
    Rle4,
    Rle8,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct DibHeader {
    pub(crate) width: u32,
    /// In an ICO entry this is twice the picture's height, because it includes the mask.
    pub(crate) height: u32,
    pub(crate) top_down: bool,
    pub(crate) bits: u32,
    pub(crate) storage: DibStorage,
    /// Bit masks for red, green, blue and alpha in pixels with 16 or 32 bits. The alpha mask is 0
    /// if there is no alpha channel.
    masks: [u32; 4],
    /// The alpha mask to use in an ICO entry.
    icon_alpha: u32,
    palette_at: usize,
    palette_entry_bytes: usize,
    palette_entries: usize,
}

pub(crate) struct DibPicture {
    pub(crate) rgba: Vec<u8>,
    pub(crate) received: usize,
}

impl DibHeader {
    pub(crate) fn parse(dib: &[u8]) -> Option<Self> {
        let header_bytes = read_u32(dib, 0)? as usize;
        if header_bytes == 12 {
            return Self::parse_core(dib);
        }
        if !(16..=128).contains(&header_bytes) {
            return None;
        }
        // Windows headers have 40, 52, 56, 108 or 124 bytes. The others are OS/2 headers. In an
        // OS/2 header, compression 3 means Huffman coding instead of colour masks.
        let is_windows = matches!(header_bytes, 40 | 52 | 56 | 108 | 124);
        // A short OS/2 2.x header omits fields at its end, which then count as 0.
        let field = |at: usize| if at + 4 <= header_bytes { read_u32(dib, at) } else { Some(0) };
        let (width, height) = (read_u32(dib, 4)?.cast_signed(), read_u32(dib, 8)?.cast_signed());
        let bits = u32::from(read_u16(dib, 14)?);
        let compression = field(16)?;
        let storage = match (compression, bits) {
            (0, 1 | 2 | 4 | 8 | 16 | 24 | 32) => DibStorage::Rows,
            (3 | 6, 16 | 32) if is_windows => DibStorage::Rows,
            (1, 8) => DibStorage::Rle8,
            (2, 4) => DibStorage::Rle4,
            _ => return None,
        };
        let has_fields = matches!(compression, 3 | 6);
        let masks_inside = has_fields && header_bytes >= 52;
        let alpha_known = compression == 6 || header_bytes >= 56;
        // Chromium uses the header's alpha mask even if `compression` is 0. In an ICO entry it uses
        // the mask unchanged. In a 32-bit BMP it uses the fourth byte as alpha, if the mask is not
        // 0 and the header has at least version 4 (108 bytes).
        let declared =
            if is_windows && header_bytes >= 56 { Some(read_u32(dib, 52)?) } else { None };
        let fourth_byte = 0xFF00_0000;
        let (masks, icon_alpha) = match (has_fields, bits) {
            (true, _) => {
                let alpha = if alpha_known { read_u32(dib, 52)? } else { 0 };
                ([read_u32(dib, 40)?, read_u32(dib, 44)?, read_u32(dib, 48)?, alpha], alpha)
            }
            (false, 16) => ([0x7C00, 0x03E0, 0x001F, 0], declared.unwrap_or(0)),
            (false, 32) => {
                let is_used = header_bytes >= 108 && declared.is_some_and(|mask| mask != 0);
                let alpha = if is_used { fourth_byte } else { 0 };
                ([0x00FF_0000, 0xFF00, 0xFF, alpha], declared.unwrap_or(fourth_byte))
            }
            (false, _) => ([0; 4], 0),
        };
        let masks_behind = match (has_fields && !masks_inside, compression) {
            (false, _) => 0,
            (true, 6) => 16,
            (true, _) => 12,
        };
        let used = field(32)? as usize;
        let most = if bits <= 8 { 1usize << bits } else { 0 };
        Some(Self {
            width: u32::try_from(width).ok()?,
            height: height.unsigned_abs(),
            top_down: height < 0,
            bits,
            storage,
            masks,
            icon_alpha,
            palette_at: header_bytes + masks_behind,
            palette_entry_bytes: 4,
            palette_entries: if used == 0 || bits <= 8 && used > most { most } else { used },
        })
    }

    fn parse_core(dib: &[u8]) -> Option<Self> {
        let bits = u32::from(read_u16(dib, 10)?);
        if !matches!(bits, 1 | 2 | 4 | 8 | 16 | 24 | 32) {
            return None;
        }
        Some(Self {
            width: u32::from(read_u16(dib, 4)?),
            height: u32::from(read_u16(dib, 6)?),
            top_down: false,
            bits,
            storage: DibStorage::Rows,
            masks: if bits == 16 {
                [0x7C00, 0x03E0, 0x1F, 0]
            } else {
                [0xFF_0000, 0xFF00, 0xFF, 0]
            },
            icon_alpha: if bits == 32 { 0xFF00_0000 } else { 0 },
            palette_at: 12,
            palette_entry_bytes: 3,
            palette_entries: if bits <= 8 { 1 << bits } else { 0 },
        })
    }

    /// Returns the offset of the first byte after the palette, where pixels start by default.
    pub(crate) fn end(&self) -> usize {
        self.palette_at
            .saturating_add(self.palette_entries.saturating_mul(self.palette_entry_bytes))
    }

    fn palette(&self, dib: &[u8]) -> Vec<[u8; 3]> {
        let end = self.end().min(dib.len());
        let bytes = dib.get(self.palette_at..end).unwrap_or_default();
        let entries = bytes.chunks_exact(self.palette_entry_bytes).take(256);
        entries.map(|entry| [entry[2], entry[1], entry[0]]).collect()
    }

    /// Adapts this header for use in an ICO entry. `None` if alpha shares bits with a colour.
    pub(crate) fn in_icon(mut self) -> Option<Self> {
        let [red, green, blue, _] = self.masks;
        self.masks[3] = self.icon_alpha;
        (self.icon_alpha & (red | green | blue) == 0).then_some(self)
    }

    pub(crate) fn has_alpha(&self) -> bool {
        self.masks[3] != 0
    }

    /// Decodes up to `height` rows. Alpha is 255 if there is no alpha mask.
    pub(crate) fn decode(
        &self,
        dib: &[u8],
        height: u32,
        data: &[u8],
    ) -> Result<DibPicture, &'static str> {
        let sides = 1..=MAX_SIDE_PIXELS;
        if !sides.contains(&self.width) || !sides.contains(&height) {
            return Err("width or height out of range");
        }
        let rows = DibRows {
            width: self.width as usize,
            height: height as usize,
            top_down: self.top_down,
            bits: self.bits as usize,
            palette: self.palette(dib),
            masks: self.masks,
        };
        match self.storage {
            DibStorage::Rows => Ok(DibPicture {
                rgba: decode_rows(&rows, data)?,
                received: rows.received(data.len()),
            }),
            DibStorage::Rle4 | DibStorage::Rle8 => {
                let (rgba, received) = decode_rle(&rows, data)?;
                Ok(DibPicture { rgba, received })
            }
        }
    }
}

const FILE_HEADER_BYTES: usize = 14;

pub(crate) fn bmp_sides(bytes: &[u8]) -> Option<(u32, u32)> {
    let header = DibHeader::parse(bytes.get(FILE_HEADER_BYTES..)?)?;
    Some((header.width, header.height))
}

pub(crate) fn decode_bmp(bytes: &[u8], work: &mut Work) -> Result<Pixels, String> {
    let sides = bmp_sides(bytes).ok_or("unreadable header")?;
    work.spend(sides, bytes.len())?;
    decode_file(bytes).map_err(str::to_owned)
}

fn decode_file(bytes: &[u8]) -> Result<Pixels, &'static str> {
    let dib = bytes.get(FILE_HEADER_BYTES..).ok_or("no header")?;
    let header = DibHeader::parse(dib).ok_or("unreadable header")?;
    let named = read_u32(bytes, 10).ok_or("no header")? as usize;
    // As in Chromium, pixels may start at any offset in the file, even inside the headers or the
    // palette.
    let data = bytes.get(named..).filter(|data| !data.is_empty());
    let by_default = || dib.get(header.end()..);
    let from = data.or_else(by_default).ok_or("pixels start past the end")?;
    let picture = header.decode(dib, header.height, from)?;
    if data.is_none() && picture.received < header.height as usize {
        return Err("pixels start past the end");
    }
    Pixels::new(header.width, header.height, picture.rgba).ok_or("width or height out of range")
}
