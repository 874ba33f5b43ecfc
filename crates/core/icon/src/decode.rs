//! Decodes an image in any known format to RGBA pixels.
//!
//! Invariants: width and height are checked against [`MAX_SIDE_PIXELS`] before any memory is
//! allocated for the pixels; every decoder runs inside `catch_unwind`, so a panic in third-party
//! code costs one icon (except in the AV1 decoder, see `decoders::avif`); decoders run without SIMD
//! where SIMD could change pixels, so that the pixels are the same on every machine (SVG is drawn
//! with floats, see `decoders::svg`). This does not depend on files, or on how pixels are used.
//!
//! [`MAX_SIDE_PIXELS`]: crate::limits::MAX_SIDE_PIXELS

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    decoders::{avif, dib, gif, ico, jpeg, png, svg, webp},
    error::IconError,
    format::Format,
    measure::{Measured, check_sides, measure},
    pixels::Pixels,
    work::Work,
};

/// Decodes an image. For an animation it decodes the first frame, for an ICO or CUR the entry that
/// suits a 32-pixel tab icon best. An SVG is drawn to fit 32x32 pixels. A raster file that ends too
/// early gives the part that was received, as in Chromium.
///
/// # Errors
/// Returns any [`IconError`] except `TooSmall` and `Blank`, which only conversion to a tab icon
/// returns.
pub fn decode(bytes: &[u8]) -> Result<(Measured, Pixels), IconError> {
    decode_counted(bytes).0
}

/// Decodes an image like [`decode`], and also returns the work, even if decoding failed. An SVG's
/// work is not counted here: see `decoders::svg_cost`.
pub fn decode_counted(bytes: &[u8]) -> (Result<(Measured, Pixels), IconError>, Work) {
    let mut work = Work::default();
    let result = measure(bytes).and_then(|measured| {
        check_sides(&measured)?;
        let pixels = guarded(measured.format, || decode_as(measured.format, bytes, &mut work))?;
        Ok((measured, pixels))
    });
    (result, work)
}

fn decode_as(format: Format, bytes: &[u8], work: &mut Work) -> Result<Pixels, IconError> {
    let corrupt = |reason: String| IconError::corrupt(format, reason);
    match format {
        Format::Png => png::decode(bytes, work).map_err(corrupt),
        Format::Ico | Format::Cur => ico::decode(bytes, format, work),
        Format::Gif => gif::decode(bytes, work).map_err(corrupt),
        Format::Jpeg => jpeg::decode(bytes, work).map_err(corrupt),
        Format::Bmp => dib::decode_bmp(bytes, work).map_err(corrupt),
        Format::Webp => webp::decode(bytes, work).map_err(corrupt),
        Format::Svg => svg::decode(bytes),
        Format::Avif => avif::decode(bytes, work),
    }
}

/// Runs a decoder and returns an error if it panics. This is unwind-safe: the only value that it
/// changes and that outlives it is its work count, which is always consistent.
fn guarded<T>(
    format: Format,
    decoder: impl FnOnce() -> Result<T, IconError>,
) -> Result<T, IconError> {
    catch_unwind(AssertUnwindSafe(decoder)).unwrap_or(Err(IconError::DecoderPanicked { format }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoder_panic_is_an_error_value() {
        let result: Result<(), _> = guarded(Format::Gif, || panic!("as third-party code may"));
        assert_eq!(result, Err(IconError::DecoderPanicked { format: Format::Gif }));
    }
}
