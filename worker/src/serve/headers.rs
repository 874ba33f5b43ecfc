//! Sets a response header to a text that the server made.

use axum::http::header::{HeaderMap, HeaderName, HeaderValue};

/// Sets a header, unless the value is not valid in a header.
pub(super) fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
