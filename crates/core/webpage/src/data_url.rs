//! Decodes `data:` URLs up to a maximum size.

use data_url::DataUrl;

/// A `data:` URL's decoded content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataUrlContent {
    /// MIME type without parameters, in lower case, by default `text/plain`.
    pub mime: String,
    /// The decoded bytes.
    pub bytes: Vec<u8>,
}

/// Why a `data:` URL cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DataUrlError {
    /// The URL does not start with `data:`.
    #[error("not a data: URL")]
    NotData,
    /// No comma separates the MIME type from the content.
    #[error("a data: URL without a comma")]
    NoComma,
    /// The content is not valid base64, although it is declared as base64.
    #[error("a data: URL whose base64 is broken")]
    Base64,
    /// The content is larger than the caller allows.
    #[error("a data: URL of more than {max_bytes} bytes")]
    TooLarge {
        /// The limit in bytes.
        max_bytes: usize,
    },
}

/// Decodes a `data:` URL whose content has at most `max_bytes`.
///
/// # Errors
/// Returns an error if this URL is malformed or its content exceeds the limit.
pub fn decode(url: &str, max_bytes: usize) -> Result<DataUrlContent, DataUrlError> {
    let parsed = DataUrl::process(url).map_err(|error| match error {
        data_url::DataUrlError::NotADataUrl => DataUrlError::NotData,
        data_url::DataUrlError::NoComma => DataUrlError::NoComma,
    })?;
    let too_large = DataUrlError::TooLarge { max_bytes };
    // Do not decode content that is certainly too large. A byte takes at most four characters,
    // because percent-encoding triples the four characters for three bytes in base64.
    let encoded = url.split_once('#').map_or(url, |(before, _)| before);
    let encoded_bytes = encoded.split_once(',').map_or(0, |(_, body)| body.len());
    if encoded_bytes > max_bytes.saturating_mul(4).saturating_add(64) {
        return Err(too_large);
    }
    let (bytes, _fragment) = parsed.decode_to_vec().map_err(|_| DataUrlError::Base64)?;
    if bytes.len() > max_bytes {
        return Err(too_large);
    }
    let mime = parsed.mime_type();
    Ok(DataUrlContent { mime: format!("{}/{}", mime.type_, mime.subtype), bytes })
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
    fn types_are_parsed_as_in_fetch() {
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
    fn base64_is_decoded_leniently() {
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
    fn percent_signs_decode_once_and_stray_ones_are_kept() {
        assert_eq!(good("data:,%25%32%35%4%zz%"), pair("text/plain", "%25%4%zz%"));
        assert_eq!(decode("data:,%ff%00", 100).unwrap().bytes, [0xff, 0]);
    }

    #[test]
    fn invalid_and_large_data_urls_are_rejected() {
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
