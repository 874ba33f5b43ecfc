//! Reads a page from its URL, response headers and body.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use url::Url;

use crate::{
    charset::{Charset, CharsetSource},
    content_type,
    framing::{self, Framing},
    head,
    icons::{IconClass, IconLink, LinkReader, names_icon},
    links::{LinkFinder, LinkRequest, PageLinks},
    markup::{self, Markup, NoVisitor, TagVisitor},
    meta_robots::RobotsDirectives,
    text::{PageText, TextFinder, TextRequest},
    title::Title,
};

/// Maximum length in bytes of a `base` element's `href`: four times the maximum URL length.
const MAX_BASE_BYTES: usize = 8 << 10;

/// Maximum total size in bytes of a page's icon URLs. Icons that would exceed this limit are only
/// counted.
const MAX_ICON_URL_BYTES: usize = 1 << 20;

/// A page's data, except its links and text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The document's URL. `None` if the given string is not a URL.
    pub url: Option<Url>,
    /// The document's title.
    pub title: Title,
    /// The encoding's name in the Encoding Standard, in lower case.
    pub charset: String,
    /// Where this encoding was declared.
    pub charset_source: CharsetSource,
    /// Base for relative URLs: the URL in the `base` element, or the document's URL.
    pub base: Option<Url>,
    /// Declared icons in document order, without the implied /favicon.ico.
    pub icons: Vec<IconLink>,
    /// Icon links beyond the limits on number and bytes.
    pub icons_over_limit: usize,
    /// Icon links whose `href` is absent, empty, too long or not a URL.
    pub icons_without_url: usize,
    /// True if this page declares the icon `data:,`, so that /favicon.ico must not be requested.
    pub no_favicon: bool,
    /// Whether a page on another origin may show this page in a frame.
    pub framing: Framing,
}

/// Reads a page. A broken page yields its readable parts, never an error.
///
/// `headers` are in their order, with duplicates. `body` must not have transfer or content codings.
#[must_use]
pub fn understand(url: &str, headers: &[(String, Vec<u8>)], body: &[u8]) -> Page {
    read_page(url, headers, body, &NoVisitor).0
}

/// Reads a page and its links in one pass.
#[must_use]
pub fn understand_with_links(
    url: &str,
    headers: &[(String, Vec<u8>)],
    body: &[u8],
    request: &LinkRequest<'_>,
) -> (Page, PageLinks) {
    let (page, parsed) = read_page(url, headers, body, &LinkFinder::new(request));
    let links = page_links(&page, &parsed, &parsed.visitor, headers, request);
    (page, links)
}

/// Reads a page and its visible text in one pass.
#[must_use]
pub fn understand_with_text(
    url: &str,
    headers: &[(String, Vec<u8>)],
    body: &[u8],
    request: &TextRequest,
) -> (Page, PageText) {
    let (page, parsed) = read_page(url, headers, body, &TextFinder::new(request));
    let text = parsed.visitor.written(&parsed.html, &parsed.charset_of_html);
    (page, text)
}

/// Reads a page, its links and its text in one pass.
#[must_use]
pub fn understand_with_links_and_text(
    url: &str,
    headers: &[(String, Vec<u8>)],
    body: &[u8],
    (links, text): (&LinkRequest<'_>, &TextRequest),
) -> (Page, PageLinks, PageText) {
    let visitor = (LinkFinder::new(links), TextFinder::new(text));
    let (page, parsed) = read_page(url, headers, body, &visitor);
    let text = parsed.visitor.1.written(&parsed.html, &parsed.charset_of_html);
    let links = page_links(&page, &parsed, &parsed.visitor.0, headers, links);
    (page, links, text)
}

fn page_links<V>(
    page: &Page,
    parsed: &Parsed<'_, V>,
    found: &LinkFinder,
    headers: &[(String, Vec<u8>)],
    request: &LinkRequest<'_>,
) -> PageLinks {
    let reader = LinkReader {
        html: &parsed.html,
        charset: &parsed.charset_of_html,
        base: page.base.as_ref(),
        head_end: 0,
    };
    let mut links = found.resolved(&reader);
    links.robots = links.robots.with(RobotsDirectives::of_headers(headers, request.robot));
    links
}

fn read_page<'a, V: TagVisitor + Clone>(
    url: &str,
    headers: &[(String, Vec<u8>)],
    body: &'a [u8],
    visitor: &V,
) -> (Page, Parsed<'a, V>) {
    let url = Url::parse(url).ok();
    let content_type = content_type::extract(headers);
    let host = url.as_ref().and_then(Url::host_str);
    let declared = Charset::declared(content_type.as_ref(), body);
    let parsed = parsed(declared, body, host, visitor);
    let mut page = Page {
        title: Title::from_span(&parsed.markup.title, &parsed.html, &parsed.charset_of_html),
        charset: parsed.charset_of_page.name(),
        charset_source: parsed.charset_of_page.source,
        base: None,
        icons: Vec::new(),
        icons_over_limit: parsed.markup.links_left_out,
        icons_without_url: 0,
        no_favicon: false,
        framing: framing::evaluate(url.as_ref(), headers, content_type.as_ref()),
        url,
    };
    page.read_links(&parsed.markup, &parsed.html, &parsed.charset_of_html);
    (page, parsed)
}

struct Parsed<'a, V> {
    charset_of_page: Charset,
    /// Encoding of `html`. This is UTF-8 if the page had to be decoded before parsing.
    charset_of_html: Charset,
    /// Parsed bytes, to which all ranges refer.
    html: Cow<'a, [u8]>,
    markup: Markup,
    visitor: V,
}

/// Nearly all pages take one pass.
fn parsed<'a, V: TagVisitor + Clone>(
    declared: Option<Charset>,
    body: &'a [u8],
    host: Option<&str>,
    new_visitor: &V,
) -> Parsed<'a, V> {
    let certain =
        declared.filter(|found| matches!(found.source, CharsetSource::Bom | CharsetSource::Http));
    if let Some(charset) = certain.or(declared.filter(|found| !found.is_ascii_compatible())) {
        return parsed_as(charset, body, new_visitor);
    }
    // No encoding is certain yet, so a `meta` element that the parser finds decides.
    let mut visitor = new_visitor.clone();
    let markup = markup::read(body, names_icon, true, &mut visitor);
    let charset = match (markup.meta_encoding, declared) {
        (Some(encoding), Some(declared)) if encoding == declared.encoding => declared,
        (Some(encoding), _) => Charset { encoding, source: CharsetSource::LateMeta },
        (None, Some(declared)) => declared,
        (None, None) => Charset::undeclared(body, host),
    };
    if !charset.is_ascii_compatible() {
        return parsed_as(charset, body, new_visitor);
    }
    let html = Cow::Borrowed(body);
    Parsed { charset_of_page: charset, charset_of_html: charset, html, markup, visitor }
}

fn parsed_as<'a, V: TagVisitor + Clone>(
    charset: Charset,
    body: &'a [u8],
    new_visitor: &V,
) -> Parsed<'a, V> {
    let mut visitor = new_visitor.clone();
    let (html, encoding) = if charset.is_ascii_compatible() {
        (Cow::Borrowed(body), charset.encoding)
    } else {
        let text = charset.decode(body).into_owned().into_bytes();
        (Cow::Owned(text), UTF_8)
    };
    let markup = markup::read(&html, names_icon, false, &mut visitor);
    let charset_of_html = Charset { encoding, source: charset.source };
    Parsed { charset_of_page: charset, charset_of_html, html, markup, visitor }
}

impl Page {
    /// Decodes this page's body, without its byte order mark.
    #[must_use]
    pub fn decode<'a>(&self, body: &'a [u8]) -> Cow<'a, str> {
        let encoding = Encoding::for_label(self.charset.as_bytes()).unwrap_or(UTF_8);
        Charset { encoding, source: self.charset_source }.decode(body)
    }

    fn read_links(&mut self, markup: &Markup, html: &[u8], charset: &Charset) {
        let head_end = markup.links.last().map_or(0, |link| head::end(html, link.at));
        let document = self.url.take();
        let mut reader = LinkReader { html, charset, base: document.as_ref(), head_end };
        let base = reader
            .text(markup.base.as_ref(), MAX_BASE_BYTES)
            .and_then(|href| reader.resolve(&href))
            .filter(|base| !matches!(base.scheme(), "data" | "javascript"))
            .or_else(|| document.clone());
        reader.base = base.as_ref();
        let mut remaining = MAX_ICON_URL_BYTES;
        for link in &markup.links {
            let Some(icon) = reader.icon(link) else {
                self.icons_without_url += 1;
                continue;
            };
            let Some(left) = remaining.checked_sub(icon.href.len()) else {
                self.icons_over_limit += 1;
                continue;
            };
            remaining = left;
            self.no_favicon |= icon.class == IconClass::Icon && icon.declares_no_icon();
            self.icons.push(icon);
        }
        self.base = base;
        self.url = document;
    }
}
