//! The sort key for captures in an index: the Sort-friendly URI Reordering Transform.
//!
//! ```text
//! https://www.Example.com:8443/b/../A/?y=2&x=1#top   ->   com,example:8443)/a?x=1&y=2
//! ```
//!
//! Keys equal pywb's and the column `url_surtkey` in Common Crawl's index, except for the
//! differences in docs/decisions/0087-index-of-a-live-crawl.md.

mod session;

use std::borrow::Cow;

use idna::AsciiDenyList;

use self::session::{without_session_in_path, without_session_in_query};
use crate::http_url::{CaptureUrlError, HttpUrl};

/// Returns the key for an `http` or `https` URL, such as `com,example)/path?query`.
///
/// # Errors
/// Returns an error if this string is not such a URL, or longer than
/// [`MAX_URL_BYTES`](crate::MAX_URL_BYTES).
pub fn surt(url: &str) -> Result<String, CaptureUrlError> {
    let url = without_line_ends(url);
    let parts = HttpUrl::parse(&url)?;
    let mut key = host_key(parts.host)?;
    if let Some(port) = parts.unusual_port() {
        key.push(':');
        key.push_str(&port.to_string());
    }
    key.push(')');
    key.push_str(&path_key(parts.path));
    if let Some(query) = parts.query.map(query_key).filter(|query| !query.is_empty()) {
        key.push('?');
        key.push_str(&query);
    }
    Ok(key)
}

/// Removes surrounding whitespace, and tabs and line ends, because URL parsers ignore them.
fn without_line_ends(url: &str) -> Cow<'_, str> {
    let trimmed = url.trim_matches(|c: char| c.is_ascii_whitespace());
    if trimmed.contains(['\t', '\r', '\n']) {
        trimmed.replace(['\t', '\r', '\n'], "").into()
    } else {
        trimmed.into()
    }
}

fn host_key(host: &str) -> Result<String, CaptureUrlError> {
    let unescaped = String::from_utf8_lossy(&unescaped(host)).into_owned();
    let ascii = if unescaped.is_ascii() {
        unescaped
    } else {
        // Remove bytes that are not UTF-8, because they cannot be part of a name.
        let text = unescaped.replace(char::REPLACEMENT_CHARACTER, "");
        let name = idna::domain_to_ascii_cow(text.as_bytes(), AsciiDenyList::EMPTY);
        name.map(Cow::into_owned).unwrap_or(text)
    };
    let host = escaped_in_lower_case(ascii.as_bytes());
    let mut labels: Vec<&str> = host.split('.').filter(|label| !label.is_empty()).collect();
    if let [first, _, ..] = labels.as_slice()
        && first.strip_prefix("www").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
    {
        labels.remove(0);
    }
    labels.reverse();
    let key = labels.join(",");
    // An IPv6 address in brackets is one label unless its last part is written as an IPv4 address.
    let key = key.replace(['[', ']'], "");
    if key.is_empty() { Err(CaptureUrlError::Host) } else { Ok(key) }
}

fn path_key(path: &str) -> String {
    let unescaped = unescaped(path);
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in unescaped.split(|byte| *byte == b'/').skip(1) {
        match segment {
            b"." => {}
            // As in the index's keys, a `..` at the root is kept, and the next `..` removes it.
            b".." if segments.pop().is_none() => segments.push(b".."),
            b".." => {}
            _ => segments.push(segment),
        }
    }
    let mut path = String::from("/");
    for segment in segments.iter().filter(|segment| !segment.is_empty()) {
        if path.len() > 1 {
            path.push('/');
        }
        path.push_str(&escaped_in_lower_case(segment));
    }
    without_session_in_path(path)
}

fn query_key(query: &str) -> String {
    let query = without_session_in_query(escaped_in_lower_case(&unescaped(query)));
    let mut parts: Vec<&str> = query.split('&').collect();
    // A part without a value sorts before one with an empty value.
    parts.sort_by_key(|part| match part.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (*part, None),
    });
    parts.join("&")
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        bytes.push(byte);
        while let [.., b'%', high, low] = bytes.as_slice()
            && let (Some(high), Some(low)) = (hex_digit(*high), hex_digit(*low))
        {
            bytes.truncate(bytes.len() - 3);
            bytes.push(high << 4 | low);
        }
    }
    bytes
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn escaped_in_lower_case(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte <= b' ' || byte >= 0x7f || matches!(byte, b'#' | b'%') {
            text.push('%');
            text.push_str(&hex::encode([byte]));
        } else {
            text.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    text
}

#[cfg(test)]
mod tests;
