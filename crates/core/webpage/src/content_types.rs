//! Content type lists that decide which response bodies are read.

use std::sync::Arc;

const HTML: &str = "text/html";
const XHTML: &str = "application/xhtml+xml";
const TEXT: &str = "text/plain";
const PDF: &str = "application/pdf";
const IMAGES: &str = "image/*";
/// Short names for options, and the content types that they include.
const WORDS: [(&str, &str); 5] =
    [("html", HTML), ("xhtml", XHTML), ("text", TEXT), ("pdf", PDF), ("images", IMAGES)];
/// Maximum types in a list. A longer list is rejected.
const MAX_TYPES: usize = 32;

/// A content type list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentTypes {
    /// Types in lower case, such as `text/html` or `image/*`. `None` accepts all types.
    listed: Option<Arc<[String]>>,
}

/// A list has an invalid content type, or too many items.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid content types {0:?}: expected at most {MAX_TYPES} of html, xhtml, text, pdf, images, \
     or types such as image/svg+xml"
)]
pub struct UnknownContentType(String);

impl ContentTypes {
    /// Accepts all types.
    pub fn any() -> Self {
        Self { listed: None }
    }

    /// Accepts HTML, XHTML, plain text and PDF.
    pub fn pages() -> Self {
        Self::listed([HTML, XHTML, TEXT, PDF])
    }

    /// Accepts images.
    pub fn images() -> Self {
        Self::listed([IMAGES])
    }

    /// Parses a list such as `html,pdf,image/*`.
    ///
    /// # Errors
    /// Returns an error for the first invalid item, or if there are too many.
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

    /// Returns true if a body with this declared type is accepted. A body without a valid type is
    /// accepted, because its reader must detect the type.
    pub fn accept(&self, declared: Option<&str>) -> bool {
        let (Some(listed), Some(declared)) = (&self.listed, declared) else { return true };
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

/// Returns true if this string is an HTTP token (RFC 9110 5.6.2).
pub fn is_token(text: &str) -> bool {
    let is_token_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_list_is_read_or_refused_by_its_item() {
        let types = ContentTypes::parse("PDF, image/*,font/woff2").expect("a list");
        for (declared, is_listed) in
            [("application/pdf", true), ("image/webp", true), ("font/woff", false)]
        {
            assert_eq!(types.accept(Some(declared)), is_listed, "{declared}");
        }
        for text in ["", "htlm", "html,", "*/*", "*", "image/p*", "a/b/c"] {
            assert!(ContentTypes::parse(text).is_err(), "{text}");
        }
        assert!(ContentTypes::parse(&vec!["html"; MAX_TYPES + 1].join(",")).is_err());
        assert!(ContentTypes::images().accept(Some("image/png")));
        assert!(!ContentTypes::images().accept(Some("text/html")));
        assert!(ContentTypes::any().accept(Some("text/css")));
        assert!(types.accept(None));
    }

    proptest! {
        #[test]
        fn a_type_that_is_listed_is_accepted(kind in "[a-z]{1,8}", subtype in "[a-z0-9+.-]{1,8}") {
            let essence = format!("{kind}/{subtype}");
            let types = ContentTypes::parse(&essence).expect("a list");
            prop_assert!(types.accept(Some(&essence)));
        }
    }
}
