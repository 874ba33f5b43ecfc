//! The declared content type of a response, which decides whether its body is read.

use everytab_webpage::{ContentTypes, is_token};
use http::{HeaderMap, header::CONTENT_TYPE};

pub(crate) fn accept(types: &ContentTypes, headers: &HeaderMap) -> bool {
    types.accept(essence(headers).as_deref())
}

/// Returns the type and subtype, in lower case, from the last valid `Content-Type` field.
pub(crate) fn essence(headers: &HeaderMap) -> Option<String> {
    let fields = headers.get_all(CONTENT_TYPE).iter().filter_map(|value| value.to_str().ok());
    let mut essences = fields.filter_map(|value| {
        let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let (kind, subtype) = essence.split_once('/')?;
        (is_token(kind) && is_token(subtype) && essence != "*/*").then_some(essence)
    });
    essences.next_back()
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
            assert!(accept(&pages, &head(&[declared.as_bytes()])), "{declared}");
        }
        for declared in ["image/png", "text/css", "application/octet-stream", "text/html2"] {
            assert!(!accept(&pages, &head(&[declared.as_bytes()])), "{declared}");
        }
    }

    #[test]
    fn a_response_without_a_valid_type_is_accepted() {
        let pages = ContentTypes::pages();
        for declared in ["", "html", "*/*", "/", "text/", "a b/c"] {
            assert!(accept(&pages, &head(&[declared.as_bytes()])), "{declared}");
        }
        assert!(accept(&pages, &head(&[])));
        assert!(accept(&pages, &head(&[b"text/\xff"])));
        assert!(!accept(&pages, &head(&[b"text/html", b"image/png"])), "the last one counts");
        assert!(!accept(&pages, &head(&[b"image/png", b"nonsense"])), "the last valid one counts");
    }

    proptest! {
        #[test]
        fn any_content_type_gives_valid_tokens_or_none(value in "[ -~]{0,40}") {
            if let Some(essence) = essence(&head(&[value.as_bytes()])) {
                prop_assert!(value.to_ascii_lowercase().contains(&essence));
                let (kind, subtype) = essence.split_once('/').expect("both");
                prop_assert!(is_token(kind) && is_token(subtype));
            }
        }
    }
}
