//! The oracle for [`crate::markup`]: finds the same elements with `lol_html`, a general HTML
//! rewriter.
//!
//! `lol_html` reports an SVG `title` as HTML. We recognize an HTML `title` by its text, because
//! only this switches the tokenizer to RCDATA.

use std::{borrow::Cow, cell::RefCell, sync::LazyLock};

use encoding_rs::{Encoding, WINDOWS_1252};
use lol_html::{
    AsciiCompatibleEncoding, ElementContentHandlers, HandlerResult, HtmlRewriter, MemorySettings,
    Selector, Settings,
    html_content::{Attribute, Element, TextChunk, TextType},
};

use crate::{
    markup::{LinkSpan, MAX_LINKS, Markup, TitleSpan, raw_text},
    prescan,
    tokens::ByteRange,
};

/// The tokenizer's memory limit in bytes, enough for about 150,000 open elements.
const MAX_TOKENIZER_BYTES: usize = 32 << 20;

const HTML_NAMESPACE: &str = "http://www.w3.org/1999/xhtml";

static TITLE: LazyLock<Option<Selector>> = LazyLock::new(|| "title".parse().ok());
static LINK: LazyLock<Option<Selector>> = LazyLock::new(|| "link[rel]".parse().ok());
static BASE: LazyLock<Option<Selector>> = LazyLock::new(|| "base[href]".parse().ok());
static META: LazyLock<Option<Selector>> = LazyLock::new(|| "meta".parse().ok());
/// Registered before the other selectors, because handlers run in registration order.
static IN_TEMPLATE: LazyLock<Option<Selector>> =
    LazyLock::new(|| "template title, template link, template base, frameset title".parse().ok());
static IN_FOREIGN: LazyLock<Option<Selector>> =
    LazyLock::new(|| "svg title, math title".parse().ok());

/// Returns true if `lol_html` may misread the page: after `<iframe a=>`, without a value, any end
/// tag ends the element's text.
pub(crate) fn misreads(html: &[u8]) -> bool {
    let starts_raw_text = |tag: &[u8]| {
        let name = tag.split(|byte| !byte.is_ascii_alphabetic()).nth(1).unwrap_or_default();
        tag.starts_with(b"<") && raw_text(name).is_some()
    };
    let mut rests = (0..html.len()).filter_map(|at| html.get(at..));
    let Some(html) = rests.find(|rest| starts_raw_text(rest)) else { return false };
    let is_value_missing = |(at, byte): (usize, &u8)| {
        let after = html.get(at + 1..).unwrap_or_default().trim_ascii_start();
        *byte == b'=' && after.first().is_some_and(|byte| *byte == b'>')
    };
    html.iter().enumerate().any(is_value_missing)
}

pub(crate) fn read(html: &[u8], is_icon: fn(&[u8]) -> bool, wants_meta: bool) -> Markup {
    let found = RefCell::new(OracleReader::new(html, is_icon));
    let title = element(&found, OracleReader::title).text(|chunk: &mut TextChunk<'_>| {
        let span = chunk.source_location().bytes();
        found.borrow_mut().title_text(span, chunk.text_type());
        HandlerResult::Ok(())
    });
    let mut handlers: Vec<(Cow<'static, Selector>, ElementContentHandlers<'_>)> = Vec::new();
    let mut add = |selector: &'static LazyLock<Option<Selector>>, handler| {
        if let Some(selector) = selector.as_ref() {
            handlers.push((Cow::Borrowed(selector), handler));
        }
    };
    add(&IN_TEMPLATE, element(&found, |found, _| found.in_template = true));
    add(&IN_FOREIGN, element(&found, |found, _| found.in_foreign = true));
    add(&TITLE, title);
    add(&LINK, element(&found, OracleReader::link));
    add(&BASE, element(&found, OracleReader::base));
    if wants_meta {
        add(&META, element(&found, OracleReader::meta));
    }
    let mut settings = Settings::new().with_strict(false).with_memory_settings(
        MemorySettings::new().with_max_allowed_memory_usage(MAX_TOKENIZER_BYTES),
    );
    // In windows-1252 every byte is a character, so the ranges are exact for any encoding.
    if let Some(encoding) = AsciiCompatibleEncoding::new(WINDOWS_1252) {
        settings = settings.with_encoding(encoding);
    }
    for handler in handlers {
        settings = settings.append_element_content_handler(handler);
    }
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    // The only error is the memory limit. Elements found before it are kept.
    if rewriter.write(html).is_ok() {
        rewriter.end().ok();
    } else {
        drop(rewriter);
    }
    found.into_inner().finish()
}

fn element<'h, 'a: 'h>(
    found: &'h RefCell<OracleReader<'a>>,
    handler: fn(&mut OracleReader<'a>, &Element<'_, '_>),
) -> ElementContentHandlers<'h> {
    ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
        handler(&mut found.borrow_mut(), element);
        HandlerResult::Ok(())
    })
}

struct OpenTitle {
    /// True if this may be an SVG or MathML title. RCDATA text proves an HTML title.
    in_foreign: bool,
    text: Option<ByteRange>,
}

struct OracleReader<'a> {
    html: &'a [u8],
    is_icon: fn(&[u8]) -> bool,
    in_template: bool,
    in_foreign: bool,
    open_title: Option<OpenTitle>,
    title: Option<TitleSpan>,
    base: Option<ByteRange>,
    links: Vec<LinkSpan>,
    links_left_out: usize,
    meta_encoding: Option<&'static Encoding>,
}

impl<'a> OracleReader<'a> {
    fn new(html: &'a [u8], is_icon: fn(&[u8]) -> bool) -> Self {
        Self {
            html,
            is_icon,
            in_template: false,
            in_foreign: false,
            open_title: None,
            title: None,
            base: None,
            links: Vec::new(),
            links_left_out: 0,
            meta_encoding: None,
        }
    }

    fn bytes(&self, span: &ByteRange) -> &'a [u8] {
        self.html.get(span.clone()).unwrap_or_default()
    }

    fn counts(&mut self, element: &Element<'_, '_>) -> bool {
        !std::mem::take(&mut self.in_template) && element.namespace_uri() == HTML_NAMESPACE
    }

    fn title(&mut self, element: &Element<'_, '_>) {
        let in_foreign = std::mem::take(&mut self.in_foreign);
        let counts = self.counts(element);
        self.settle_title();
        if self.title.is_none() && counts {
            self.open_title = Some(OpenTitle { in_foreign, text: None });
        }
    }

    fn title_text(&mut self, span: ByteRange, kind: TextType) {
        let Some(open) = &mut self.open_title else { return };
        if kind != TextType::RCData {
            self.open_title = None;
            return;
        }
        match &mut open.text {
            Some(text) => text.end = span.end,
            None => open.text = Some(span),
        }
    }

    fn settle_title(&mut self) {
        let Some(open) = self.open_title.take() else { return };
        self.title = match open.text {
            Some(span) if !span.is_empty() => {
                let closed = span.end < self.html.len();
                Some(TitleSpan::Text { span, closed })
            }
            _ if open.in_foreign => None,
            _ => Some(TitleSpan::Empty),
        };
    }

    fn link(&mut self, element: &Element<'_, '_>) {
        if !self.counts(element) {
            return;
        }
        let mut link =
            LinkSpan { at: element.source_location().bytes().start, ..Default::default() };
        for attribute in element.attributes() {
            let slot = match self.name(attribute) {
                name if name.eq_ignore_ascii_case(b"rel") => &mut link.rel,
                name if name.eq_ignore_ascii_case(b"href") => &mut link.href,
                name if name.eq_ignore_ascii_case(b"type") => &mut link.mime,
                name if name.eq_ignore_ascii_case(b"sizes") => &mut link.sizes,
                name if name.eq_ignore_ascii_case(b"media") => &mut link.media,
                _ => continue,
            };
            if slot.is_none() {
                *slot = Some(value(attribute));
            }
        }
        if !link.rel.as_ref().is_some_and(|rel| (self.is_icon)(self.bytes(rel))) {
            return;
        }
        if self.links.len() < MAX_LINKS {
            self.links.push(link);
        } else {
            self.links_left_out += 1;
        }
    }

    fn base(&mut self, element: &Element<'_, '_>) {
        if self.counts(element) && self.base.is_none() {
            let is_href =
                |attribute: &&Attribute<'_>| self.name(attribute).eq_ignore_ascii_case(b"href");
            self.base = element.attributes().iter().find(is_href).map(value);
        }
    }

    fn meta(&mut self, element: &Element<'_, '_>) {
        if self.meta_encoding.is_some() || element.namespace_uri() != HTML_NAMESPACE {
            return;
        }
        let attribute = |wanted: &[u8]| {
            let is_wanted =
                |attribute: &&Attribute<'_>| self.name(attribute).eq_ignore_ascii_case(wanted);
            let found = element.attributes().iter().find(is_wanted)?;
            Some(self.unescaped(&value(found)))
        };
        let labelled = attribute(b"charset").and_then(|label| Encoding::for_label(&label));
        let encoding = labelled.or_else(|| {
            let pragma = attribute(b"http-equiv")?;
            if !pragma.eq_ignore_ascii_case(b"content-type") {
                return None;
            }
            prescan::encoding_in_content(&attribute(b"content")?)
        });
        self.meta_encoding = encoding.map(prescan::as_declared_by_meta);
    }

    fn name(&self, attribute: &Attribute<'_>) -> &'a [u8] {
        attribute.name_source_location().map_or(&[], |span| self.bytes(&span.bytes()))
    }

    fn unescaped(&self, span: &ByteRange) -> Cow<'a, [u8]> {
        let bytes = self.bytes(span);
        if !bytes.contains(&b'&') {
            return Cow::Borrowed(bytes);
        }
        let text = htmlize::unescape_attribute(String::from_utf8_lossy(bytes));
        Cow::Owned(text.into_owned().into_bytes())
    }

    fn finish(mut self) -> Markup {
        self.settle_title();
        Markup {
            title: self.title.unwrap_or(TitleSpan::Absent),
            base: self.base,
            links: self.links,
            links_left_out: self.links_left_out,
            meta_encoding: self.meta_encoding,
        }
    }
}

fn value(attribute: &Attribute<'_>) -> ByteRange {
    attribute.value_source_location().map_or(0..0, |span| span.bytes())
}

/// Returns the found parts as bytes, because the two readers may represent an empty range
/// differently.
pub(crate) fn visible_parts<'a>(html: &'a [u8], markup: &Markup) -> Vec<Option<&'a [u8]>> {
    let bytes = |span: &Option<ByteRange>| {
        span.as_ref().map(|span| html.get(span.clone()).unwrap_or_default())
    };
    let title = match &markup.title {
        TitleSpan::Absent => None,
        TitleSpan::Empty => Some(&[][..]),
        TitleSpan::Text { span, .. } => html.get(span.clone()),
    };
    let links = markup.links.iter().flat_map(|link| {
        let start = html.get(link.at..);
        [start, bytes(&link.rel), bytes(&link.href), bytes(&link.mime), bytes(&link.sizes)]
    });
    [title, bytes(&markup.base)].into_iter().chain(links).collect()
}
