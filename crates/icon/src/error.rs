//! Why an icon did not become a tab icon.
//!
//! Owns the closed list of kinds; their strings are stable, because counts of past scans use
//! them. A refusal here is data about a stranger's bytes, never a fault of ours. Must not know
//! where the bytes came from.

use thiserror::Error;

use crate::sniff::Format;

/// Why bytes are no icon. [`IconError::kind`] is the stable name, `Display` the line for people.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IconError {
    /// No bytes at all.
    #[error("empty body")]
    Empty,
    /// An HTML page: the usual soft 404.
    #[error("an HTML page, not an image")]
    Html,
    /// No image format known here, by content.
    #[error("not an image format known here")]
    NotAnImage,
    /// The format is known, the bytes break its rules or end too soon.
    #[error("corrupt {}: {reason}", format.name())]
    Corrupt {
        /// Format by content.
        format: Format,
        /// What the decoder found, one line.
        reason: String,
    },
    /// Larger than [`crate::decode::MAX_SIDE_PIXELS`] on a side, by its header.
    #[error("{width}x{height} pixels is more than 2048x2048")]
    TooLarge {
        /// Width in pixels by the header.
        width: u32,
        /// Height in pixels by the header.
        height: u32,
    },
    /// 2x2 pixels or less: a tracking pixel, not an icon.
    #[error("{width}x{height} pixels is no icon")]
    TooSmall {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// Every pixel is fully transparent.
    #[error("fully transparent")]
    Blank,
    /// An SVG that could cost too much to draw, or uses what is not drawn here.
    #[error("svg refused: {reason}")]
    SvgRefused {
        /// Which bound it breaks.
        reason: &'static str,
    },
    /// AVIF: no small decoder in safe Rust exists that we would trust with strangers' bytes.
    #[error("avif unsupported")]
    AvifUnsupported,
    /// A third-party decoder panicked; only this icon is lost.
    #[error("the {} decoder panicked", format.name())]
    DecoderPanicked {
        /// Format by content.
        format: Format,
    },
}

impl IconError {
    /// All kinds, in the order of the variants.
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

    /// The stable name of this error.
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
        // One line and bounded, whatever a decoder quotes from the bytes.
        let reason: String =
            reason.to_string().chars().filter(|c| !c.is_control()).take(160).collect();
        Self::Corrupt { format, reason }
    }
}
