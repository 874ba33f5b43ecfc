//! The request for a page's text, and the result.

use serde::Serialize;

/// Default maximum size in bytes for a page's text. The median is 2 KiB.
pub const DEFAULT_TEXT_BYTES: usize = 64 << 10;

/// How much text is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRequest {
    /// Maximum text length in bytes. Text beyond this limit is dropped.
    pub max_bytes: usize,
}

impl Default for TextRequest {
    fn default() -> Self {
        Self { max_bytes: DEFAULT_TEXT_BYTES }
    }
}

/// A page's text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PageText {
    /// The lines, separated by line feeds.
    pub text: String,
    /// True if this page has more text.
    pub is_truncated: bool,
    /// How many preformatted blocks were skipped, because they are drawings or were the first text
    /// on this page.
    pub drawings_left_out: usize,
}
