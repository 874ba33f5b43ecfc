//! Limits that several modules of this crate share.

/// Maximum width and height in pixels for a decoded picture, as in Firefox (`MAX_ICON_SIZE`). A
/// square picture at this limit takes 16 MiB as RGBA.
pub const MAX_SIDE_PIXELS: u32 = 2048;

/// Maximum width and height in pixels for a tab icon. A tab shows icons at 16 CSS pixels, which are
/// 32 device pixels on a high-density screen.
pub const TAB_ICON_PIXELS: u32 = 32;

/// Maximum memory in bytes for a third-party decoder. This is four times the largest decoded
/// picture, so that the decoder's buffers fit, too.
pub(crate) const MAX_DECODER_BYTES: usize = 64 * 1024 * 1024;

const _: () = assert!((MAX_SIDE_PIXELS as usize).pow(2) * 4 < MAX_DECODER_BYTES);
