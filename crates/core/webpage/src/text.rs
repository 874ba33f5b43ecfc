//! A page's visible text, as lines. This text contains no control character except the line feed.

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
    /// `charset` is the encoding of `html`.
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

/// Reads a document's text without markup. Lines are kept without control characters and white
/// space at their ends.
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
