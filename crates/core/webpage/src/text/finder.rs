//! Finds text during the pass over the markup. Pieces are byte ranges, because a page's encoding is
//! only known at its end.

use super::{
    element::{Element, Flow},
    open_elements::OpenElements,
    page_text::TextRequest,
};
use crate::{
    markup::TagVisitor,
    nesting::Nesting,
    tokens::{self, ByteRange, Tag},
};

/// Page bytes kept per text byte, because a character reference may take eight bytes for one.
const SOURCE_BYTES_PER_BYTE: usize = 8;

/// Maximum bytes to read from a `style` attribute.
const MAX_STYLE_BYTES: usize = 1 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// Text with character references.
    Text,
    /// Text without character references.
    Verbatim,
    Space,
    /// A line break unless the current line is empty.
    Break,
    /// A line feed in a preformatted block.
    LineFeed,
    BlockStart,
    BlockEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: PieceKind,
    pub(super) start: u32,
    pub(super) end: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct TextFinder {
    pub(super) max_bytes: usize,
    pub(super) pieces: Vec<Piece>,
    pub(super) is_full: bool,
    free_bytes: usize,
    /// Offset after the last tag.
    at: usize,
    open: OpenElements,
    blocks: usize,
}

impl TagVisitor for TextFinder {
    fn before_tag(&mut self, html: &[u8], tag: &Tag, nesting: &Nesting) {
        self.texts(html, tag.start, nesting);
        self.at = tag.end;
    }

    fn start_tag(&mut self, html: &[u8], tag: &Tag, nesting: &Nesting) {
        if !nesting.is_plain() || self.is_full {
            return;
        }
        let element = Element::of_name(tag.name(html));
        self.open.close_before(&element);
        self.update_blocks();
        match element.flow {
            Flow::Void => return,
            Flow::Break => return self.line_feed(),
            _ => {}
        }
        self.around(&element);
        let is_hidden = match element.flow {
            Flow::Hidden => true,
            Flow::HiddenUnlessOpen => !has_attribute(html, tag, b"open"),
            _ => !element.is_root && is_hidden(html, tag),
        };
        self.open.push(element, is_hidden);
        self.update_blocks();
    }

    fn end_tag(&mut self, html: &[u8], tag: &Tag, nesting: &Nesting) {
        if !nesting.is_plain() || self.is_full {
            return;
        }
        let element = Element::of_name(tag.name(html));
        if element.flow == Flow::Break {
            return self.line_feed();
        }
        self.open.close(&element);
        self.update_blocks();
        self.around(&element);
    }

    fn raw_text(&mut self, html: &[u8], tag: &Tag, text: &ByteRange, nesting: &Nesting) {
        self.at = text.end;
        if !nesting.is_plain() || self.is_full {
            return;
        }
        let element = Element::of_name(tag.name(html));
        if element.flow == Flow::Preformatted {
            self.text(html, text.clone(), PieceKind::Verbatim);
        }
        self.open.close(&element);
        self.update_blocks();
    }

    fn end(&mut self, html: &[u8], nesting: &Nesting) {
        self.texts(html, html.len(), nesting);
    }
}

impl TextFinder {
    pub(crate) fn new(request: &TextRequest) -> Self {
        Self {
            max_bytes: request.max_bytes,
            pieces: Vec::new(),
            is_full: false,
            free_bytes: request.max_bytes.saturating_mul(SOURCE_BYTES_PER_BYTE),
            at: 0,
            open: OpenElements::default(),
            blocks: 0,
        }
    }

    fn texts(&mut self, html: &[u8], end: usize, nesting: &Nesting) {
        let range = self.at..end;
        if range.is_empty() || self.is_full || self.open.is_hidden() || !nesting.is_plain() {
            return;
        }
        tokens::texts(html, &range, |text| self.text(html, text, PieceKind::Text));
    }

    fn text(&mut self, html: &[u8], range: ByteRange, kind: PieceKind) {
        let bytes = html.get(range.clone()).unwrap_or_default();
        if bytes.is_empty() || self.is_full || self.open.is_hidden() {
            return;
        }
        if self.blocks == 0 && bytes.iter().all(u8::is_ascii_whitespace) {
            return self.push(PieceKind::Space);
        }
        let end = range.start + bytes.len().min(self.free_bytes);
        self.is_full = end < range.end;
        self.free_bytes -= end - range.start;
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.pieces.push(Piece { kind, start: offset(range.start), end: offset(end) });
    }

    fn around(&mut self, element: &Element) {
        match element.flow {
            Flow::Block | Flow::Row | Flow::Preformatted | Flow::HiddenUnlessOpen => {
                self.push(PieceKind::Break);
            }
            Flow::Cell | Flow::Apart => self.push(PieceKind::Space),
            Flow::Break | Flow::Void | Flow::Hidden | Flow::Inline => {}
        }
    }

    fn line_feed(&mut self) {
        match self.blocks {
            0 => self.push(PieceKind::Break),
            _ if self.open.is_hidden() => {}
            _ => self.keep(PieceKind::LineFeed),
        }
    }

    fn update_blocks(&mut self) {
        while self.blocks < self.open.preformatted() {
            self.blocks += 1;
            self.keep(PieceKind::BlockStart);
        }
        while self.blocks > self.open.preformatted() {
            self.blocks -= 1;
            self.keep(PieceKind::BlockEnd);
        }
    }

    /// Adds a separator unless the last piece has the same effect.
    fn push(&mut self, kind: PieceKind) {
        let said = self.pieces.last().map(|piece| piece.kind);
        let is_said = said.is_none()
            || said == Some(kind)
            || (kind == PieceKind::Space && said == Some(PieceKind::Break));
        if !is_said && !self.open.is_hidden() {
            self.keep(kind);
        }
    }

    fn keep(&mut self, kind: PieceKind) {
        // Count each piece as a byte, so that a page with many empty blocks cannot fill memory.
        self.free_bytes = self.free_bytes.saturating_sub(1);
        self.is_full |= self.free_bytes == 0;
        self.pieces.push(Piece { kind, start: 0, end: 0 });
    }
}

fn has_attribute(html: &[u8], tag: &Tag, wanted: &[u8]) -> bool {
    tag.attributes(html).any(|(name, _)| name.eq_ignore_ascii_case(wanted))
}

/// `hidden=until-found` counts as shown, because people can find its text.
pub(crate) fn is_hidden(html: &[u8], tag: &Tag) -> bool {
    let value = |range: ByteRange| html.get(range).unwrap_or_default();
    tag.attributes(html).any(|(name, range)| match name.len() {
        5 if name.eq_ignore_ascii_case(b"style") => hides(value(range)),
        6 if name.eq_ignore_ascii_case(b"hidden") => {
            !value(range).eq_ignore_ascii_case(b"until-found")
        }
        _ => false,
    })
}

/// Recognizes only simple declarations, without a style sheet parser.
fn hides(style: &[u8]) -> bool {
    let style = style.get(..MAX_STYLE_BYTES).unwrap_or(style);
    style.split(|byte| *byte == b';').any(|declaration| {
        let Some(colon) = declaration.iter().position(|byte| *byte == b':') else { return false };
        let (name, value) = declaration.split_at(colon);
        let value = value.get(1..).unwrap_or_default();
        let value = value.split(|byte| *byte == b'!').next().unwrap_or_default().trim_ascii();
        let is = |text: &[u8], other: &str| text.eq_ignore_ascii_case(other.as_bytes());
        (is(name.trim_ascii(), "display") && is(value, "none"))
            || (is(name.trim_ascii(), "visibility") && is(value, "hidden"))
    })
}
