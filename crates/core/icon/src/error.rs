//! The reasons why an icon did not become a tab icon.

use thiserror::Error;

use crate::format::Format;

/// The reason why bytes did not become a tab icon.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IconError {
    /// The body is empty.
    #[error("empty body")]
    Empty,
    /// The body is an HTML page, often an error page served with status 200.
    #[error("an HTML page, not an image")]
    Html,
    /// The content is not in a known image format.
    #[error("not a known image format")]
    NotAnImage,
    /// The format is known, but the bytes violate it or end too early.
    #[error("corrupt {}: {reason}", format.name())]
    Corrupt {
        /// Format, as detected from the content.
        format: Format,
        /// The decoder's error message, in one short line.
        reason: String,
    },
    /// According to the header, width or height is above [`crate::limits::MAX_SIDE_PIXELS`].
    #[error("{width}x{height} pixels is more than 2048x2048")]
    TooLarge {
        /// Width in pixels, read from the header.
        width: u32,
        /// Height in pixels, read from the header.
        height: u32,
    },
    /// The picture has at most 2x2 pixels, so it is a tracking pixel instead of an icon.
    #[error("{width}x{height} pixels is too small for an icon")]
    TooSmall {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// All pixels are fully transparent.
    #[error("fully transparent")]
    Blank,
    /// The SVG exceeds a limit on its size or its drawing work, or uses an unsupported feature.
    #[error("svg refused: {reason}")]
    SvgRefused {
        /// The limit that the SVG exceeds, or the feature that is not supported.
        reason: &'static str,
    },
    /// An unsupported AVIF, such as an overlay.
    #[error("unsupported AVIF feature")]
    AvifUnsupported,
    /// A decoder panicked. Only this icon is lost.
    #[error("the {} decoder panicked", format.name())]
    DecoderPanicked {
        /// Format, as detected from the content.
        format: Format,
    },
}

impl IconError {
    /// All kinds, in the variants' order.
    pub const KINDS: [&'static str; 10] = [
        "empty_body",
        "not_image_html",
        "not_image_other",
        "image_corrupt",
        "image_too_big",
        "image_too_small",
        "image_blank",
        "svg_rejected",
        "avif_unsupported",
        "decoder_panicked",
    ];

    /// Returns this error's stable name. Do not rename it, because the counts of past scans use it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        let index = match self {
            Self::Empty => 0,
            Self::Html => 1,
            Self::NotAnImage => 2,
            Self::Corrupt { .. } => 3,
            Self::TooLarge { .. } => 4,
            Self::TooSmall { .. } => 5,
            Self::Blank => 6,
            Self::SvgRefused { .. } => 7,
            Self::AvifUnsupported => 8,
            Self::DecoderPanicked { .. } => 9,
        };
        Self::KINDS[index]
    }

    pub(crate) fn corrupt(format: Format, reason: impl std::fmt::Display) -> Self {
        // A decoder's message may quote the website's bytes.
        let reason: String =
            reason.to_string().chars().filter(|c| !c.is_control()).take(160).collect();
        Self::Corrupt { format, reason }
    }
}
