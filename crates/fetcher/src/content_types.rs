//! The content types of bodies that a request reads.
//!
//! Only the `Content-Type` field decides, because the body is not read before. A response without a
//! valid type is accepted; the reader of the body must determine its type. Does not depend on the
//! use of a body.

use std::sync::Arc;

use http::{HeaderMap, header::CONTENT_TYPE};

const HTML: &str = "text/html";
const XHTML: &str = "application/xhtml+xml";
const TEXT: &str = "text/plain";
const PDF: &str = "application/pdf";
const IMAGES: &str = "image/*";
/// Names that options may use, with the types that they stand for.
const WORDS: [(&str, &str); 5] =
    [("html", HTML), ("xhtml", XHTML), ("text", TEXT), ("pdf", PDF), ("images", IMAGES)];
/// Maximum number of types in a list. Options are written by people.
const MAX_TYPES: usize = 32;

/// A list of content types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentTypes {
    /// Types in lower case, such as `text/html` or `image/*`. `None` for all types.
    listed: Option<Arc<[String]>>,
}

/// The list has an invalid content type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a content type (html, xhtml, text, pdf, images, or such as image/svg+xml)")]
pub struct UnknownContentType(String);

impl ContentTypes {
    /// Accepts all types.
    pub fn any() -> Self {
        Self { listed: None }
    }

    /// Accepts the types of pages: HTML, XHTML, plain text and PDF.
    pub fn pages() -> Self {
        Self::listed([HTML, XHTML, TEXT, PDF])
    }

    /// Accepts image types.
    pub fn images() -> Self {
        Self::listed([IMAGES])
    }

    /// Parses a list such as `html,pdf,image/*`.
    ///
    /// # Errors
    /// Returns the first invalid item, or the whole list if it has too many items.
    pub fn parse(text: &str) -> Result<Self, UnknownContentType> {
        let items: Vec<&str> = text.split(',').map(str::trim).collect();
        if items.len() > MAX_TYPES {
            return Err(UnknownContentType(text.to_owned()));
        }
        let listed: Result<Vec<String>, UnknownContentType> = items.into_iter().map(one).collect();
        Ok(Self { listed: Some(listed?.into()) })
    }

    fn listed<const COUNT: usize>(types: [&str; COUNT]) -> Self {
        Self { listed: Some(types.map(str::to_owned).into()) }
    }

    /// Returns whether the type in a response's head is accepted.
    pub(crate) fn accept(&self, headers: &HeaderMap) -> bool {
        let (Some(listed), Some(declared)) = (&self.listed, essence(headers)) else { return true };
        listed.iter().any(|one| match one.strip_suffix('*') {
            Some(kind) => declared.starts_with(kind),
            None => declared == *one,
        })
    }
}

fn one(item: &str) -> Result<String, UnknownContentType> {
    let item = item.to_ascii_lowercase();
    if let Some((_, listed)) = WORDS.iter().find(|(word, _)| *word == item) {
        return Ok((*listed).to_owned());
    }
    let is_kind = |kind: &str| is_token(kind) && !kind.contains('*');
    match item.split_once('/') {
        Some((kind, subtype)) if is_kind(kind) && (subtype == "*" || is_kind(subtype)) => Ok(item),
        _ => Err(UnknownContentType(item)),
    }
}

/// Returns the type and subtype in lower case from the last `Content-Type` field that has both.
pub(crate) fn essence(headers: &HeaderMap) -> Option<String> {
    let fields = headers.get_all(CONTENT_TYPE).iter().filter_map(|value| value.to_str().ok());
    let mut essences = fields.filter_map(|value| {
        let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let (kind, subtype) = essence.split_once('/')?;
        (is_token(kind) && is_token(subtype) && essence != "*/*").then_some(essence)
    });
    essences.next_back()
}

/// Returns whether a string is an HTTP token (RFC 9110 5.6.2).
fn is_token(text: &str) -> bool {
    let is_token_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn head(values: &[&[u8]]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(CONTENT_TYPE, HeaderValue::from_bytes(value).expect("a value"));
        }
        headers
    }

    #[test]
    fn pages_are_html_xhtml_text_and_pdf() {
        let pages = ContentTypes::pages();
        for declared in [
            "text/html",
            "Text/HTML; charset=utf-8",
            "application/xhtml+xml",
            " text/plain ;x",
            "application/pdf",
        ] {
            assert!(pages.accept(&head(&[declared.as_bytes()])), "{declared}");
        }
        for declared in ["image/png", "text/css", "application/octet-stream", "text/html2"] {
            assert!(!pages.accept(&head(&[declared.as_bytes()])), "{declared}");
        }
    }

    #[test]
    fn what_declares_no_readable_type_is_accepted() {
        let pages = ContentTypes::pages();
        for declared in ["", "html", "*/*", "/", "text/", "a b/c"] {
            assert!(pages.accept(&head(&[declared.as_bytes()])), "{declared}");
        }
        assert!(pages.accept(&head(&[])));
        assert!(pages.accept(&head(&[b"text/\xff"])));
        assert!(!pages.accept(&head(&[b"text/html", b"image/png"])), "the last one counts");
        assert!(!pages.accept(&head(&[b"image/png", b"nonsense"])), "the last valid one counts");
    }

    #[test]
    fn a_list_is_parsed_or_its_invalid_item_returned() {
        let types = ContentTypes::parse("PDF, image/*,font/woff2").expect("a list");
        for (declared, is_listed) in
            [("application/pdf", true), ("image/webp", true), ("font/woff", false)]
        {
            assert_eq!(types.accept(&head(&[declared.as_bytes()])), is_listed, "{declared}");
        }
        for text in ["", "htlm", "html,", "*/*", "*", "image/p*", "a/b/c"] {
            assert!(ContentTypes::parse(text).is_err(), "{text}");
        }
        assert!(ContentTypes::parse(&vec!["html"; MAX_TYPES + 1].join(",")).is_err());
        assert!(ContentTypes::images().accept(&head(&[b"image/png"])));
        assert!(!ContentTypes::images().accept(&head(&[b"text/html"])));
        assert!(ContentTypes::any().accept(&head(&[b"text/css"])));
    }

    proptest! {
        #[test]
        fn any_field_is_read_as_a_type_or_as_none(value in "[ -~]{0,40}") {
            if let Some(essence) = essence(&head(&[value.as_bytes()])) {
                prop_assert!(value.to_ascii_lowercase().contains(&essence));
                let (kind, subtype) = essence.split_once('/').expect("both");
                prop_assert!(is_token(kind) && is_token(subtype));
            }
        }

        #[test]
        fn a_type_that_is_listed_is_accepted(kind in "[a-z]{1,8}", subtype in "[a-z0-9+.-]{1,8}") {
            let essence = format!("{kind}/{subtype}");
            let types = ContentTypes::parse(&essence).expect("a list");
            prop_assert!(types.accept(&head(&[essence.to_ascii_uppercase().as_bytes()])));
        }
    }
}
