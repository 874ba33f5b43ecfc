//! The ID of a submitted URL: its row's key, and a code that binds it to the API key.
//!
//! Invariant: an ID is a function of the URL, its crawl and the API key, and is not stored. An ID
//! that was forged, truncated or made for another key is invalid. This does not depend on what a
//! URL is.

use everytab_coordinator::FetchId;

use crate::{
    authentication::{code_of, is_same},
    base32::{base32, from_base32},
};

/// First byte of every ID.
const VERSION: u8 = 1;
/// Bytes before the code: version, crawl, hash of the host, hash of the URL.
const SAID_BYTES: usize = 1 + 4 + 8 + 8;
/// Bytes of the code. One of 2^64 guesses is right, and each guess takes a request.
const CODE_BYTES: usize = 8;

/// Returns the ID of a URL for the key with this secret. `api.url_id` does the same in Postgres,
/// for events.
pub(crate) fn url_id(id: FetchId, secret_sha256: &[u8; 32]) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend(id.crawl.to_be_bytes());
    bytes.extend(id.host_hash.to_be_bytes());
    bytes.extend(id.url_hash.to_be_bytes());
    let code = code_of(secret_sha256, &[&bytes]);
    bytes.extend(&code[..CODE_BYTES]);
    base32(&bytes)
}

/// Decodes the ID of a URL of this key. `None` if it is invalid.
pub(crate) fn parse_url_id(text: &str, secret_sha256: &[u8; 32]) -> Option<FetchId> {
    let bytes = from_base32(text)?;
    let (said, code) = bytes.split_at_checked(SAID_BYTES)?;
    if !is_same(code, &code_of(secret_sha256, &[said])[..CODE_BYTES]) {
        return None;
    }
    let (version, rest) = said.split_first()?;
    let (crawl, rest) = rest.split_at_checked(4)?;
    let (host_hash, url_hash) = rest.split_at_checked(8)?;
    (*version == VERSION).then_some(FetchId {
        crawl: i32::from_be_bytes(crawl.try_into().ok()?),
        host_hash: u64::from_be_bytes(host_hash.try_into().ok()?),
        url_hash: u64::from_be_bytes(url_hash.try_into().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_id_is_read_by_its_key_alone(
            crawl in any::<i32>(), host_hash in any::<u64>(), url_hash in any::<u64>(),
            key in any::<[u8; 32]>(), other in any::<[u8; 32]>(), at in 0_usize..47, to in 0_u8..32,
        ) {
            let id = FetchId { crawl, host_hash, url_hash };
            let text = url_id(id, &key);
            prop_assert_eq!(text.len(), 47);
            prop_assert_eq!(parse_url_id(&text, &key), Some(id));
            prop_assume!(other != key);
            prop_assert_eq!(parse_url_id(&text, &other), None);
            let mut forged = text.clone().into_bytes();
            forged[at] = b"abcdefghijklmnopqrstuvwxyz234567"[usize::from(to)];
            let forged = String::from_utf8(forged).unwrap();
            prop_assert!(forged == text || parse_url_id(&forged, &key).is_none());
            prop_assert_eq!(parse_url_id(&text[..46], &key), None);
        }

        #[test]
        fn any_text_is_an_id_or_none(text in ".{0,60}") {
            prop_assert_eq!(parse_url_id(&text, &[0; 32]), None);
        }
    }
}
