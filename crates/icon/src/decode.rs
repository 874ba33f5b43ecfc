//! Bytes of any known format -> straight RGBA8 pixels.
//!
//! Invariants: sides are checked against [`MAX_SIDE_PIXELS`] before anything is allocated for
//! them; every decoder runs inside `catch_unwind`, so a third-party panic costs one icon;
//! decoders run without SIMD where SIMD could give other pixels, so the pixels are the same on
//! every machine (an SVG's are floats, see `svg`). Must not know about files, or what the
//! pixels are for, except that an SVG is drawn at the size of a tab icon.

pub(crate) mod dib;
pub(crate) mod dib_rows;
pub(crate) mod gif;
pub(crate) mod ico;
pub(crate) mod jpeg;
pub(crate) mod orientation;
pub(crate) mod png;
pub(crate) mod png_quick;
pub(crate) mod svg;
pub(crate) mod svg_cost;
pub(crate) mod svg_style;
pub(crate) mod webp;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::IconError;
use crate::measure::{Measured, check_sides, measure};
use crate::pixels::Pixels;
use crate::sniff::Format;

/// Greatest width and height that is decoded (Firefox's MAX_ICON_SIZE); 4 Mpx in all.
pub const MAX_SIDE_PIXELS: u32 = 2048;
/// Sides that an SVG is drawn to fit: those of a tab icon.
pub const TAB_ICON_PIXELS: u32 = 32;
/// Memory that a third-party decoder may take for itself, where it can be told.
pub(crate) const MAX_DECODER_BYTES: usize = 64 * 1024 * 1024;
/// 16 MiB of RGBA at most, and the decoder's own buffers fit beside it.
const _: () = assert!((MAX_SIDE_PIXELS as usize).pow(2) * 4 < MAX_DECODER_BYTES);

/// Decodes `bytes`: the first frame of an animation, the best entry of an ICO for 32 pixels, an
/// SVG drawn to fit 32x32.
///
/// # Errors
/// Any [`IconError`] except `TooSmall` and `Blank`.
pub fn decode(bytes: &[u8]) -> Result<(Measured, Pixels), IconError> {
    let measured = measure(bytes)?;
    check_sides(&measured)?;
    let format = measured.format;
    let pixels = guarded(format, || match format {
        Format::Png => png::decode(bytes).map_err(|reason| IconError::corrupt(format, reason)),
        Format::Ico | Format::Cur => ico::decode(bytes, format),
        Format::Gif => gif::decode(bytes).map_err(|reason| IconError::corrupt(format, reason)),
        Format::Jpeg => jpeg::decode(bytes).map_err(|reason| IconError::corrupt(format, reason)),
        Format::Bmp => dib::decode_bmp(bytes).map_err(|reason| IconError::corrupt(format, reason)),
        Format::Webp => webp::decode(bytes).map_err(|reason| IconError::corrupt(format, reason)),
        Format::Svg => svg::decode(bytes),
        Format::Avif => Err(IconError::AvifUnsupported),
    })?;
    Ok((measured, pixels))
}

/// Runs a decoder; its panic becomes an error. Only values made inside can be left half done,
/// and those are dropped with the unwinding.
fn guarded<T>(
    format: Format,
    decoder: impl FnOnce() -> Result<T, IconError>,
) -> Result<T, IconError> {
    catch_unwind(AssertUnwindSafe(decoder)).unwrap_or(Err(IconError::DecoderPanicked { format }))
}

/// Bounds-checked little-endian reads, `None` past the end.
pub(crate) fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// As [`read_u16`], 24 bits.
pub(crate) fn read_u24(bytes: &[u8], at: usize) -> Option<u32> {
    let [a, b, c] = *bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes([a, b, c, 0]))
}

/// As [`read_u16`], 32 bits.
pub(crate) fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_a_decoder_is_an_error_value() {
        let result: Result<(), _> = guarded(Format::Gif, || panic!("as third-party code may"));
        assert_eq!(result, Err(IconError::DecoderPanicked { format: Format::Gif }));
    }
}
