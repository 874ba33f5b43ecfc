//! Determines a page's character encoding and decodes it (WHATWG HTML 13.2.3.2, Encoding Standard).
//!
//! A byte order mark takes precedence, then the charset in `Content-Type`, then a `meta` element
//! that the parser finds, then the prescan.
//!
//! A page without a declaration is UTF-8 if it is valid UTF-8 and not only ASCII. Browsers do not
//! detect this, because they decide after the first bytes. Otherwise we use Firefox's detector:
//! chardetng with the top-level domain, never ISO-2022-JP.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, WINDOWS_1252};

use crate::{content_type::ContentType, prescan};

/// Bytes at the start of a page that are searched for a declaration (WHATWG HTML 13.2.3.2).
const PRESCAN_BYTES: usize = 1024;

/// Maximum bytes that the detector reads after the ASCII bytes at the start. A MiB would take about
/// 100 ms.
const MAX_DETECT_BYTES: usize = 256 << 10;

/// Where a page's encoding was declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CharsetSource {
    /// In a byte order mark.
    Bom,
    /// In the `Content-Type` header.
    Http,
    /// In a `meta` element or an XML declaration in the first 1,024 bytes (prescan).
    Meta,
    /// In a `meta` element that the parser found, but not the prescan.
    LateMeta,
    /// Nowhere. The encoding was detected from the bytes.
    Detected,
    /// Nowhere. All bytes are ASCII.
    Default,
}

/// A page's encoding, and where it was declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charset {
    /// Encoding as defined by the Encoding Standard.
    pub encoding: &'static Encoding,
    /// Where this encoding was declared.
    pub source: CharsetSource,
}

impl Charset {
    /// Returns the encoding's standard name in lower case, such as `shift_jis`.
    #[must_use]
    pub fn name(&self) -> String {
        self.encoding.name().to_ascii_lowercase()
    }

    pub(crate) fn declared(content_type: Option<&ContentType>, body: &[u8]) -> Option<Self> {
        if let Some((encoding, _)) = Encoding::for_bom(body) {
            return Some(Self { encoding, source: CharsetSource::Bom });
        }
        let label = content_type.and_then(|found| found.charset.as_deref());
        if let Some(encoding) = label.and_then(|label| Encoding::for_label(label.as_bytes())) {
            return Some(Self { encoding, source: CharsetSource::Http });
        }
        let start = body.get(..PRESCAN_BYTES).unwrap_or(body);
        let encoding = prescan::prescan(start)?;
        Some(Self { encoding, source: CharsetSource::Meta })
    }

    /// The top-level domain of `host` makes some alphabets more likely.
    pub(crate) fn undeclared(body: &[u8], host: Option<&str>) -> Self {
        let ascii = Encoding::ascii_valid_up_to(body);
        if ascii == body.len() {
            return Self { encoding: WINDOWS_1252, source: CharsetSource::Default };
        }
        let encoding = if is_utf8(body, ascii) { UTF_8 } else { detect(body, ascii, host) };
        Self { encoding, source: CharsetSource::Detected }
    }

    /// Returns true if markup is ASCII in this encoding, so that undecoded bytes can be tokenized.
    pub(crate) fn is_ascii_compatible(&self) -> bool {
        self.encoding.is_ascii_compatible()
    }

    pub(crate) fn decode<'a>(&self, body: &'a [u8]) -> Cow<'a, str> {
        if self.encoding == REPLACEMENT {
            return Cow::Borrowed(if body.is_empty() { "" } else { "\u{fffd}" });
        }
        self.encoding.decode_with_bom_removal(body).0
    }

    pub(crate) fn decode_piece<'a>(&self, bytes: &'a [u8]) -> Cow<'a, str> {
        self.encoding.decode_without_bom_handling(bytes).0
    }
}

/// The last character may be incomplete, because captures are truncated.
fn is_utf8(body: &[u8], ascii: usize) -> bool {
    let valid = Encoding::utf8_valid_up_to(body);
    let tail = body.get(valid..).unwrap_or_default();
    let cut = matches!(std::str::from_utf8(tail), Err(error) if error.error_len().is_none());
    valid > ascii && (tail.is_empty() || cut)
}

fn detect(body: &[u8], ascii: usize, host: Option<&str>) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(body.get(..ascii + MAX_DETECT_BYTES).unwrap_or(body), true);
    // The detector accepts only labels with lower-case letters, digits and hyphens.
    let domain =
        host.and_then(|host| host.trim_end_matches('.').rsplit('.').next()).filter(|tld| {
            !tld.is_empty()
                && tld.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        });
    detector.guess(domain.map(str::as_bytes), Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content_type;

    fn declared(content_type: &str, body: &[u8]) -> Option<(String, CharsetSource)> {
        let content_type = content_type::parse(content_type);
        Charset::declared(content_type.as_ref(), body).map(|found| (found.name(), found.source))
    }

    fn said(name: &str, source: CharsetSource) -> Option<(String, CharsetSource)> {
        Some((name.to_owned(), source))
    }

    #[test]
    fn a_byte_order_mark_precedes_the_header_and_the_header_the_meta() {
        let meta = b"<meta charset=gbk>";
        let marked = b"\xef\xbb\xbf<meta charset=gbk>";
        let html = "text/html; charset=iso-8859-1";
        assert_eq!(declared(html, marked), said("utf-8", CharsetSource::Bom));
        assert_eq!(declared(html, b"\xff\xfea\0"), said("utf-16le", CharsetSource::Bom));
        assert_eq!(declared(html, b"\xfe\xff\0a"), said("utf-16be", CharsetSource::Bom));
        assert_eq!(declared(html, meta), said("windows-1252", CharsetSource::Http));
        assert_eq!(declared("text/html", meta), said("gbk", CharsetSource::Meta));
        assert_eq!(declared("text/html", b"<p>"), None);
    }

    #[test]
    fn an_unknown_label_is_skipped() {
        let meta = b"<meta charset=gb2312>";
        assert_eq!(declared("text/html; charset=utf8mb4", meta), said("gbk", CharsetSource::Meta));
        assert_eq!(declared("text/html; charset=utf8mb4", b""), None);
    }

    #[test]
    fn labels_follow_the_encoding_standard() {
        for (label, name) in [
            ("latin1", "windows-1252"),
            ("ascii", "windows-1252"),
            ("GB2312", "gbk"),
            ("shift-jis", "shift_jis"),
            ("ks_c_5601-1987", "euc-kr"),
            ("utf-16", "utf-16le"),
            ("x-user-defined", "x-user-defined"),
            ("hz-gb-2312", "replacement"),
            ("iso-2022-kr", "replacement"),
        ] {
            let header = format!("text/html;charset={label}");
            assert_eq!(declared(&header, b""), said(name, CharsetSource::Http), "{label}");
        }
    }

    #[test]
    fn the_meta_must_be_within_the_first_kibibyte() {
        let at = |padding: usize| {
            let mut page = vec![b' '; padding];
            page.extend_from_slice(b"<meta charset=gbk>");
            declared("", &page)
        };
        assert_eq!(at(1024 - 18), said("gbk", CharsetSource::Meta));
        assert_eq!(at(1024 - 17), None);
    }

    #[test]
    fn undeclared_encodings_are_detected() {
        let guess = |body: &[u8], host| {
            let found = Charset::undeclared(body, host);
            (found.name(), found.source)
        };
        let (detected, default) = (CharsetSource::Detected, CharsetSource::Default);
        assert_eq!(guess(b"plain", None), ("windows-1252".to_owned(), default));
        assert_eq!(guess("naïve".as_bytes(), None), ("utf-8".to_owned(), detected));
        assert_eq!(guess(b"na\xc3\xafve \xc3", None), ("utf-8".to_owned(), detected));
        assert_ne!(guess(b"na\xefve \xc3", None).0, "utf-8");
        let russian = encoding_rs::WINDOWS_1251.encode("Добро пожаловать на наш сайт").0;
        assert_eq!(guess(&russian, Some("a.ru")), ("windows-1251".to_owned(), detected));
        let japanese = encoding_rs::SHIFT_JIS.encode("ようこそ、私たちのサイトへ").0;
        assert_eq!(guess(&japanese, Some("A.JP.")), ("shift_jis".to_owned(), detected));
    }

    #[test]
    fn the_replacement_encoding_gives_one_replacement_character() {
        let charset = Charset { encoding: REPLACEMENT, source: CharsetSource::Http };
        assert_eq!(charset.decode(b"<title>x</title>"), "\u{fffd}");
        assert_eq!(charset.decode(b""), "");
    }
}
