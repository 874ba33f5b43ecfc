//! Conditional requests, with the entity tag and the date of an earlier copy.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED},
};

/// Maximum size of a validator in bytes.
const MAX_VALIDATOR_BYTES: usize = 256;

/// The validators of an earlier copy (RFC 9110 8.8), as the server sent them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// `ETag`, sent back as `If-None-Match`.
    pub etag: Option<String>,
    /// `Last-Modified`, sent back as `If-Modified-Since`.
    pub last_modified: Option<String>,
}

impl Validators {
    /// Skips validators that are too long or not ASCII.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let text = |name: HeaderName| {
            let value = headers.get(name)?.to_str().ok()?.trim();
            let is_kept = !value.is_empty() && value.len() <= MAX_VALIDATOR_BYTES;
            is_kept.then(|| value.to_owned())
        };
        Self { etag: text(ETAG), last_modified: text(LAST_MODIFIED) }
    }

    pub(crate) fn add_to(&self, headers: &mut HeaderMap) -> bool {
        let mut is_conditional = false;
        for (name, value) in [(IF_NONE_MATCH, &self.etag), (IF_MODIFIED_SINCE, &self.last_modified)]
        {
            let Some(value) = value.as_ref().filter(|text| text.len() <= MAX_VALIDATOR_BYTES)
            else {
                continue;
            };
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
                is_conditional = true;
            }
        }
        is_conditional
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn validators_that_are_too_long_or_break_a_header_are_not_sent() {
        let mut headers = HeaderMap::new();
        let long = "x".repeat(MAX_VALIDATOR_BYTES + 1);
        let validators =
            Validators { etag: Some("a\r\nb: c".to_owned()), last_modified: Some(long) };
        assert!(!validators.add_to(&mut headers));
        assert!(headers.is_empty());
    }

    proptest! {
        #[test]
        fn validators_are_sent_back_unchanged(
            etag in "[!-~]{1,40}", date in "[!-~][ -~]{0,28}[!-~]",
        ) {
            let mut answer = HeaderMap::new();
            answer.insert(ETAG, HeaderValue::from_str(&etag).expect("a value"));
            answer.insert(LAST_MODIFIED, HeaderValue::from_str(&date).expect("a value"));
            let validators = Validators::of(&answer);
            let mut request = HeaderMap::new();
            prop_assert!(validators.add_to(&mut request));
            prop_assert_eq!(&request[IF_NONE_MATCH], etag.as_str());
            prop_assert_eq!(&request[IF_MODIFIED_SINCE], date.as_str());
        }
    }
}
