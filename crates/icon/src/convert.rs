//! From an icon as served to a tab icon: at most 32x32, PNG.

use crate::decode::{TAB_ICON_PIXELS, decode};
use crate::error::IconError;
use crate::measure::Measured;
use crate::original;
use crate::png::{Colours, encode_with};
use crate::scale::scale_down;
use crate::sniff::Format;

/// Sides up to which a raster picture is a tracking pixel, not an icon.
pub const MAX_TRACKING_PIXELS: u32 = 2;

/// A converted icon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TabIcon {
    /// The PNG, no metadata.
    pub png: Vec<u8>,
    /// Width of the PNG in pixels, 1..=32.
    pub width: u32,
    /// Height, likewise.
    pub height: u32,
    /// What the source was.
    pub source: Measured,
    /// Every pixel is the same: visible, but a plain rectangle.
    pub blank: bool,
}

/// Converts an icon: decode, scale down to fit 32x32, PNG in as many colours as the eye can tell.
///
/// # Errors
/// Any [`IconError`]: pictures of 2x2 and less, and fully transparent ones, are refused too.
pub fn to_tab_icon(bytes: &[u8]) -> Result<TabIcon, IconError> {
    to_tab_icon_with(bytes, Colours::Auto)
}

/// As [`to_tab_icon`], with a choice of colours.
///
/// # Errors
/// As [`to_tab_icon`].
pub fn to_tab_icon_with(bytes: &[u8], colours: Colours) -> Result<TabIcon, IconError> {
    let (source, pixels) = decode(bytes)?;
    // The entry of an ICO that decoded may be a lesser one than the one measured.
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
