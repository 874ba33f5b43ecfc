//! Creates and checks the strings that clients store and send back: URL IDs, and cursors for a
//! list's next page.
//!
//! Each contains a code that only the holder of an API key and this service can compute: a prefix
//! of the SHA-256 of the key's secret hash followed by the message. Messages have a fixed length or
//! their length in them, so that none can be extended.

use std::sync::LazyLock;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::{DateTime, Utc};
use data_encoding::{Encoding, Specification};
use everytab_coordinator::{FeedPosition, FetchId, FoundPlace};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::problem::{Problem, ProblemCode};

/// Callers use a prefix of this digest, because a truncated digest cannot be extended to a longer
/// message's digest.
fn code_of(secret_sha256: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut digest = Sha256::new_with_prefix(secret_sha256);
    for part in parts {
        digest.update(part);
    }
    digest.finalize().into()
}

/// Compares two byte strings in a time that depends only on their lengths.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |found, (a, b)| found | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differing) == 0
}

/// Base32 in lower case without padding (RFC 4648). Each value has one string, because unused bits
/// must be zero.
static BASE32: LazyLock<Encoding> = LazyLock::new(|| {
    let mut specification = Specification::new();
    specification.symbols.push_str("abcdefghijklmnopqrstuvwxyz234567");
    specification.encoding().expect("32 different characters are an alphabet")
});

pub(crate) fn is_base32_digit(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'2'..=b'7')
}

pub(crate) fn base32(bytes: &[u8]) -> String {
    BASE32.encode(bytes)
}

fn from_base32(text: &str) -> Option<Vec<u8>> {
    BASE32.decode(text.as_bytes()).ok()
}

const ID_VERSION: u8 = 1;
/// Bytes before the code: version, crawl, host hash, URL hash.
const SAID_BYTES: usize = 1 + 4 + 8 + 8;
/// The code's length in bytes. One in 2^64 guesses is right, and each guess takes a request.
const ID_CODE_BYTES: usize = 8;

/// Returns a URL's ID for the key with this secret. `api.url_id` does the same in Postgres.
pub(crate) fn url_id(id: FetchId, secret_sha256: &[u8; 32]) -> String {
    let mut bytes = vec![ID_VERSION];
    bytes.extend(id.crawl.to_be_bytes());
    bytes.extend(id.host_hash.to_be_bytes());
    bytes.extend(id.url_hash.to_be_bytes());
    let code = code_of(secret_sha256, &[&bytes]);
    bytes.extend(&code[..ID_CODE_BYTES]);
    base32(&bytes)
}

/// `None` if the ID is invalid or belongs to another key.
pub(crate) fn parse_url_id(text: &str, secret_sha256: &[u8; 32]) -> Option<FetchId> {
    let bytes = from_base32(text)?;
    let (said, code) = bytes.split_at_checked(SAID_BYTES)?;
    if !is_same(code, &code_of(secret_sha256, &[said])[..ID_CODE_BYTES]) {
        return None;
    }
    let (version, rest) = said.split_first()?;
    let (crawl, rest) = rest.split_at_checked(4)?;
    let (host_hash, url_hash) = rest.split_at_checked(8)?;
    (*version == ID_VERSION).then_some(FetchId {
        crawl: i32::from_be_bytes(crawl.try_into().ok()?),
        host_hash: u64::from_be_bytes(host_hash.try_into().ok()?),
        url_hash: u64::from_be_bytes(url_hash.try_into().ok()?),
    })
}

/// The code's length in bytes.
const CURSOR_CODE_BYTES: usize = 16;
/// Maximum cursor length. A cursor may contain a snapshot, which lists transactions in progress.
const MAX_CURSOR_CHARACTERS: usize = 8_192;

/// Name of a cursor's list: always 16 bytes, so that no name can continue in the payload.
pub(crate) type ListName = [u8; 16];

const CRAWLS: &ListName = b"crawls..........";
/// A crawl's hosts. The payload names the crawl.
const HOSTS: &ListName = b"hosts...........";

fn seal(secret_sha256: &[u8; 32], list: &ListName, payload: &str) -> String {
    let code = code_of(secret_sha256, &[b"cursor", list, payload.as_bytes()]);
    let mut bytes = code[..CURSOR_CODE_BYTES].to_vec();
    bytes.extend(payload.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

fn unseal(secret_sha256: &[u8; 32], list: &ListName, cursor: &str) -> Option<String> {
    if cursor.len() > MAX_CURSOR_CHARACTERS {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (code, payload) = bytes.split_at_checked(CURSOR_CODE_BYTES)?;
    let expected = code_of(secret_sha256, &[b"cursor", list, payload]);
    if !is_same(code, &expected[..CURSOR_CODE_BYTES]) {
        return None;
    }
    String::from_utf8(payload.to_vec()).ok()
}

fn refused(field: &str) -> Problem {
    let detail = "invalid cursor: use a response's next, unchanged and with the same key";
    Problem::of_field(ProblemCode::InvalidCursor, field, detail)
}

pub(crate) fn crawls_cursor(secret_sha256: &[u8; 32], number: i32) -> String {
    seal(secret_sha256, CRAWLS, &number.to_string())
}

pub(crate) fn crawls_before(
    secret_sha256: &[u8; 32],
    (field, cursor): (&str, &str),
) -> Result<i32, Problem> {
    let payload = unseal(secret_sha256, CRAWLS, cursor);
    payload.and_then(|text| text.parse().ok()).ok_or_else(|| refused(field))
}

pub(crate) fn item_cursor(secret_sha256: &[u8; 32], list: &ListName, key: &str) -> String {
    seal(secret_sha256, list, key)
}

pub(crate) fn item_key(
    secret_sha256: &[u8; 32],
    list: &ListName,
    cursor: &str,
) -> Result<String, Problem> {
    unseal(secret_sha256, list, cursor).ok_or_else(|| refused("after"))
}

pub(crate) fn host_cursor(
    secret_sha256: &[u8; 32],
    crawl: Uuid,
    (due, host_hash): (DateTime<Utc>, u64),
) -> String {
    seal(secret_sha256, HOSTS, &format!("{crawl} {} {host_hash}", due.timestamp_micros()))
}

pub(crate) fn host_place(
    secret_sha256: &[u8; 32],
    crawl: Uuid,
    cursor: &str,
) -> Result<(DateTime<Utc>, u64), Problem> {
    let read = || {
        let payload = unseal(secret_sha256, HOSTS, cursor)?;
        let (due, host) = payload.strip_prefix(&format!("{crawl} "))?.split_once(' ')?;
        Some((DateTime::from_timestamp_micros(due.parse().ok()?)?, host.parse().ok()?))
    };
    read().ok_or_else(|| refused("after"))
}

fn found_list(crawl: Option<Uuid>, query: &str) -> ListName {
    let digest: [u8; 32] =
        Sha256::new().chain_update(crawl.unwrap_or_default()).chain_update(query).finalize().into();
    let mut list = *b"search..........";
    list[6..].copy_from_slice(&digest[..10]);
    list
}

pub(crate) fn found_cursor(
    secret_sha256: &[u8; 32],
    (crawl, query): (Option<Uuid>, &str),
    place: &FoundPlace,
) -> String {
    let FoundPlace { rank, id: FetchId { crawl: number, host_hash, url_hash } } = place;
    let payload = format!("{rank} {number} {host_hash} {url_hash}");
    seal(secret_sha256, &found_list(crawl, query), &payload)
}

pub(crate) fn found_place(
    secret_sha256: &[u8; 32],
    (crawl, query): (Option<Uuid>, &str),
    cursor: &str,
) -> Result<FoundPlace, Problem> {
    let read = || {
        let payload = unseal(secret_sha256, &found_list(crawl, query), cursor)?;
        let mut parts = payload.split(' ');
        let rank = parts.next()?.parse().ok()?;
        let crawl = parts.next()?.parse().ok()?;
        let (host_hash, url_hash) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(FoundPlace { rank, id: FetchId { crawl, host_hash, url_hash } })
    };
    read().ok_or_else(|| refused("after"))
}

pub(crate) fn feed_cursor(
    secret_sha256: &[u8; 32],
    crawl: Uuid,
    position: &FeedPosition,
) -> String {
    let FeedPosition { epoch, snapshot, ceiling, xid, id } = position;
    let ceiling = ceiling.as_deref().unwrap_or("-");
    let payload = format!("{epoch} {xid} {id} {snapshot} {ceiling}");
    seal(secret_sha256, crawl.as_bytes(), &payload)
}

pub(crate) fn feed_position(
    secret_sha256: &[u8; 32],
    crawl: Uuid,
    cursor: &str,
) -> Result<FeedPosition, Problem> {
    let payload = unseal(secret_sha256, crawl.as_bytes(), cursor);
    payload.as_deref().and_then(position_of).ok_or_else(|| refused("after"))
}

fn position_of(payload: &str) -> Option<FeedPosition> {
    let mut parts = payload.split(' ');
    let mut next = || parts.next();
    let (epoch, xid, id) = (next()?.parse().ok()?, next()?.parse().ok()?, next()?.parse().ok()?);
    let (snapshot, ceiling) = (next()?.to_owned(), next()?);
    let ceiling = (ceiling != "-").then(|| ceiling.to_owned());
    Some(FeedPosition { epoch, snapshot, ceiling, xid, id })
}

#[cfg(test)]
mod tests;
