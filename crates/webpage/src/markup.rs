//! One pass over the markup: where the title, the base, the icon links and the metas lie.
//!
//! Works on bytes whose markup is ASCII and answers with byte ranges into them, so that only
//! what is kept gets decoded, and only once the encoding is settled. It knows which elements
//! matter here and what makes them count (WHATWG HTML 13.2.6), not what titles and links mean.
//! [`Tokens`] finds the tags, [`Nesting`] knows which namespace they are in.
//!
//! No tree is kept: work and memory are linear in the page, whatever it nests.

use std::borrow::Cow;
use std::ops::Range;

use encoding_rs::Encoding;

use crate::nesting::{Nesting, Place};
use crate::prescan;
use crate::tokens::{Attributes, RawText, Tag, Tokens};

/// Icon links kept of one page; the rest are counted. A candidate list takes 50.
pub(crate) const MAX_LINKS: usize = 1000;

/// A stretch of the input.
pub(crate) type Span = Range<usize>;

/// Where a page's title lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TitleSpan {
    Absent,
    Empty,
    /// The text, and whether an end tag closed it.
    Text {
        span: Span,
        closed: bool,
    },
}

/// A `link` whose rel names an icon; attributes are undecoded, `None` where absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LinkSpan {
    pub(crate) at: usize,
    pub(crate) rel: Option<Span>,
    pub(crate) href: Option<Span>,
    pub(crate) mime: Option<Span>,
    pub(crate) sizes: Option<Span>,
    pub(crate) media: Option<Span>,
}

/// What one pass found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Markup {
    pub(crate) title: TitleSpan,
    /// The href of the first `base` that has one.
    pub(crate) base: Option<Span>,
    /// In tree order, at most [`MAX_LINKS`].
    pub(crate) links: Vec<LinkSpan>,
    pub(crate) links_left_out: usize,
    /// The encoding that the first `meta` naming one declares.
    pub(crate) meta_encoding: Option<&'static Encoding>,
}

/// Reads the page once. `wants_meta` asks for the metas too, which costs a little.
pub(crate) fn read(html: &[u8], is_icon: fn(&[u8]) -> bool, wants_meta: bool) -> Markup {
    let mut tokens = Tokens::new(html);
    let mut nesting = Nesting::default();
    let mut found = Found::new(html, is_icon, wants_meta);
    while let Some(tag) = tokens.next(nesting.is_foreign()) {
        if tag.is_end_tag {
            nesting.end(html, &tag);
        } else if nesting.start(html, &tag) == Place::Html {
            found.start(&tag, &nesting);
            if let Some(raw) = raw_text(tag.name(html)) {
                let text = tokens.skip_raw_text(&raw);
                found.raw_text(&tag, text);
            }
        }
    }
    found.markup
}

/// The elements whose content is text (13.2.6.4.4 and .7, with scripting on), by name.
pub(crate) fn raw_text(name: &[u8]) -> Option<RawText> {
    let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
    // Nearly all tags are told by their length and first letter.
    let (first, length) = (name.first()?.to_ascii_lowercase(), name.len());
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

struct Found<'a> {
    html: &'a [u8],
    is_icon: fn(&[u8]) -> bool,
    wants_meta: bool,
    has_title: bool,
    /// The title whose text comes next.
    awaits_text: bool,
    markup: Markup,
}

impl<'a> Found<'a> {
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

    fn bytes(&self, span: &Span) -> &'a [u8] {
        self.html.get(span.clone()).unwrap_or_default()
    }

    /// Notes what an HTML start tag says.
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

    /// The text of the raw text element whose start tag was the last.
    fn raw_text(&mut self, tag: &Tag, text: Span) {
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
            // The first of two attributes of one name counts.
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

    /// "In head", a meta start tag: a charset attribute first, else the content-type pragma.
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

    fn attribute(&self, tag: &Tag, wanted: &[u8]) -> Option<Span> {
        let mut attributes = self.attributes(tag);
        attributes.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
    }

    /// A value with its character references decoded; of use for what is ASCII.
    fn unescaped(&self, span: &Span) -> Cow<'a, [u8]> {
        let bytes = self.bytes(span);
        if !bytes.contains(&b'&') {
            return Cow::Borrowed(bytes);
        }
        let text = htmlize::unescape_attribute(String::from_utf8_lossy(bytes));
        Cow::Owned(text.into_owned().into_bytes())
    }
}
