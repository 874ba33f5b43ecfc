//! The smallest PNG of given pixels, and nothing but the pixels: no metadata.
//!
//! Invariants: lossless where [`Colours::Lossless`] is asked for; colour under alpha 0 is set
//! to 0 first; same pixels give the same bytes on every machine (integer code, libdeflate's
//! output does not depend on its SIMD). Source: PNG (Third Edition) 9, 11, 12.

mod census;
mod filter;
mod quantize;
mod reduce;

use std::cell::RefCell;
use std::str::FromStr;

use libdeflater::{CompressionLvl, Compressor, crc32};
use serde::{Deserialize, Serialize};

use crate::pixels::Pixels;
pub use quantize::Difference;
use quantize::quantized;
pub(crate) use reduce::INDEXED;
use reduce::Reduced;

/// libdeflate's level; docs/benchmarks.md has the bytes and microseconds of the others.
const DEFLATE_LEVEL: i32 = 7;

thread_local! {
    /// Making one costs more than an icon does, and it holds nothing of the last.
    static COMPRESSOR: RefCell<Compressor> =
        RefCell::new(Compressor::new(CompressionLvl::new(DEFLATE_LEVEL).unwrap_or_default()));
}

pub(crate) const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// What IHDR holds.
pub(crate) const HEADER_BYTES: usize = 13;
/// Length, name and sum.
pub(crate) const CHUNK_BYTES: usize = 12;

/// Whether colours may be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Colours {
    /// At most 64 colours where the eye can't tell ([`Difference`] within bounds), else all.
    #[default]
    Auto,
    /// At most 64 colours, whatever it looks like.
    Palette,
    /// Exactly the given pixels.
    Lossless,
}

impl Colours {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Palette, Self::Lossless];

    /// The name by which a person chooses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Palette => "palette",
            Self::Lossless => "lossless",
        }
    }
}

impl FromStr for Colours {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|colours| colours.name() == name);
        known.ok_or_else(|| format!("{name:?} is none of auto, palette, lossless"))
    }
}

/// Encodes `pixels`, losslessly.
#[must_use]
pub fn encode(pixels: &Pixels) -> Vec<u8> {
    encode_with(pixels, Colours::Lossless)
}

/// Encodes `pixels` with a choice of colours: of the ways tried to store them the smallest.
#[must_use]
pub fn encode_with(pixels: &Pixels, colours: Colours) -> Vec<u8> {
    COMPRESSOR.with_borrow_mut(|compressor| encode_by(compressor, pixels, colours))
}

/// As [`encode_with`], by a compressor of another effort: for measuring.
#[must_use]
pub fn encode_by(compressor: &mut Compressor, pixels: &Pixels, colours: Colours) -> Vec<u8> {
    let clean = pixels.clone().with_clean_transparency();
    let pixels = match colours {
        Colours::Lossless => clean,
        Colours::Palette => quantized(&clean, 0),
        Colours::Auto => {
            let few = quantized(&clean, quantize::AIM);
            if Difference::between(&clean, &few).is_unseen() { few } else { clean }
        }
    };
    let files = reduce::candidates(&pixels)
        .into_iter()
        .map(|(reduced, rows)| write(&pixels, &reduced, &rows, compressor));
    // The first of equals: a fixed choice. There is always a candidate.
    files.min_by_key(Vec::len).unwrap_or_default()
}

fn write(pixels: &Pixels, reduced: &Reduced, rows: &[u8], compressor: &mut Compressor) -> Vec<u8> {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&pixels.width().to_be_bytes());
    header[4..8].copy_from_slice(&pixels.height().to_be_bytes());
    (header[8], header[9]) = (reduced.bit_depth, reduced.colour_type);
    let around = SIGNATURE.len() + header.len() + 5 * CHUNK_BYTES;
    let most = compressor.zlib_compress_bound(rows.len());
    let tables = reduced.palette.len() + reduced.transparency.len();
    let mut file = Vec::with_capacity(around + tables + most);
    file.extend_from_slice(SIGNATURE);
    chunk(&mut file, *b"IHDR", &header);
    if !reduced.palette.is_empty() {
        chunk(&mut file, *b"PLTE", &reduced.palette);
    }
    if !reduced.transparency.is_empty() {
        chunk(&mut file, *b"tRNS", &reduced.transparency);
    }
    let start = file.len();
    file.extend([0; 4]);
    file.extend(b"IDAT");
    file.resize(start + 8 + most, 0);
    // The bound is libdeflate's own promise for any input, so this can't fail.
    let length = compressor.zlib_compress(rows, &mut file[start + 8..]).unwrap_or(0);
    file.truncate(start + 8 + length);
    close_chunk(&mut file, start);
    chunk(&mut file, *b"IEND", &[]);
    file
}

pub(crate) fn chunk(file: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    let start = file.len();
    file.extend([0; 4]);
    file.extend(name);
    file.extend_from_slice(data);
    close_chunk(file, start);
}

/// Writes the length of the chunk that begins at `start`, and its sum.
fn close_chunk(file: &mut Vec<u8>, start: usize) {
    // A picture of 16 MiB at most makes no chunk of 4 GiB.
    let length = (file.len() - start - 8) as u32;
    file[start..start + 4].copy_from_slice(&length.to_be_bytes());
    let sum = crc32(&file[start + 4..]);
    file.extend(sum.to_be_bytes());
}
