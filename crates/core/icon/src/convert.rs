//! Converts a website's icon to a tab icon: a PNG of at most 32x32 pixels.

use crate::{
    decode::decode,
    error::IconError,
    format::Format,
    limits::TAB_ICON_PIXELS,
    measure::Measured,
    original,
    png::{Colours, encode_with},
    scale::scale_down,
};

/// A raster picture whose width and height are at most this many pixels counts as a tracking pixel,
/// not as an icon. Servers often return a 1x1 GIF if an icon does not exist.
pub const MAX_TRACKING_PIXELS: u32 = 2;

/// A tab icon and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TabIcon {
    /// The PNG file, without metadata.
    pub png: Vec<u8>,
    /// PNG width in pixels, 1..=32.
    pub width: u32,
    /// PNG height in pixels, 1..=32.
    pub height: u32,
    /// The source picture's format and dimensions.
    pub source: Measured,
    /// True if all pixels are equal.
    pub blank: bool,
}

/// Converts an icon: decodes it, scales it down to fit 32x32 pixels, and encodes a PNG with
/// [`Colours::Auto`].
///
/// ```
/// use everytab_icon::convert::to_tab_icon;
///
/// let svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 8'>\
///            <path fill='red' d='M0 0h16v8H0z'/></svg>";
/// let icon = to_tab_icon(svg.as_bytes())?;
/// assert_eq!((icon.width, icon.height), (32, 16));
/// assert!(icon.png.starts_with(b"\x89PNG"));
/// # Ok::<(), everytab_icon::IconError>(())
/// ```
///
/// # Errors
/// Returns an error if the icon does not decode, if it is a raster picture of at most 2x2 pixels
/// (`TooSmall`), or if all its pixels are transparent (`Blank`).
pub fn to_tab_icon(bytes: &[u8]) -> Result<TabIcon, IconError> {
    to_tab_icon_with(bytes, Colours::Auto)
}

/// Converts an icon like [`to_tab_icon`], with the given `colours`.
///
/// # Errors
/// Returns the same errors as [`to_tab_icon`].
pub fn to_tab_icon_with(bytes: &[u8], colours: Colours) -> Result<TabIcon, IconError> {
    let (source, pixels) = decode(bytes)?;
    // If the best entry of an ICO does not decode, `pixels` is another entry, but `source`
    // describes the best one.
    let (width, height) = (pixels.width(), pixels.height());
    if source.format != Format::Svg && width.max(height) <= MAX_TRACKING_PIXELS {
        return Err(IconError::TooSmall { width, height });
    }
    let pixels = scale_down(pixels, TAB_ICON_PIXELS);
    let is_scaled = (pixels.width(), pixels.height()) != (width, height);
    if pixels.fully_transparent() {
        return Err(IconError::Blank);
    }
    let mut png = encode_with(&pixels, colours);
    if source.format == Format::Png && !is_scaled {
        png = original::kept(bytes, &pixels, png.len()).unwrap_or(png);
    }
    Ok(TabIcon {
        png,
        width: pixels.width(),
        height: pixels.height(),
        source,
        blank: pixels.one_colour(),
    })
}
