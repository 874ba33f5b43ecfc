//! Finds attributes with links as byte ranges, because a page's base and encoding are only known at
//! its end.

use std::borrow::Cow;

use crate::{
    icons::names_icon,
    links::link::{LinkOrigin, LinkRequest, MAX_LINKS_PER_PAGE},
    markup::{TagVisitor, raw_text},
    meta_robots::RobotsDirectives,
    nesting::{ElementKind, Nesting},
    tokens::{ByteRange, Tag, Tokens},
};

/// Maximum attributes to keep. This is four times the link limit, because some attributes contain
/// no link, such as `href="javascript:"`.
const MAX_ATTRIBUTES: usize = 4 * MAX_LINKS_PER_PAGE;

/// Maximum bytes to read from a `meta` element's `content` or from a `rel`.
const MAX_WORDS_BYTES: usize = 1 << 10;

/// Maximum pictures whose names are kept. This is enough for a gallery.
const MAX_PICTURES: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttributeForm {
    Url,
    Srcset,
    /// A time, and optionally a URL.
    Refresh,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkAttribute {
    pub(crate) origin: LinkOrigin,
    pub(crate) form: AttributeForm,
    pub(crate) is_nofollow: bool,
    pub(crate) value: ByteRange,
}

#[derive(Debug, Clone)]
pub(crate) struct LinkFinder {
    with_requisites: bool,
    robot: String,
    pub(crate) attributes: Vec<LinkAttribute>,
    pub(crate) pictures: Vec<ByteRange>,
    pub(crate) left_out: usize,
    pub(crate) robots: RobotsDirectives,
}

impl TagVisitor for LinkFinder {
    fn start_tag(&mut self, html: &[u8], tag: &Tag, nesting: &Nesting) {
        let name = tag.name(html);
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        // Length and first letter exclude most tags without a comparison.
        let Some(first) = name.first().map(u8::to_ascii_lowercase) else { return };
        match (first, name.len()) {
            (b'a', 1) if nesting.is_in_document() => self.anchor(LinkOrigin::A, html, tag),
            (b'a', 4) if is(b"area") && nesting.is_in_document() => {
                self.anchor(LinkOrigin::Area, html, tag);
            }
            (b'f', 5) if is(b"frame") && nesting.is_in_document() => {
                self.frame(LinkOrigin::Frame, html, tag);
            }
            (b'i', 6) if is(b"iframe") && nesting.is_in_document() => {
                self.frame(LinkOrigin::Iframe, html, tag);
            }
            (b'l', 4) if is(b"link") && nesting.is_in_document() => self.link(html, tag),
            (b'm', 4) if is(b"meta") && nesting.is_in_document() => self.meta(html, tag),
            (b'i', 3) if is(b"img") && nesting.is_in_document() => {
                self.picture(html, tag);
                if self.with_requisites {
                    self.image(LinkOrigin::Img, html, tag);
                }
            }
            (b's', 6) if self.with_requisites && is(b"source") && nesting.is_in_document() => {
                self.image(LinkOrigin::Source, html, tag);
            }
            _ => {}
        }
    }

    /// Reads a `noscript` element's content as markup, because we do not run scripts.
    fn raw_text(&mut self, html: &[u8], tag: &Tag, text: &ByteRange, nesting: &Nesting) {
        if !tag.name(html).eq_ignore_ascii_case(b"noscript") || !nesting.is_in_document() {
            return;
        }
        let mut tokens = Tokens::within(html, text);
        let mut nesting = Nesting::default();
        while let Some(tag) = tokens.next(nesting.is_foreign()) {
            if tag.is_end_tag {
                nesting.end(html, &tag);
            } else if nesting.start(html, &tag) == ElementKind::Html {
                self.start_tag(html, &tag, &nesting);
                let is_markup = tag.name(html).eq_ignore_ascii_case(b"noscript");
                if let Some(raw) = raw_text(tag.name(html)).filter(|_| !is_markup) {
                    tokens.skip_raw_text(&raw);
                }
            }
        }
    }
}

impl LinkFinder {
    pub(crate) fn new(request: &LinkRequest<'_>) -> Self {
        Self {
            with_requisites: request.with_requisites,
            robot: request.robot.to_owned(),
            attributes: Vec::new(),
            pictures: Vec::new(),
            left_out: 0,
            robots: RobotsDirectives::default(),
        }
    }

    fn anchor(&mut self, origin: LinkOrigin, html: &[u8], tag: &Tag) {
        let [href, rel] = attributes(html, tag, [b"href", b"rel"]);
        let is_nofollow = rel.is_some_and(|rel| has_token(&words(html, &rel), "nofollow"));
        self.push(origin, AttributeForm::Url, href, is_nofollow);
    }

    fn frame(&mut self, origin: LinkOrigin, html: &[u8], tag: &Tag) {
        let [src] = attributes(html, tag, [b"src"]);
        self.push(origin, AttributeForm::Url, src, false);
    }

    /// Prefers `data-src`: if it is present, a script loads the picture later, and `src` is only a
    /// placeholder.
    fn picture(&mut self, html: &[u8], tag: &Tag) {
        if self.pictures.len() < MAX_PICTURES {
            let [later, now] = attributes(html, tag, [b"data-src", b"src"]);
            self.pictures.extend(later.or(now));
        }
    }

    fn image(&mut self, origin: LinkOrigin, html: &[u8], tag: &Tag) {
        let [src, srcset] = attributes(html, tag, [b"src", b"srcset"]);
        self.push(origin, AttributeForm::Url, src, false);
        self.push(LinkOrigin::Srcset, AttributeForm::Srcset, srcset, false);
    }

    fn link(&mut self, html: &[u8], tag: &Tag) {
        let [rel, href, mime] = attributes(html, tag, [b"rel", b"href", b"type"]);
        let Some(rel) = rel.map(|rel| words(html, &rel)) else { return };
        let is_page_type = || mime.is_none_or(|mime| names_page(&words(html, &mime)));
        let leads_to_page =
            ["canonical", "next", "prev"].iter().any(|token| has_token(&rel, token))
                || (has_token(&rel, "alternate") && is_page_type());
        let origin = if has_token(&rel, "stylesheet") {
            LinkOrigin::Stylesheet
        } else if names_icon(rel.as_bytes()) {
            LinkOrigin::Icon
        } else if leads_to_page {
            LinkOrigin::Link
        } else {
            return;
        };
        if origin == LinkOrigin::Link || self.with_requisites {
            self.push(origin, AttributeForm::Url, href, has_token(&rel, "nofollow"));
        }
    }

    fn meta(&mut self, html: &[u8], tag: &Tag) {
        let [name, pragma, content] = attributes(html, tag, [b"name", b"http-equiv", b"content"]);
        let Some(content) = content else { return };
        if let Some(name) = name.map(|name| words(html, &name)) {
            let name = name.trim_ascii();
            if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(&self.robot) {
                let said = RobotsDirectives::of_meta(&words(html, &content));
                self.robots = self.robots.with(said);
            }
        }
        if pragma.is_some_and(|pragma| words(html, &pragma).eq_ignore_ascii_case("refresh")) {
            self.push(LinkOrigin::Refresh, AttributeForm::Refresh, Some(content), false);
        }
    }

    fn push(
        &mut self,
        origin: LinkOrigin,
        form: AttributeForm,
        value: Option<ByteRange>,
        is_nofollow: bool,
    ) {
        let Some(value) = value else { return };
        if self.attributes.len() < MAX_ATTRIBUTES {
            self.attributes.push(LinkAttribute { origin, form, is_nofollow, value });
        } else {
            self.left_out += 1;
        }
    }
}

fn attributes<const N: usize>(
    html: &[u8],
    tag: &Tag,
    wanted: [&[u8]; N],
) -> [Option<ByteRange>; N] {
    let mut found = [const { None }; N];
    for (name, value) in tag.attributes(html) {
        for (slot, wanted) in found.iter_mut().zip(wanted) {
            if slot.is_none() && name.eq_ignore_ascii_case(wanted) {
                *slot = Some(value.clone());
            }
        }
    }
    found
}

fn words<'a>(html: &'a [u8], value: &ByteRange) -> Cow<'a, str> {
    let bytes = html.get(value.clone()).unwrap_or_default();
    let bytes = bytes.get(..MAX_WORDS_BYTES).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    if text.contains('&') {
        return Cow::Owned(htmlize::unescape_attribute(text).into_owned());
    }
    text
}

fn has_token(rel: &str, token: &str) -> bool {
    rel.split_ascii_whitespace().any(|other| other.eq_ignore_ascii_case(token))
}

/// Feeds and media player data are also declared as alternates, but only programs read them.
fn names_page(mime: &str) -> bool {
    let essence = mime.split(';').next().unwrap_or_default().trim_ascii();
    ["", "text/html", "application/xhtml+xml", "text/plain", "application/pdf"]
        .iter()
        .any(|page| essence.eq_ignore_ascii_case(page))
}
