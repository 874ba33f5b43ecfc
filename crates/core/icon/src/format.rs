//! The image formats that this crate recognizes.

/// An image format that is recognized by content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// PNG, including animated PNG.
    Png,
    /// Windows icon (ICO).
    Ico,
    /// Windows cursor (CUR): an icon with a hotspot.
    Cur,
    /// GIF 87a or 89a.
    Gif,
    /// JPEG.
    Jpeg,
    /// Windows bitmap (BMP).
    Bmp,
    /// WebP: lossy, lossless or extended.
    Webp,
    /// AVIF image, or the primary picture in an AVIF sequence.
    Avif,
    /// SVG as uncompressed XML.
    Svg,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 9] = [
        Self::Png,
        Self::Ico,
        Self::Cur,
        Self::Gif,
        Self::Jpeg,
        Self::Bmp,
        Self::Webp,
        Self::Avif,
        Self::Svg,
    ];

    /// Returns this format's short name in lower case, such as `png`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Ico => "ico",
            Self::Cur => "cur",
            Self::Gif => "gif",
            Self::Jpeg => "jpeg",
            Self::Bmp => "bmp",
            Self::Webp => "webp",
            Self::Avif => "avif",
            Self::Svg => "svg",
        }
    }

    /// Returns the MIME type that EveryTab records for this format. For ICO and CUR this is
    /// `image/x-icon`, as in the WHATWG MIME Sniffing Standard.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Ico | Self::Cur => "image/x-icon",
            Self::Gif => "image/gif",
            Self::Jpeg => "image/jpeg",
            Self::Bmp => "image/bmp",
            Self::Webp => "image/webp",
            Self::Avif => "image/avif",
            Self::Svg => "image/svg+xml",
        }
    }
}
