//! What is asked of a page's text, and what is found.

use serde::Serialize;

/// Default of the greatest length in bytes of a page's text: of nearly all pages it is the whole
/// text, of which the median has 2 KiB.
pub const DEFAULT_TEXT_BYTES: usize = 64 << 10;

/// How much text is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRequest {
    /// Greatest length of the text in bytes.
    pub max_bytes: usize,
}

impl Default for TextRequest {
    fn default() -> Self {
        Self { max_bytes: DEFAULT_TEXT_BYTES }
    }
}

/// The text of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PageText {
    /// The lines, with a line feed between two of them.
    pub text: String,
    /// True if the page has more text.
    pub is_truncated: bool,
    /// The number of preformatted blocks that were left out as drawings.
    pub drawings_left_out: usize,
}
