//! Fetch's "data: URL processor": a data: URL to its MIME type and bytes.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::content_type;

/// Forgiving base64 drops the bits left over at the end; padding is taken off beforehand.
const FORGIVING: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// What a data: URL holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataUrl {
    /// The essence of its MIME type in lower case; `text/plain` where it names none.
    pub mime: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Why a data: URL gives nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DataUrlError {
    /// It does not begin with `data:`.
    #[error("not a data: URL")]
    NotData,
    /// No comma parts the type from the bytes.
    #[error("a data: URL without a comma")]
    NoComma,
    /// The bytes are not base64.
    #[error("a data: URL whose base64 is broken")]
    Base64,
    /// It holds more bytes than allowed.
    #[error("a data: URL of more than {max_bytes} bytes")]
    TooLarge {
        /// The limit it passed.
        max_bytes: usize,
    },
}

/// Decodes a data: URL that has been through a URL parser, at most `max_bytes` of it.
///
/// # Errors
/// [`DataUrlError`], for URLs that the processor fails on and for those above the limit.
pub fn decode(url: &str, max_bytes: usize) -> Result<DataUrl, DataUrlError> {
    let scheme = url.get(..5).ok_or(DataUrlError::NotData)?;
    if !scheme.eq_ignore_ascii_case("data:") {
        return Err(DataUrlError::NotData);
    }
    let rest = url.get(5..).unwrap_or_default();
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let (mime, body) = rest.split_once(',').ok_or(DataUrlError::NoComma)?;
    let too_large = DataUrlError::TooLarge { max_bytes };
    // Three characters a byte when each is percent-encoded, four bytes for three in base64.
    if body.len() > max_bytes.saturating_mul(4).saturating_add(64) {
        return Err(too_large);
    }
    let mime = mime.trim_matches([' ', '\t', '\n', '\x0c', '\r']);
    let mut bytes = percent_decoded(body);
    let mime = match without_base64(mime) {
        Some(mime) => {
            bytes = forgiving_base64(bytes)?;
            mime
        }
        None => mime,
    };
    if bytes.len() > max_bytes {
        return Err(too_large);
    }
    let parsed = if mime.starts_with(';') {
        content_type::parse(&format!("text/plain{mime}"))
    } else {
        content_type::parse(mime)
    };
    let mime = parsed.map_or_else(|| "text/plain".to_owned(), |parsed| parsed.essence);
    Ok(DataUrl { mime, bytes })
}

/// The MIME type without its `;base64` end, or `None` if it has none.
fn without_base64(mime: &str) -> Option<&str> {
    let at = mime.len().checked_sub(6)?;
    let (before, end) = (mime.get(..at)?, mime.get(at..)?);
    if !end.eq_ignore_ascii_case("base64") {
        return None;
    }
    before.trim_end_matches(' ').strip_suffix(';')
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let value = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%').and_then(hex_pair);
        decoded.push(value.unwrap_or(*byte));
        at += if value.is_some() { 3 } else { 1 };
    }
    decoded
}

/// The byte that two hexadecimal digits name.
pub(crate) fn hex_pair(digits: &[u8]) -> Option<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    match digits {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    }
}

/// Infra's "forgiving-base64 decode".
fn forgiving_base64(mut bytes: Vec<u8>) -> Result<Vec<u8>, DataUrlError> {
    bytes.retain(|byte| !byte.is_ascii_whitespace());
    if bytes.len().is_multiple_of(4) {
        for _ in 0..2 {
            if bytes.last() == Some(&b'=') {
                bytes.pop();
            }
        }
    }
    if bytes.len() % 4 == 1 {
        return Err(DataUrlError::Base64);
    }
    FORGIVING.decode(&bytes).map_err(|_| DataUrlError::Base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(url: &str) -> (String, String) {
        let found = decode(url, 100).unwrap();
        (found.mime, String::from_utf8_lossy(&found.bytes).into_owned())
    }

    fn pair(mime: &str, text: &str) -> (String, String) {
        (mime.to_owned(), text.to_owned())
    }

    #[test]
    fn types_are_read_as_fetch_reads_them() {
        assert_eq!(good("data:,"), pair("text/plain", ""));
        assert_eq!(good("data:,X"), pair("text/plain", "X"));
        assert_eq!(good("DATA:IMAGE/gif;charset=x,hi"), pair("image/gif", "hi"));
        assert_eq!(good("data:;charset=utf-8,X"), pair("text/plain", "X"));
        assert_eq!(good("data:nonsense,X"), pair("text/plain", "X"));
        assert_eq!(good("data: image/png ;base64,WA=="), pair("image/png", "X"));
        assert_eq!(good("data:image/svg+xml;utf8,<svg/>"), pair("image/svg+xml", "<svg/>"));
        assert_eq!(good("data:image/png,X#Y"), pair("image/png", "X"));
        assert_eq!(good("data:text/html,a,b"), pair("text/html", "a,b"));
    }

    #[test]
    fn base64_is_forgiving() {
        assert_eq!(good("data:;base64,WA"), pair("text/plain", "X"));
        assert_eq!(good("data:;BASE64,WA=="), pair("text/plain", "X"));
        assert_eq!(good("data:;  base64,W%20A%3D="), pair("text/plain", "X"));
        assert_eq!(good("data:;base64 ,WB=="), pair("text/plain", "X"));
        assert_eq!(good("data:;base64;x,WA=="), pair("text/plain", "WA=="));
        assert_eq!(good("data:base64,WA"), pair("text/plain", "WA"));
        assert_eq!(good("data:;base64,"), pair("text/plain", ""));
        for broken in ["W", "WA=", "W===", "=", "WA==WA", "W-_A", "\u{e9}"] {
            let url = format!("data:;base64,{broken}");
            assert_eq!(decode(&url, 100), Err(DataUrlError::Base64), "{broken}");
        }
    }

    #[test]
    fn percent_signs_decode_once_and_stray_ones_stay() {
        assert_eq!(good("data:,%25%32%35%4%zz%"), pair("text/plain", "%25%4%zz%"));
        assert_eq!(decode("data:,%ff%00", 100).unwrap().bytes, [0xff, 0]);
    }

    #[test]
    fn what_is_no_data_url_or_too_large_is_refused() {
        assert_eq!(decode("data:", 100), Err(DataUrlError::NoComma));
        assert_eq!(decode("data:image/png", 100), Err(DataUrlError::NoComma));
        assert_eq!(decode("http://a/,", 100), Err(DataUrlError::NotData));
        assert_eq!(decode("", 100), Err(DataUrlError::NotData));
        assert_eq!(decode("dat\u{e9}:,", 100), Err(DataUrlError::NotData));
        let too_large = Err(DataUrlError::TooLarge { max_bytes: 3 });
        assert_eq!(decode("data:,abcd", 3), too_large);
        assert_eq!(decode(&format!("data:,{}", "a".repeat(1000)), 3), too_large);
        assert_eq!(decode("data:,abc", 3).unwrap().bytes, b"abc");
        assert_eq!(decode("data:,%61%62%63", 3).unwrap().bytes, b"abc");
    }
}
