//! Reads the `link` elements that declare an icon (WHATWG HTML 4.6.8.8 and 4.2.3). `mask-icon` is
//! never an icon for a tab.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use serde::Serialize;
use url::Url;

use crate::{
    charset::Charset, data_url, markup::LinkSpan, media::matches_light_page, tokens::ByteRange,
    url_rules::with_two_slashes,
};

/// Maximum length in bytes of an icon link's attribute, before its character references are
/// decoded. Longer attributes are ignored.
const MAX_HREF_BYTES: usize = 64 << 10;

/// Maximum length in bytes of a `data:` URL that may declare an icon without bytes.
const MAX_NO_ICON_BYTES: usize = 64;

/// Maximum bytes to keep from a `rel`, `type`, `sizes` or `media` attribute.
const MAX_ATTRIBUTE_BYTES: usize = 256;

/// Kind of icon that a link declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IconClass {
    /// `rel` contains the token `icon`.
    Icon,
    /// `rel` contains `apple-touch-icon` or `apple-touch-icon-precomposed`, but not `icon`.
    AppleTouch,
}

/// An icon that a page declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IconLink {
    /// Absolute URL with its fragment.
    pub href: String,
    /// Tokens from `rel` in lower case, separated by one space.
    pub rel: String,
    /// The `type` attribute as written, which is often wrong.
    #[serde(rename = "type")]
    pub mime: Option<String>,
    /// The `sizes` attribute as written. [`crate::sizes::parse`] parses it.
    pub sizes: Option<String>,
    /// The `media` attribute as written.
    pub media: Option<String>,
    /// True if this link is in the body, where browsers other than Firefox ignore it.
    pub in_body: bool,
    /// Kind of this icon.
    pub class: IconClass,
}

impl IconLink {
    /// Returns true if this link has no `media`, or one that matches a light page on a screen.
    pub(crate) fn is_for_light_page(&self) -> bool {
        self.media.as_deref().is_none_or(matches_light_page)
    }

    /// Returns true for an icon without bytes, such as `data:,`, by which authors declare that
    /// there is no icon.
    pub(crate) fn declares_no_icon(&self) -> bool {
        let href = &self.href;
        self.is_for_light_page()
            && href.len() <= MAX_NO_ICON_BYTES
            && href.starts_with("data:")
            && match data_url::decode(href, MAX_NO_ICON_BYTES) {
                Ok(decoded) => decoded.bytes.is_empty(),
                // `data:;base64,=` is the same idiom, although it is not valid base64.
                Err(_) => href.ends_with(";base64,="),
            }
    }
}

/// Returns true if an undecoded `rel` names an icon of either class.
pub(crate) fn names_icon(rel: &[u8]) -> bool {
    // This excludes nearly all links. Only a character reference could hide the token.
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

/// Like the tokenizer, replaces NUL by U+FFFD and decodes character references once.
fn attribute_text(decoded: &str) -> String {
    htmlize::unescape_attribute(decoded.replace('\0', "\u{fffd}")).into_owned()
}

pub(crate) struct LinkReader<'a> {
    pub(crate) html: &'a [u8],
    pub(crate) charset: &'a Charset,
    /// Base URL. Without this base, only absolute URLs resolve.
    pub(crate) base: Option<&'a Url>,
    /// Byte offset where the body starts.
    pub(crate) head_end: usize,
}

impl LinkReader<'_> {
    pub(crate) fn text(&self, span: Option<&ByteRange>, max_bytes: usize) -> Option<String> {
        let bytes = self.html.get(span?.clone())?;
        (bytes.len() <= max_bytes).then(|| attribute_text(&self.charset.decode_piece(bytes)))
    }

    /// Returns the declared icon. `None` if its `href` is absent, empty, too long or not a URL.
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

    fn hint(&self, span: Option<&ByteRange>) -> Option<String> {
        let text = self.text(span, MAX_HREF_BYTES)?;
        Some(shortened(&text).to_owned())
    }

    /// Encodes the query in the page's encoding ("encoding-parse a URL" in HTML).
    pub(crate) fn resolve(&self, href: &str) -> Option<Url> {
        let options = Url::options().base_url(self.base);
        let href = with_two_slashes(href);
        if self.charset.encoding == UTF_8 || href.is_ascii() {
            return options.parse(&href).ok();
        }
        let encode = encoder(self.charset.encoding.output_encoding());
        options.encoding_override(Some(&encode)).parse(&href).ok()
    }
}

/// A character that the encoding lacks becomes a numeric character reference.
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
