//! A page's links to other pages, and to the requisites that a browser needs to show it.

mod finder;
mod link;

use std::{borrow::Cow, str};

use serde::Serialize;

pub(crate) use self::finder::LinkFinder;
use self::finder::{AttributeForm, LinkAttribute};
pub use self::link::{LinkKind, LinkOrigin, LinkRequest, MAX_LINKS_PER_PAGE, PageLink};
use crate::{
    icons::LinkReader,
    meta_robots::RobotsDirectives,
    refresh, srcset,
    tokens::ByteRange,
    url_rules::{MAX_URL_BYTES, requested_form},
};

/// Maximum length in bytes of an attribute with one URL: four times the maximum URL length.
const MAX_ATTRIBUTE_BYTES: usize = 4 * MAX_URL_BYTES;

/// Maximum length in bytes of a `srcset` attribute. Real ones have a few kilobytes.
const MAX_SRCSET_BYTES: usize = 64 << 10;

/// A page's links, pictures and robots directives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageLinks {
    /// Links in document order, at most [`MAX_LINKS_PER_PAGE`]. A URL may occur several times.
    pub links: Vec<PageLink>,
    /// Skipped links by reason.
    pub left_out: LinksLeftOut,
    /// File names of the first pictures, even if requisites are not requested.
    pub pictures: Vec<String>,
    /// Robots directives from the page and its headers.
    pub robots: RobotsDirectives,
}

/// Skipped links by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LinksLeftOut {
    /// Links after the first [`MAX_LINKS_PER_PAGE`]. A `srcset` that was not read counts as one.
    pub over_limit: usize,
    /// Links longer than [`MAX_URL_BYTES`], and attributes that are too long.
    pub too_long: usize,
    /// Links with another scheme, such as `javascript:` and `mailto:`.
    pub other_scheme: usize,
    /// Links that are not URLs.
    pub unparsable: usize,
    /// Links whose attribute is empty or contains only whitespace.
    pub empty: usize,
}

impl LinksLeftOut {
    /// Returns the total count.
    #[must_use]
    pub fn sum(&self) -> usize {
        let Self { over_limit, too_long, other_scheme, unparsable, empty } = self;
        over_limit + too_long + other_scheme + unparsable + empty
    }
}

impl LinkFinder {
    pub(crate) fn resolved(&self, reader: &LinkReader<'_>) -> PageLinks {
        let mut found = PageLinks { robots: self.robots, ..PageLinks::default() };
        found.left_out.over_limit = self.left_out;
        let values = self.pictures.iter().filter_map(|value| reader.html.get(value.clone()));
        found.pictures = values.filter_map(file_name).collect();
        for attribute in &self.attributes {
            found.read(attribute, reader);
        }
        found
    }
}

impl PageLinks {
    fn read(&mut self, attribute: &LinkAttribute, reader: &LinkReader<'_>) {
        if self.links.len() >= MAX_LINKS_PER_PAGE {
            self.left_out.over_limit += 1;
            return;
        }
        let bytes = reader.html.get(attribute.value.clone()).unwrap_or_default();
        let max_bytes = match attribute.form {
            AttributeForm::Srcset => MAX_SRCSET_BYTES,
            AttributeForm::Url | AttributeForm::Refresh => MAX_ATTRIBUTE_BYTES,
        };
        if bytes.len() > max_bytes {
            let is_other = attribute.form == AttributeForm::Url && has_other_scheme(bytes);
            let reason = &mut self.left_out;
            let count = if is_other { &mut reason.other_scheme } else { &mut reason.too_long };
            *count += 1;
            return;
        }
        let text = text(bytes, &attribute.value, reader);
        match attribute.form {
            AttributeForm::Url => self.push(&text, attribute, reader),
            AttributeForm::Srcset => {
                for url in srcset::urls(&text) {
                    self.push(url, attribute, reader);
                }
            }
            AttributeForm::Refresh => {
                if let Some(url) = refresh::target(&text) {
                    self.push(url, attribute, reader);
                }
            }
        }
    }

    fn push(&mut self, text: &str, attribute: &LinkAttribute, reader: &LinkReader<'_>) {
        let left_out = &mut self.left_out;
        if self.links.len() >= MAX_LINKS_PER_PAGE {
            left_out.over_limit += 1;
            return;
        }
        // The URL parser removes these characters from both ends.
        if text.trim_matches(|c: char| c <= ' ').is_empty() {
            left_out.empty += 1;
            return;
        }
        let Some(url) = reader.resolve(text) else {
            left_out.unparsable += 1;
            return;
        };
        if !matches!(url.scheme(), "http" | "https") {
            left_out.other_scheme += 1;
            return;
        }
        let url = requested_form(url);
        if url.as_str().len() > MAX_URL_BYTES {
            left_out.too_long += 1;
            return;
        }
        let LinkAttribute { origin, is_nofollow, .. } = *attribute;
        self.links.push(PageLink { url, origin, is_nofollow });
    }
}

/// Most values are ASCII without character references, and need no decoding.
fn text<'a>(bytes: &'a [u8], span: &ByteRange, reader: &LinkReader<'_>) -> Cow<'a, str> {
    let is_plain = bytes.is_ascii() && memchr::memchr2(b'&', 0, bytes).is_none();
    match str::from_utf8(bytes).ok().filter(|_| is_plain) {
        Some(plain) => Cow::Borrowed(plain),
        None => Cow::Owned(reader.text(Some(span), bytes.len()).unwrap_or_default()),
    }
}

fn file_name(value: &[u8]) -> Option<String> {
    let value = value.trim_ascii();
    if value.len() > MAX_URL_BYTES || has_other_scheme(value) {
        return None;
    }
    let path = value.split(|byte| b"?#".contains(byte)).next().unwrap_or_default();
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}

fn has_other_scheme(bytes: &[u8]) -> bool {
    let start = bytes.iter().position(|byte| *byte > b' ').unwrap_or(bytes.len());
    let bytes = bytes.get(start..).unwrap_or_default();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let length = bytes.iter().take_while(|byte| is_part(byte)).count();
    let (scheme, after) = bytes.split_at_checked(length).unwrap_or_default();
    after.first() == Some(&b':')
        && scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && !scheme.eq_ignore_ascii_case(b"http")
        && !scheme.eq_ignore_ascii_case(b"https")
}

#[cfg(test)]
mod tests;
