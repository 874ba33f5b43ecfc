//! Identifies the caller by the key in the header `Authorization`.
//!
//! Invariant: a key's secret is hashed when the header is read, and is never stored, logged or
//! passed on.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::{
    extract::{ConnectInfo, FromRequestParts},
    http::{HeaderMap, HeaderValue, header, request::Parts},
};
use everytab_coordinator::ApiCaller;
use sha2::{Digest as _, Sha256};

use crate::{
    problem::{Problem, ProblemCode},
    service::Service,
    tokens::{base32, is_base32_digit},
};

/// Prefix for every key.
pub const KEY_PREFIX: &str = "et_";
/// Characters in a key's public ID: 60 bits. An ID is not a secret.
pub const KEY_ID_LENGTH: usize = 12;
/// Characters in a key's secret: 256 bits and 4 zero bits.
pub const KEY_SECRET_LENGTH: usize = 52;
/// Random bytes in an ID, whose last four bits are not used.
const KEY_ID_BYTES: usize = 8;
/// Random bytes in a key: for its ID and its secret.
pub const KEY_RANDOM_BYTES: usize = KEY_ID_BYTES + 32;

/// Splits a key into its public ID and its secret. `None` if it does not look like a key.
#[must_use]
pub fn split_key(key: &str) -> Option<(&str, &str)> {
    let (id, secret) = key.strip_prefix(KEY_PREFIX)?.split_once('_')?;
    let is_right = |text: &str, length| text.len() == length && text.bytes().all(is_base32_digit);
    (is_right(id, KEY_ID_LENGTH) && is_right(secret, KEY_SECRET_LENGTH)).then_some((id, secret))
}

/// Makes a key from random bytes, and returns its ID and its secret.
#[must_use]
pub fn key_of_random(random: &[u8; KEY_RANDOM_BYTES]) -> (String, String) {
    let (of_id, of_secret) = random.split_at(KEY_ID_BYTES);
    let mut id = base32(of_id);
    id.truncate(KEY_ID_LENGTH);
    (id, base32(of_secret))
}

/// Hashes a secret. Postgres stores only this hash.
#[must_use]
pub fn secret_sha256(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// A request's authenticated caller. Extracting it checks the key.
pub(crate) struct Caller(pub(crate) ApiCaller);

impl FromRequestParts<Arc<Service>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &Arc<Service>,
    ) -> Result<Self, Problem> {
        let caller = caller_of(&parts.headers)?;
        service.key_checks.check(&caller, address_of(parts)).await?;
        Ok(Self(caller))
    }
}

/// Returns a problem if there is no header `Authorization`, more than one, or a malformed key.
pub(crate) fn caller_of(headers: &HeaderMap) -> Result<ApiCaller, Problem> {
    let refused = |detail| Problem::with(ProblemCode::Unauthorized, detail);
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err(refused(
            "no Authorization header; send Authorization: Bearer et_<id>_<secret>",
        ));
    };
    if values.next().is_some() {
        return Err(refused("the Authorization header is given more than once"));
    }
    caller_of_value(value)
        .ok_or_else(|| refused("invalid Authorization header: expected Bearer et_<id>_<secret>"))
}

pub(crate) fn caller_of_value(value: &HeaderValue) -> Option<ApiCaller> {
    let (id, secret) = value.to_str().ok().and_then(bearer).and_then(split_key)?;
    Some(ApiCaller { key: id.to_owned(), secret_sha256: secret_sha256(secret) })
}

/// Returns the address of the connection's peer, which may be a proxy.
fn address_of(parts: &Parts) -> IpAddr {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(peer)| peer.ip())
}

/// Returns the credentials after the scheme `Bearer`, which is case-insensitive (RFC 7235).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, rest) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_an_id_and_a_secret_of_fixed_lengths() {
        let (id, secret) = ("abcdefghij27", "a".repeat(KEY_SECRET_LENGTH));
        let key = format!("et_{id}_{secret}");
        assert_eq!(split_key(&key), Some((id, secret.as_str())));
        let (new_id, new_secret) = key_of_random(&[0xa5; KEY_RANDOM_BYTES]);
        assert!(split_key(&format!("et_{new_id}_{new_secret}")).is_some());
        for wrong in [
            "",
            "et_",
            "et__",
            &key[1..],
            &key[..key.len() - 1],
            &format!("{key}a"),
            &key.to_uppercase(),
            &key.replace("27", "01"),
            &key.replacen('_', "-", 2),
            &format!("et_{id}_{}é", &secret[2..]),
        ] {
            assert_eq!(split_key(wrong), None, "{wrong}");
        }
        assert_eq!(bearer("bearer  x "), Some("x"));
        assert_eq!(bearer("Basic x"), None);
        assert_eq!(bearer("Bearer"), None);
    }
}
