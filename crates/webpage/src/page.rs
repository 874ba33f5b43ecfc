//! The whole of what a home page says, from its URL, its response headers and its body.

use std::borrow::Cow;

use url::Url;

use crate::candidates::says_no_icon;
use crate::charset::{Charset, CharsetSource};
use crate::content_type;
use crate::framing::{self, Framing};
use crate::head;
use crate::icons::{IconClass, IconLink, LinkReader, names_icon};
use crate::markup::{self, Markup};
use crate::title::Title;

/// The longest `base` href that is read.
const MAX_BASE_BYTES: usize = 8 << 10;

/// The icons of one page hold at most this many bytes of URLs; what would pass it is counted.
const MAX_ICON_URL_BYTES: usize = 1 << 20;

/// What a home page told us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The document's URL, or `None` if what was given is no URL.
    pub url: Option<Url>,
    /// The title.
    pub title: Title,
    /// The encoding's name by the Encoding Standard, in lower case.
    pub charset: String,
    /// Who said so.
    pub charset_source: CharsetSource,
    /// What relative URLs resolve against: the document's URL or that of its `base`.
    pub base: Option<Url>,
    /// The declared icons in document order, without the implied /favicon.ico.
    pub icons: Vec<IconLink>,
    /// Icon links beyond the limits on their number and bytes.
    pub icons_over_limit: usize,
    /// Icon links whose href is absent, empty, oversized or no URL.
    pub icons_without_url: usize,
    /// The page says `data:,`: it has no icon, and /favicon.ico is not to be asked for.
    pub no_favicon: bool,
    /// Whether a page of another origin may frame it.
    pub framing: Framing,
}

/// Understands a page. `url` is where the response came from, `headers` are `(lower-case name,
/// value bytes)` in order with duplicates, `body` is free of transfer and content codings. Never
/// fails: a broken page gives what it has.
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

/// The encoding of the page, and of the bytes that were parsed: these are UTF-8 where the page
/// had to be decoded before its markup could be read.
struct Charsets {
    of_page: Charset,
    of_html: Charset,
}

/// Settles the encoding and reads the markup, in one pass for all but a few pages.
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
    // Nothing sure: a meta that the parser meets settles it.
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
        let mut room = MAX_ICON_URL_BYTES;
        for link in &markup.links {
            let Some(icon) = reader.icon(link) else {
                self.icons_without_url += 1;
                continue;
            };
            let Some(left) = room.checked_sub(icon.href.len()) else {
                self.icons_over_limit += 1;
                continue;
            };
            room = left;
            self.no_favicon |= icon.class == IconClass::Icon && says_no_icon(&icon.href);
            self.icons.push(icon);
        }
        self.base = base;
        self.url = document;
    }
}
