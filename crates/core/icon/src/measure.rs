//! Reads a picture's width and height from its header, without decoding it.
//!
//! Invariant: a decoder for a raster format returns a picture with exactly these dimensions, or an
//! error, so that we know its memory use before it runs. There are two exceptions: the EXIF
//! orientation of a JPEG may swap width and height, and if the best entry of an ICO does not
//! decode, the decoder may return another one.

use crate::{
    decoders::{avif, dib, gif, ico, jpeg, png, webp},
    error::IconError,
    format::Format,
    limits::MAX_SIDE_PIXELS,
    sniff::{
        identify,
        svg_root::{self, SvgRoot},
    },
};

/// A picture's format, width and height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Format, as detected from the content.
    pub format: Format,
    /// MIME type, as returned by [`Format::content_type`].
    pub content_type: &'static str,
    /// Width in pixels. For an SVG, this is the nominal width, or 0 if it is not declared.
    pub width: u32,
    /// Height in pixels. For an SVG, this is the nominal height, or 0 if it is not declared.
    pub height: u32,
}

/// Reads an image's format and dimensions, without checking whether it is too large.
///
/// # Errors
/// Returns an error if the bytes are not a supported image, or if the header violates its format.
pub fn measure(bytes: &[u8]) -> Result<Measured, IconError> {
    let format = identify(bytes)?;
    let sides = match format {
        Format::Png => png::shown_sides(bytes),
        Format::Ico | Format::Cur => ico::best_entry_sides(bytes),
        Format::Gif => gif::sides(bytes),
        Format::Jpeg => jpeg::sides(bytes),
        Format::Bmp => dib::bmp_sides(bytes),
        Format::Webp => webp::sides(bytes),
        Format::Svg => Some(svg_root::find(bytes).as_ref().map_or((0, 0), svg_sides)),
        Format::Avif => Some(avif::sides(bytes)?),
    };
    let (width, height) = sides.ok_or_else(|| IconError::corrupt(format, "unreadable header"))?;
    if format != Format::Svg && (width == 0 || height == 0) {
        return Err(IconError::corrupt(format, "width or height is 0"));
    }
    Ok(Measured { format, content_type: format.content_type(), width, height })
}

/// Rejects pictures that are too large to decode.
///
/// # Errors
/// Returns `TooLarge` if a raster picture's width or height is above [`MAX_SIDE_PIXELS`].
pub fn check_sides(measured: &Measured) -> Result<(), IconError> {
    let Measured { format, width, height, .. } = *measured;
    if format != Format::Svg && (width > MAX_SIDE_PIXELS || height > MAX_SIDE_PIXELS) {
        return Err(IconError::TooLarge { width, height });
    }
    Ok(())
}

/// Returns an SVG's nominal width and height in CSS pixels, or (0, 0) if there is not enough
/// information.
fn svg_sides(root: &SvgRoot) -> (u32, u32) {
    let view_box: Vec<f64> = root.view_box.as_deref().map_or_else(Vec::new, |text| {
        let numbers = text.split(|c: char| c == ',' || c.is_ascii_whitespace());
        numbers.filter(|part| !part.is_empty()).map_while(|part| part.parse().ok()).collect()
    });
    let view_box = match view_box[..] {
        [_, _, width, height] if width > 0.0 && height > 0.0 => Some((width, height)),
        _ => None,
    };
    let width = root.width.as_deref().and_then(css_pixels);
    let height = root.height.as_deref().and_then(css_pixels);
    let (width, height) = match (width, height, view_box) {
        (Some(width), Some(height), _) => (width, height),
        (Some(width), None, Some((w, h))) => (width, width * h / w),
        (None, Some(height), Some((w, h))) => (height * w / h, height),
        (None, None, Some(sides)) => sides,
        _ => return (0, 0),
    };
    // A cast with `as` saturates, so any float is safe here.
    ((width.round() as u32).max(1), (height.round() as u32).max(1))
}

/// `None` for percentages, unknown units, zero and negative lengths.
fn css_pixels(text: &str) -> Option<f64> {
    let text = text.trim_ascii();
    let split = text.find(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E' || c == '%');
    // The `e` in "em" and "ex" may also start an exponent, so search for these units first.
    let unit_at = ["em", "ex"].iter().find_map(|unit| text.strip_suffix(unit).map(str::len));
    let (number, unit) = text.split_at(unit_at.or(split).unwrap_or(text.len()));
    let factor = match unit {
        "" | "px" => 1.0,
        "pt" => 4.0 / 3.0,
        "pc" => 16.0,
        "in" => 96.0,
        "cm" => 96.0 / 2.54,
        "mm" => 96.0 / 25.4,
        "em" => 16.0,
        "ex" => 8.0,
        _ => return None,
    };
    number.trim_ascii_end().parse::<f64>().ok().map(|n| n * factor).filter(|&pixels| pixels > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn svg_dimensions_come_from_width_height_and_view_box() {
        let sides = |attributes: &str| {
            let text = format!("<svg xmlns='http://www.w3.org/2000/svg' {attributes}/>");
            let measured = measure(text.as_bytes()).unwrap();
            (measured.width, measured.height)
        };
        assert_eq!(sides("width='16' height='24px'"), (16, 24));
        assert_eq!(sides("width='1em' height='1in'"), (16, 96));
        assert_eq!(sides("width='1e2' height='12pt'"), (100, 16));
        assert_eq!(sides("viewBox='0,0 40 20'"), (40, 20));
        assert_eq!(sides("width='100%' height='100%' viewBox='0 0 40 20'"), (40, 20));
        assert_eq!(sides("width='80' viewBox='0 0 40 20'"), (80, 40));
        assert_eq!(sides("viewBox='0 0 0 20'"), (0, 0));
        assert_eq!(sides("width='-1' height='NaN'"), (0, 0));
        assert_eq!(sides("width='1e30' height='1'"), (u32::MAX, 1));
    }

    #[test]
    fn a_header_without_dimensions_is_corrupt_not_zero() {
        assert_eq!(measure(b"\x89PNG\r\n\x1a\n").unwrap_err().kind(), "image_corrupt");
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend([0, 0, 0, 0, 0, 0, 0, 9]);
        assert_eq!(measure(&png).unwrap_err().kind(), "image_corrupt");
    }
}
