//! Finds the title, the base URL, the icon links and the meta elements in one pass over the markup
//! (WHATWG HTML 13.2.6). It returns byte ranges, so that only the needed parts are decoded.

use std::borrow::Cow;

use encoding_rs::Encoding;

use crate::{
    nesting::{ElementKind, Nesting},
    prescan,
    tokens::{Attributes, ByteRange, RawText, Tag, Tokens},
};

/// Maximum icon links to keep per page. Links beyond this limit are only counted. At most 50 become
/// candidates, but some are duplicates or invalid.
pub(crate) const MAX_LINKS: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TitleSpan {
    Absent,
    Empty,
    Text {
        span: ByteRange,
        /// True if an end tag closes this element.
        closed: bool,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LinkSpan {
    pub(crate) at: usize,
    pub(crate) rel: Option<ByteRange>,
    pub(crate) href: Option<ByteRange>,
    pub(crate) mime: Option<ByteRange>,
    pub(crate) sizes: Option<ByteRange>,
    pub(crate) media: Option<ByteRange>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Markup {
    pub(crate) title: TitleSpan,
    /// The `href` of the first `base` element that has one.
    pub(crate) base: Option<ByteRange>,
    /// Icon links in tree order, at most [`MAX_LINKS`].
    pub(crate) links: Vec<LinkSpan>,
    pub(crate) links_left_out: usize,
    /// Encoding that the first `meta` element with an encoding declares.
    pub(crate) meta_encoding: Option<&'static Encoding>,
}

/// Receives a page's HTML elements during the pass.
pub(crate) trait TagVisitor {
    /// Receives any tag before it changes the nesting, and before the other calls.
    #[inline]
    fn before_tag(&mut self, _html: &[u8], _tag: &Tag, _nesting: &Nesting) {}

    fn start_tag(&mut self, html: &[u8], tag: &Tag, nesting: &Nesting);

    /// Receives any end tag except those that close raw text.
    #[inline]
    fn end_tag(&mut self, _html: &[u8], _tag: &Tag, _nesting: &Nesting) {}

    fn raw_text(&mut self, html: &[u8], tag: &Tag, text: &ByteRange, nesting: &Nesting);

    #[inline]
    fn end(&mut self, _html: &[u8], _nesting: &Nesting) {}
}

impl<A: TagVisitor, B: TagVisitor> TagVisitor for (A, B) {
    fn before_tag(&mut self, html: &[u8], tag: &Tag, nesting: &Nesting) {
        self.0.before_tag(html, tag, nesting);
        self.1.before_tag(html, tag, nesting);
    }

    fn start_tag(&mut self, html: &[u8], tag: &Tag, nesting: &Nesting) {
        self.0.start_tag(html, tag, nesting);
        self.1.start_tag(html, tag, nesting);
    }

    fn end_tag(&mut self, html: &[u8], tag: &Tag, nesting: &Nesting) {
        self.0.end_tag(html, tag, nesting);
        self.1.end_tag(html, tag, nesting);
    }

    fn raw_text(&mut self, html: &[u8], tag: &Tag, text: &ByteRange, nesting: &Nesting) {
        self.0.raw_text(html, tag, text, nesting);
        self.1.raw_text(html, tag, text, nesting);
    }

    fn end(&mut self, html: &[u8], nesting: &Nesting) {
        self.0.end(html, nesting);
        self.1.end(html, nesting);
    }
}

#[derive(Debug, Clone)]
pub(crate) struct NoVisitor;

impl TagVisitor for NoVisitor {
    #[inline]
    fn start_tag(&mut self, _: &[u8], _: &Tag, _: &Nesting) {}

    #[inline]
    fn raw_text(&mut self, _: &[u8], _: &Tag, _: &ByteRange, _: &Nesting) {}
}

/// With `wants_meta`, this also reads the encoding from `meta` elements, which takes a little
/// longer.
pub(crate) fn read(
    html: &[u8],
    is_icon: fn(&[u8]) -> bool,
    wants_meta: bool,
    visitor: &mut impl TagVisitor,
) -> Markup {
    let mut tokens = Tokens::new(html);
    let mut nesting = Nesting::default();
    let mut reader = MarkupReader::new(html, is_icon, wants_meta);
    while let Some(tag) = tokens.next(nesting.is_foreign()) {
        visitor.before_tag(html, &tag, &nesting);
        if tag.is_end_tag {
            nesting.end(html, &tag);
            visitor.end_tag(html, &tag, &nesting);
        } else if nesting.start(html, &tag) == ElementKind::Html {
            reader.start(&tag, &nesting);
            visitor.start_tag(html, &tag, &nesting);
            if let Some(raw) = raw_text(tag.name(html)) {
                let text = tokens.skip_raw_text(&raw);
                visitor.raw_text(html, &tag, &text, &nesting);
                reader.raw_text(&tag, text);
            }
        }
    }
    visitor.end(html, &nesting);
    reader.markup
}

/// `None` if the element's content is markup (13.2.6.4.4 and .7, with scripting enabled).
#[inline(always)]
pub(crate) fn raw_text(name: &[u8]) -> Option<RawText> {
    let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
    // Length and first letter exclude nearly all tags without a comparison.
    let first = name.first()?.to_ascii_lowercase();
    let length = name.len();
    let element: &'static [u8] = match (first, length) {
        (b't', 5) => b"title",
        (b't', 8) => b"textarea",
        (b's', 6) => return is(b"script").then_some(RawText::Script),
        (b's', 5) => b"style",
        (b'i', 6) => b"iframe",
        (b'n', 8) if is(b"noscript") => b"noscript",
        (b'n', 8) => b"noframes",
        (b'n', 7) => b"noembed",
        (b'x', 3) => b"xmp",
        (b'p', 9) => return is(b"plaintext").then_some(RawText::ToTheEnd),
        _ => return None,
    };
    is(element).then_some(RawText::UntilEndTag(element))
}

struct MarkupReader<'a> {
    html: &'a [u8],
    is_icon: fn(&[u8]) -> bool,
    wants_meta: bool,
    has_title: bool,
    /// True if the title's start tag was read, but not its text.
    awaits_text: bool,
    markup: Markup,
}

impl<'a> MarkupReader<'a> {
    fn new(html: &'a [u8], is_icon: fn(&[u8]) -> bool, wants_meta: bool) -> Self {
        let markup = Markup {
            title: TitleSpan::Absent,
            base: None,
            links: Vec::new(),
            links_left_out: 0,
            meta_encoding: None,
        };
        Self { html, is_icon, wants_meta, has_title: false, awaits_text: false, markup }
    }

    fn bytes(&self, span: &ByteRange) -> &'a [u8] {
        self.html.get(span.clone()).unwrap_or_default()
    }

    #[inline(always)]
    fn start(&mut self, tag: &Tag, nesting: &Nesting) {
        let name = tag.name(self.html);
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"link") && nesting.is_in_document() => self.link(tag),
            4 if name.eq_ignore_ascii_case(b"base") && nesting.is_in_document() => self.base(tag),
            4 if self.wants_meta && name.eq_ignore_ascii_case(b"meta") => self.meta(tag),
            5 if name.eq_ignore_ascii_case(b"title") => {
                self.awaits_text =
                    !self.has_title && nesting.is_in_document() && !nesting.is_in_frameset();
                self.has_title |= self.awaits_text;
            }
            _ => {}
        }
    }

    fn raw_text(&mut self, tag: &Tag, text: ByteRange) {
        if !std::mem::take(&mut self.awaits_text) {
            return;
        }
        debug_assert!(tag.name(self.html).eq_ignore_ascii_case(b"title"));
        self.markup.title = if text.is_empty() {
            TitleSpan::Empty
        } else {
            let closed = text.end < self.html.len();
            TitleSpan::Text { span: text, closed }
        };
    }

    fn attributes(&self, tag: &Tag) -> Attributes<'a> {
        tag.attributes(self.html)
    }

    fn link(&mut self, tag: &Tag) {
        let mut link = LinkSpan { at: tag.start, ..Default::default() };
        for (name, value) in self.attributes(tag) {
            let slot = match name {
                name if name.eq_ignore_ascii_case(b"rel") => &mut link.rel,
                name if name.eq_ignore_ascii_case(b"href") => &mut link.href,
                name if name.eq_ignore_ascii_case(b"type") => &mut link.mime,
                name if name.eq_ignore_ascii_case(b"sizes") => &mut link.sizes,
                name if name.eq_ignore_ascii_case(b"media") => &mut link.media,
                _ => continue,
            };
            // If an attribute is repeated, the first one counts.
            if slot.is_none() {
                *slot = Some(value);
            }
        }
        if !link.rel.as_ref().is_some_and(|rel| (self.is_icon)(self.bytes(rel))) {
            return;
        }
        if self.markup.links.len() < MAX_LINKS {
            self.markup.links.push(link);
        } else {
            self.markup.links_left_out += 1;
        }
    }

    fn base(&mut self, tag: &Tag) {
        if self.markup.base.is_none() {
            self.markup.base = self.attribute(tag, b"href");
        }
    }

    /// Reads the encoding from a `meta` element's charset attribute, or else its content-type
    /// pragma (13.2.6.4.4).
    fn meta(&mut self, tag: &Tag) {
        if self.markup.meta_encoding.is_some() {
            return;
        }
        let attribute =
            |wanted: &[u8]| self.attribute(tag, wanted).map(|span| self.unescaped(&span));
        let labelled = attribute(b"charset").and_then(|label| Encoding::for_label(&label));
        let encoding = labelled.or_else(|| {
            let pragma = attribute(b"http-equiv")?;
            if !pragma.eq_ignore_ascii_case(b"content-type") {
                return None;
            }
            prescan::encoding_in_content(&attribute(b"content")?)
        });
        self.markup.meta_encoding = encoding.map(prescan::as_declared_by_meta);
    }

    fn attribute(&self, tag: &Tag, wanted: &[u8]) -> Option<ByteRange> {
        let mut attributes = self.attributes(tag);
        attributes.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
    }

    fn unescaped(&self, span: &ByteRange) -> Cow<'a, [u8]> {
        let bytes = self.bytes(span);
        if !bytes.contains(&b'&') {
            return Cow::Borrowed(bytes);
        }
        let text = htmlize::unescape_attribute(String::from_utf8_lossy(bytes));
        Cow::Owned(text.into_owned().into_bytes())
    }
}

#[cfg(test)]
mod tests;
