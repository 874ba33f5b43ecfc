//! Decodes the bytes of any known format to RGBA pixels.
//!
//! Invariants: width and height are checked against [`MAX_SIDE_PIXELS`] before any memory is
//! allocated for the pixels; every decoder runs inside `catch_unwind`, so a panic in third-party
//! code costs one icon; decoders run without SIMD where SIMD could give other pixels, so that the
//! pixels are the same on every machine (SVG is drawn with floats, see `decoders::svg`).
//! Must not know: files, or what the pixels are for.
//!
//! [`MAX_SIDE_PIXELS`]: crate::limits::MAX_SIDE_PIXELS

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    decoders::{dib, gif, ico, jpeg, png, svg, webp},
    error::IconError,
    format::Format,
    measure::{Measured, check_sides, measure},
    pixels::Pixels,
};

/// Decodes an image. Of an animation it decodes the first frame, of an ICO or CUR the entry that
/// suits a tab icon of 32 pixels best; an SVG is drawn to fit 32x32 pixels.
///
/// # Errors
/// Any [`IconError`] except `TooSmall` and `Blank`, which only conversion to a tab icon returns.
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

/// Runs a decoder and returns an error if it panics. The decoder changes no value that outlives
/// it, so unwinding leaves nothing half-written.
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
    fn a_panic_of_a_decoder_is_an_error_value() {
        let result: Result<(), _> = guarded(Format::Gif, || panic!("as third-party code may"));
        assert_eq!(result, Err(IconError::DecoderPanicked { format: Format::Gif }));
    }
}
