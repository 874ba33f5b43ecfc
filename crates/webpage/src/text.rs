//! The text of a page that people see, as lines.
//!
//! It comes from the one pass over the markup, only where a caller asks. Left out are scripts,
//! styles, templates, `noscript`, drawings and formulas, form fields, the fallbacks of media, what
//! `hidden` or a `style` attribute hides, and the title, which [`crate::Page`] has. Blocks begin
//! and end lines, table cells are apart by a space, white space is folded, except in preformatted
//! blocks, of which drawings are left out (see `ascii_art`). Invariants: the text has at most as
//! many bytes as are asked for, no NUL and no other control character than the line feed. Must not
//! know: style sheets, scripts, what a text is used for.

mod element;
mod finder;
mod open_elements;
mod page_text;
mod writer;

pub use self::page_text::{DEFAULT_TEXT_BYTES, PageText, TextRequest};
pub(crate) use self::{
    element::{Element, Flow},
    finder::{TextFinder, is_hidden},
};
use self::{
    finder::{Piece, PieceKind},
    writer::TextWriter,
};
use crate::{charset::Charset, content_type};

impl TextFinder {
    /// Makes the text from what was found in `html`, which is in this encoding.
    pub(crate) fn written(&self, html: &[u8], charset: &Charset) -> PageText {
        let mut writer = TextWriter::new(self.max_bytes);
        for Piece { kind, start, end } in &self.pieces {
            let bytes = || html.get(*start as usize..*end as usize).unwrap_or_default();
            match kind {
                PieceKind::Text => {
                    let text = charset.decode_piece(bytes());
                    writer.text(&htmlize::unescape(text));
                }
                PieceKind::Verbatim => writer.text(&charset.decode_piece(bytes())),
                PieceKind::Space => writer.space(),
                PieceKind::Break => writer.line_break(),
                PieceKind::LineFeed => writer.text("\n"),
                PieceKind::BlockStart => writer.start_block(),
                PieceKind::BlockEnd => writer.end_block(),
            }
            if writer.is_full() {
                break;
            }
        }
        let mut text = writer.finish();
        text.is_truncated |= self.is_full;
        text
    }
}

/// Reads the text of a document that has no markup. Its lines stay as they are, except for control
/// characters and white space at their ends.
#[must_use]
pub fn plain_text(headers: &[(String, Vec<u8>)], body: &[u8], request: &TextRequest) -> PageText {
    let declared = Charset::declared(content_type::extract(headers).as_ref(), body);
    let charset = declared.unwrap_or_else(|| Charset::undeclared(body, None));
    let mut writer = TextWriter::new(request.max_bytes);
    writer.lines(&charset.decode(body));
    writer.finish()
}

#[cfg(test)]
mod tests;
