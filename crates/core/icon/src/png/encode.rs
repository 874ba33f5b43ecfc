//! Encodes pixels as the smallest PNG that we find (PNG, Third Edition, 9, 11 and 12).
//!
//! Equal pixels give equal bytes on every machine, because the code uses integers (`quantize`
//! documents an exception) and libdeflate's output does not depend on SIMD.

use std::cell::RefCell;

use libdeflater::{CompressionLvl, Compressor};

use super::{
    census::Census,
    colours::Colours,
    format::{CHUNK_BYTES, HEADER_BYTES, SIGNATURE, close_chunk, push_chunk},
    packed::PackedPixels,
    quantize::{self, Merged, merged},
    reduce,
};
use crate::pixels::Pixels;

/// libdeflate's compression level (0..=12). docs/benchmarks.md compares sizes and times of the
/// levels.
const DEFLATE_LEVEL: i32 = 7;

thread_local! {
    /// One compressor per thread, because creating a compressor takes longer than compressing an
    /// icon.
    static COMPRESSOR: RefCell<Compressor> =
        RefCell::new(Compressor::new(CompressionLvl::new(DEFLATE_LEVEL).unwrap_or_default()));
}

/// Encodes `pixels` without loss.
#[must_use]
pub fn encode(pixels: &Pixels) -> Vec<u8> {
    encode_with(pixels, Colours::Lossless)
}

/// Encodes `pixels` with the given `colours`.
#[must_use]
pub fn encode_with(pixels: &Pixels, colours: Colours) -> Vec<u8> {
    COMPRESSOR.with_borrow_mut(|compressor| encode_by(compressor, pixels, colours))
}

/// Like [`encode_with`], with the given compressor.
#[must_use]
pub fn encode_by(compressor: &mut Compressor, pixels: &Pixels, colours: Colours) -> Vec<u8> {
    let clean = pixels.clone().with_clean_transparency();
    let census = Census::of(&clean);
    let merged = match colours {
        Colours::Lossless => None,
        Colours::Palette => merged(&clean, &census, 0),
        Colours::Auto => merged(&clean, &census, quantize::ENOUGH_MEAN)
            .filter(|merged| merged.difference.is_unseen()),
    };
    let (pixels, census) = match merged {
        Some(Merged { pixels, .. }) => {
            let census = Census::of(&pixels);
            (pixels, census)
        }
        None => (clean, census),
    };
    let files = reduce::candidates(&pixels, &census)
        .into_iter()
        .map(|(packed, rows)| write(&pixels, &packed, &rows, compressor));
    files.min_by_key(Vec::len).unwrap_or_default()
}

fn write(
    pixels: &Pixels,
    packed: &PackedPixels,
    rows: &[u8],
    compressor: &mut Compressor,
) -> Vec<u8> {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&pixels.width().to_be_bytes());
    header[4..8].copy_from_slice(&pixels.height().to_be_bytes());
    (header[8], header[9]) = (packed.bit_depth, packed.colour_type);
    let around = SIGNATURE.len() + header.len() + 5 * CHUNK_BYTES;
    let most = compressor.zlib_compress_bound(rows.len());
    let tables = packed.palette.len() + packed.transparency.len();
    let mut file = Vec::with_capacity(around + tables + most);
    file.extend_from_slice(SIGNATURE);
    push_chunk(&mut file, *b"IHDR", &header);
    if !packed.palette.is_empty() {
        push_chunk(&mut file, *b"PLTE", &packed.palette);
    }
    if !packed.transparency.is_empty() {
        push_chunk(&mut file, *b"tRNS", &packed.transparency);
    }
    let start = file.len();
    file.extend([0; 4]);
    file.extend(b"IDAT");
    file.resize(start + 8 + most, 0);
    // This cannot fail, because libdeflate guarantees that its bound suffices for any input.
    let length = compressor.zlib_compress(rows, &mut file[start + 8..]).unwrap_or(0);
    file.truncate(start + 8 + length);
    close_chunk(&mut file, start);
    push_chunk(&mut file, *b"IEND", &[]);
    file
}
