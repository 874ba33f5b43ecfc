//! Decodes an image in any known format to RGBA pixels.
//!
//! Invariants:
//! - Width and height are checked against [`MAX_SIDE_PIXELS`] before any memory is allocated for
//!   the pixels.
//! - Every decoder runs inside `catch_unwind`, so a panic costs only one icon. A panic in the AV1
//!   decoder ends the process, though.
//! - A decoder does not use SIMD if this could change the pixels, because all machines must decode
//!   equal pixels.
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

/// Decodes an image: an animation's first frame, or the best entry in an ICO or CUR. An SVG is
/// drawn to fit 32x32 pixels. If a raster file is truncated, this decodes the part that was
/// received, as Chromium does.
///
/// # Errors
/// Returns an error if the bytes are not a supported image, or if they do not decode.
pub fn decode(bytes: &[u8]) -> Result<(Measured, Pixels), IconError> {
    decode_counted(bytes).0
}

/// Decodes an image like [`decode`], and also returns the counted work, even if decoding fails.
/// This does not count an SVG's work.
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

/// `AssertUnwindSafe` is correct, because the only shared value that a decoder changes is the work
/// count, which is consistent at all times.
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
