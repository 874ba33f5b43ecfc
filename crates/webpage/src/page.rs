//! Reads a whole home page: URL, response headers and body.

use std::borrow::Cow;

use url::Url;

use crate::{
    charset::{Charset, CharsetSource},
    content_type,
    framing::{self, Framing},
    head,
    icons::{IconClass, IconLink, LinkReader, names_icon},
    markup::{self, Markup},
    title::Title,
};

/// Greatest length in bytes of the `href` of a `base` element: four times the longest URL that is
/// requested.
const MAX_BASE_BYTES: usize = 8 << 10;

/// Greatest length in bytes of all icon URLs of a page. Icons beyond it are counted, so that a page
/// with a long base URL and many links cannot fill memory.
const MAX_ICON_URL_BYTES: usize = 1 << 20;

/// What a home page says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// URL of the document, `None` if the given text is no URL.
    pub url: Option<Url>,
    /// Title of the document.
    pub title: Title,
    /// Name of the character encoding by the Encoding Standard, in lower case.
    pub charset: String,
    /// Where the encoding was declared.
    pub charset_source: CharsetSource,
    /// Base of relative URLs: the URL of the `base` element, or of the document.
    pub base: Option<Url>,
    /// Declared icons in document order, without the implied /favicon.ico.
    pub icons: Vec<IconLink>,
    /// Number of icon links beyond the limits on number and bytes.
    pub icons_over_limit: usize,
    /// Number of icon links whose `href` is absent, empty, too long or no URL.
    pub icons_without_url: usize,
    /// True if the page declares `data:,`: it has no icon, and /favicon.ico must not be requested.
    pub no_favicon: bool,
    /// Whether a page of another origin may show it in a frame.
    pub framing: Framing,
}

/// Reads a page. It never fails: a broken page gives what it contains.
///
/// `url` is the URL of the response. `headers` are pairs of name and value in their order, with
/// duplicates. `body` must be free of transfer and content codings.
#[must_use]
pub fn understand(url: &str, headers: &[(String, Vec<u8>)], body: &[u8]) -> Page {
    let url = Url::parse(url).ok();
    let content_type = content_type::extract(headers);
    let host = url.as_ref().and_then(Url::host_str);
    let declared = Charset::declared(content_type.as_ref(), body);
    let (charset, html, markup) = parsed(declared, body, host);
    let mut page = Page {
        title: Title::from_span(&markup.title, &html, &charset.of_html),
        charset: charset.of_page.name(),
        charset_source: charset.of_page.source,
        base: None,
        icons: Vec::new(),
        icons_over_limit: markup.links_left_out,
        icons_without_url: 0,
        no_favicon: false,
        framing: framing::evaluate(url.as_ref(), headers, content_type.as_ref()),
        url,
    };
    page.read_links(&markup, &html, &charset.of_html);
    page
}

/// The encodings of a page before and after it was prepared for parsing.
struct Charsets {
    /// Encoding of the page.
    of_page: Charset,
    /// Encoding of the parsed bytes: UTF-8 if the page had to be decoded before parsing.
    of_html: Charset,
}

/// Determines the encoding and reads the markup. Nearly all pages take one pass.
fn parsed<'a>(
    declared: Option<Charset>,
    body: &'a [u8],
    host: Option<&str>,
) -> (Charsets, Cow<'a, [u8]>, Markup) {
    let certain =
        declared.filter(|found| matches!(found.source, CharsetSource::Bom | CharsetSource::Http));
    if let Some(charset) = certain.or(declared.filter(|found| !found.is_ascii_compatible())) {
        return parsed_as(charset, body);
    }
    // Nothing certain is declared: a `meta` element that the parser finds decides.
    let markup = markup::read(body, names_icon, true);
    let charset = match (markup.meta_encoding, declared) {
        (Some(encoding), Some(declared)) if encoding == declared.encoding => declared,
        (Some(encoding), _) => Charset { encoding, source: CharsetSource::LateMeta },
        (None, Some(declared)) => declared,
        (None, None) => Charset::undeclared(body, host),
    };
    if !charset.is_ascii_compatible() {
        return parsed_as(charset, body);
    }
    (Charsets { of_page: charset, of_html: charset }, Cow::Borrowed(body), markup)
}

/// Reads the markup of a page in a known encoding.
fn parsed_as(charset: Charset, body: &[u8]) -> (Charsets, Cow<'_, [u8]>, Markup) {
    if charset.is_ascii_compatible() {
        let markup = markup::read(body, names_icon, false);
        return (Charsets { of_page: charset, of_html: charset }, Cow::Borrowed(body), markup);
    }
    let text = charset.decode(body).into_owned().into_bytes();
    let markup = markup::read(&text, names_icon, false);
    let of_html = Charset { encoding: encoding_rs::UTF_8, source: charset.source };
    (Charsets { of_page: charset, of_html }, Cow::Owned(text), markup)
}

impl Page {
    /// Resolves the base and the icon links.
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
            self.no_favicon |= icon.class == IconClass::Icon && icon.says_no_icon();
            self.icons.push(icon);
        }
        self.base = base;
        self.url = document;
    }
}
