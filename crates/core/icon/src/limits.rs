//! Sizes on which several modules in this crate must agree.
//!
//! A limit that concerns only one module is defined there.

/// Maximum width and height in pixels that is decoded. This is Firefox's limit (`MAX_ICON_SIZE`).
/// It bounds a decoded picture to 4 megapixels, which take 16 MiB as RGBA.
pub const MAX_SIDE_PIXELS: u32 = 2048;

/// Maximum width and height in pixels for a tab icon: a tab shows 16 CSS pixels, which are 32
/// device pixels on a screen with two device pixels per CSS pixel.
pub const TAB_ICON_PIXELS: u32 = 32;

/// Memory in bytes that a third-party decoder may allocate, if it accepts a limit: four times the
/// largest decoded picture, so that the decoder's buffers fit in addition to the picture.
pub(crate) const MAX_DECODER_BYTES: usize = 64 * 1024 * 1024;

const _: () = assert!((MAX_SIDE_PIXELS as usize).pow(2) * 4 < MAX_DECODER_BYTES);
