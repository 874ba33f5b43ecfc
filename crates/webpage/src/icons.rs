//! Icon links: which `link` elements declare an icon, and where it is.
//!
//! WHATWG HTML 4.6.8.8 and 4.2.3. `rel` is a set of tokens: `icon` anywhere among them counts,
//! the apple-touch names make a class of their own, `mask-icon` is never an icon for a tab.
//! Links inside comments, templates, scripts and a head's noscript are not elements at all.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use serde::Serialize;
use url::Url;

use crate::charset::Charset;
use crate::markup::{LinkSpan, Span};

/// A longer href is left out and counted; the largest that can be a candidate is 16 KiB.
const MAX_HREF_BYTES: usize = 64 << 10;

/// What is kept of a type, sizes or media attribute.
const MAX_ATTRIBUTE_BYTES: usize = 256;

/// What kind of icon a link declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IconClass {
    /// `rel` has the token `icon`.
    Icon,
    /// `rel` has `apple-touch-icon` or `apple-touch-icon-precomposed`, and not `icon`.
    AppleTouch,
}

/// A declared icon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IconLink {
    /// Absolute URL, resolved against the base URL, fragment kept.
    pub href: String,
    /// The tokens of `rel` in lower case, parted by one space.
    pub rel: String,
    /// The `type` attribute: a hint that is often wrong.
    #[serde(rename = "type")]
    pub mime: Option<String>,
    /// The `sizes` attribute as written; [`crate::sizes::parse`] reads it.
    pub sizes: Option<String>,
    /// The `media` attribute as written.
    pub media: Option<String>,
    /// The link lies in the body, where browsers other than Firefox overlook it.
    pub in_body: bool,
    /// What kind of icon it is.
    pub class: IconClass,
}

/// True for an undecoded `rel` that names an icon of either class.
pub(crate) fn names_icon(rel: &[u8]) -> bool {
    // Only a character reference could hide the word from this quick look.
    if !rel.contains(&b'&') && !rel.windows(4).any(|word| word.eq_ignore_ascii_case(b"icon")) {
        return false;
    }
    class_of(&attribute_text(&String::from_utf8_lossy(rel))).is_some()
}

fn class_of(rel: &str) -> Option<IconClass> {
    let has = |name: &str| rel.split_ascii_whitespace().any(|t| t.eq_ignore_ascii_case(name));
    if has("icon") {
        Some(IconClass::Icon)
    } else if has("apple-touch-icon") || has("apple-touch-icon-precomposed") {
        Some(IconClass::AppleTouch)
    } else {
        None
    }
}

/// An attribute's value as the tokenizer emits it: NUL is U+FFFD, references decoded once.
fn attribute_text(decoded: &str) -> String {
    htmlize::unescape_attribute(decoded.replace('\0', "\u{fffd}")).into_owned()
}

/// Reads the values of one page's links.
pub(crate) struct LinkReader<'a> {
    pub(crate) html: &'a [u8],
    pub(crate) charset: &'a Charset,
    /// The base URL; without one, only absolute URLs resolve.
    pub(crate) base: Option<&'a Url>,
    /// Where the body opens.
    pub(crate) head_end: usize,
}

impl LinkReader<'_> {
    /// The text of an attribute, `None` if it is absent or too long to be kept.
    pub(crate) fn text(&self, span: Option<&Span>, max_bytes: usize) -> Option<String> {
        let bytes = self.html.get(span?.clone())?;
        (bytes.len() <= max_bytes).then(|| attribute_text(&self.charset.decode_piece(bytes)))
    }

    /// The declared icon, or `None` where href is absent, empty, too long or no URL.
    pub(crate) fn icon(&self, link: &LinkSpan) -> Option<IconLink> {
        let rel = self.text(link.rel.as_ref(), MAX_HREF_BYTES)?;
        let class = class_of(&rel)?;
        let href = self.text(link.href.as_ref(), MAX_HREF_BYTES)?;
        if href.is_empty() {
            return None;
        }
        let href = self.resolve(&href)?.into();
        let rel: Vec<&str> = rel.split_ascii_whitespace().collect();
        Some(IconLink {
            href,
            rel: shortened(&rel.join(" ").to_ascii_lowercase()).to_owned(),
            mime: self.hint(link.mime.as_ref()),
            sizes: self.hint(link.sizes.as_ref()),
            media: self.hint(link.media.as_ref()),
            in_body: link.at >= self.head_end,
            class,
        })
    }

    fn hint(&self, span: Option<&Span>) -> Option<String> {
        let text = self.text(span, MAX_HREF_BYTES)?;
        Some(shortened(&text).to_owned())
    }

    /// "Encoding-parse a URL": a query beyond ASCII is encoded in the page's own encoding.
    pub(crate) fn resolve(&self, href: &str) -> Option<Url> {
        let options = Url::options().base_url(self.base);
        if self.charset.encoding == UTF_8 || href.is_ascii() {
            return options.parse(href).ok();
        }
        let encode = encoder(self.charset.encoding.output_encoding());
        options.encoding_override(Some(&encode)).parse(href).ok()
    }
}

/// Encodes a query; a character that the encoding lacks becomes a character reference.
fn encoder(encoding: &'static Encoding) -> impl Fn(&str) -> Cow<'_, [u8]> {
    move |text| Cow::Owned(encoding.encode(text).0.into_owned())
}

fn shortened(text: &str) -> &str {
    let mut end = text.len().min(MAX_ATTRIBUTE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rel_is_a_set_of_tokens() {
        for icon in ["icon", "SHORTCUT ICON", "icon shortcut", "alternate\ticon", "mask-icon icon"]
        {
            assert_eq!(class_of(icon), Some(IconClass::Icon), "{icon}");
            assert!(names_icon(icon.as_bytes()), "{icon}");
        }
        assert_eq!(class_of("apple-touch-icon icon"), Some(IconClass::Icon));
        for touch in ["apple-touch-icon", "Apple-Touch-Icon-Precomposed x"] {
            assert_eq!(class_of(touch), Some(IconClass::AppleTouch), "{touch}");
        }
        for other in ["", "shortcut", "mask-icon", "fluid-icon", "icons", "favicon", "icon\u{a0}x"]
        {
            assert_eq!(class_of(other), None, "{other}");
            assert!(!names_icon(other.as_bytes()), "{other}");
        }
        assert!(names_icon(b"&#105;con"));
    }

    #[test]
    fn a_long_attribute_is_cut_between_characters() {
        assert_eq!(shortened(&"é".repeat(200)).len(), MAX_ATTRIBUTE_BYTES);
        assert_eq!(shortened(&format!("a{}", "é".repeat(200))).len(), MAX_ATTRIBUTE_BYTES - 1);
    }
}
