//! The key directory: the public keys that verify our requests, as a JSON Web Key Set (RFC 7517) at
//! the well-known location for Web Bot Auth.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How long a key remains in the directory after it was last published, in seconds. Two months are
/// enough to look up a key for a month after a monthly scan replaced it.
const KEPT_SECONDS: u64 = 62 * 24 * 3600;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Directory {
    keys: Vec<PublishedKey>,
}

/// RFC 7517 and RFC 8037 define these names.
#[derive(Debug, Serialize, Deserialize)]
struct PublishedKey {
    kid: String,
    kty: String,
    crv: String,
    x: String,
    #[serde(rename = "use")]
    purpose: String,
    nbf: u64,
    exp: u64,
    /// Members that a later program version may have added. They are preserved.
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// Returns the directory with an Ed25519 key and without expired keys. `now` is a Unix time in
/// seconds. A malformed directory is replaced.
#[must_use]
pub fn with_key(published: Option<&[u8]>, key_id: &str, public_key: [u8; 32], now: u64) -> Vec<u8> {
    let published = published.and_then(|bytes| serde_json::from_slice(bytes).ok());
    let mut directory: Directory = published.unwrap_or_default();
    let since = directory.keys.iter().find(|key| key.kid == key_id).map_or(now, |key| key.nbf);
    directory.keys.retain(|key| key.kid != key_id && key.exp > now);
    directory.keys.push(PublishedKey {
        kid: key_id.to_owned(),
        kty: "OKP".to_owned(),
        crv: "Ed25519".to_owned(),
        x: URL_SAFE_NO_PAD.encode(public_key),
        purpose: "sig".to_owned(),
        nbf: since,
        exp: now + KEPT_SECONDS,
        other: Map::new(),
    });
    let mut bytes = serde_json::to_vec_pretty(&directory).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 3600;

    fn keys(bytes: &[u8]) -> Vec<(String, u64, u64)> {
        let directory: Directory = serde_json::from_slice(bytes).unwrap();
        directory.keys.into_iter().map(|key| (key.kid, key.nbf, key.exp)).collect()
    }

    #[test]
    fn an_old_key_stays_for_two_months_after_it_was_last_published() {
        let first = with_key(None, "a", [1; 32], 100 * DAY);
        assert_eq!(keys(&first), [("a".to_owned(), 100 * DAY, 162 * DAY)]);
        let again = with_key(Some(&first), "a", [1; 32], 120 * DAY);
        assert_eq!(keys(&again), [("a".to_owned(), 100 * DAY, 182 * DAY)]);
        let both = with_key(Some(&again), "b", [2; 32], 150 * DAY);
        let expected =
            [("a".to_owned(), 100 * DAY, 182 * DAY), ("b".to_owned(), 150 * DAY, 212 * DAY)];
        assert_eq!(keys(&both), expected);
        let later = with_key(Some(&both), "b", [2; 32], 182 * DAY);
        assert_eq!(keys(&later), [("b".to_owned(), 150 * DAY, 244 * DAY)]);
    }

    #[test]
    fn a_key_has_the_members_that_verifiers_read() {
        let document: Value = serde_json::from_slice(&with_key(None, "a", [255; 32], 7)).unwrap();
        let expected = serde_json::json!({"keys": [{
            "kid": "a", "kty": "OKP", "crv": "Ed25519", "use": "sig", "nbf": 7, "exp": 7 + 62 * DAY,
            "x": "__________________________________________8",
        }]});
        assert_eq!(document, expected);
        assert_eq!(with_key(Some(b"<html>"), "a", [255; 32], 7), with_key(None, "a", [255; 32], 7));
    }
}
