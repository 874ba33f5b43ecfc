//! The smallest PNG of given pixels, and nothing but the pixels: no metadata.
//!
//! Invariants: lossless unless [`Palette::Quantized`] is asked for; colour under alpha 0 is set
//! to 0 first; same pixels give the same bytes on every machine (integer code, libdeflate's
//! output does not depend on its SIMD). Source: PNG (Third Edition) 9, 11, 12.

mod filter;
mod quantize;
mod reduce;

use libdeflater::{CompressionLvl, Compressor, crc32};

use crate::pixels::Pixels;
use filter::Filtering;
use reduce::Reduced;

/// libdeflate's level: 12 gains 1 % of size for four times the time.
const DEFLATE_LEVEL: i32 = 9;

/// Whether colours may be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Palette {
    /// Exactly the given pixels.
    #[default]
    Lossless,
    /// At most 64 colours, merged where there are more. About a third smaller, rms error about
    /// half a level of 255.
    Quantized,
}

/// Encodes `pixels`, losslessly.
#[must_use]
pub fn encode(pixels: &Pixels) -> Vec<u8> {
    encode_with(pixels, Palette::Lossless)
}

/// Encodes `pixels` with a choice of palette: of each way to store them the smallest.
#[must_use]
pub fn encode_with(pixels: &Pixels, palette: Palette) -> Vec<u8> {
    let clean = pixels.clone().with_clean_transparency();
    let pixels = match palette {
        Palette::Lossless => clean,
        Palette::Quantized => quantize::quantized(clean),
    };
    // Level 9 is one of libdeflate's 0..=12.
    let level = CompressionLvl::new(DEFLATE_LEVEL).unwrap_or_default();
    let mut compressor = Compressor::new(level);
    let candidates = reduce::candidates(&pixels);
    let files = candidates.iter().flat_map(|reduced| {
        // Neighbouring palette indices say nothing about each other, so filters don't help.
        let filterings: &[Filtering] = if reduced.is_palette() {
            &[Filtering::None]
        } else {
            &[Filtering::None, Filtering::LeastSum]
        };
        filterings.iter().map(move |&filtering| (reduced, filtering))
    });
    let mut smallest: Option<Vec<u8>> = None;
    for (reduced, filtering) in files {
        let file = write(&pixels, reduced, &filtering.apply(reduced), &mut compressor);
        // The first of equals stays: a fixed choice.
        if smallest.as_ref().is_none_or(|best| file.len() < best.len()) {
            smallest = Some(file);
        }
    }
    smallest.unwrap_or_default()
}

fn write(pixels: &Pixels, reduced: &Reduced, raw: &[u8], compressor: &mut Compressor) -> Vec<u8> {
    let mut header = Vec::with_capacity(13);
    header.extend(pixels.width().to_be_bytes());
    header.extend(pixels.height().to_be_bytes());
    header.extend([reduced.bit_depth, reduced.colour_type, 0, 0, 0]);
    let mut data = vec![0; compressor.zlib_compress_bound(raw.len())];
    // The bound is libdeflate's own promise for any input, so this can't fail.
    let length = compressor.zlib_compress(raw, &mut data).unwrap_or(0);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut file, *b"IHDR", &header);
    if !reduced.palette.is_empty() {
        chunk(&mut file, *b"PLTE", &reduced.palette);
    }
    if !reduced.transparency.is_empty() {
        chunk(&mut file, *b"tRNS", &reduced.transparency);
    }
    chunk(&mut file, *b"IDAT", &data[..length]);
    chunk(&mut file, *b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    // A picture of 16 MiB at most makes no chunk of 4 GiB.
    file.extend((data.len() as u32).to_be_bytes());
    let from = file.len();
    file.extend(name);
    file.extend(data);
    let sum = crc32(&file[from..]);
    file.extend(sum.to_be_bytes());
}
