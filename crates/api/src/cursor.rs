//! Cursors, with which a client continues reading a list.
//!
//! A cursor is base64url of a code and a payload. The code covers the payload, the list and the
//! key's secret. Invariant: a cursor that was forged, or made for another key or list, is always
//! rejected with the same code. This does not depend on what a payload contains.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::{DateTime, Utc};
use everytab_coordinator::{FeedPosition, FetchId, FoundPlace};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::{
    authentication::{code_of, is_same},
    problem::{Problem, ProblemCode},
};

/// Bytes of the code.
const CODE_BYTES: usize = 16;
/// Maximum cursor length: a snapshot has up to some hundred transactions in progress.
const MAX_CURSOR_CHARACTERS: usize = 8_192;

/// Name of a cursor's list: always 16 bytes, so that no name can continue in the payload.
pub(crate) type ListName = [u8; 16];

/// The list of a key's crawls.
const CRAWLS: &ListName = b"crawls..........";
/// A crawl's hosts. The payload names the crawl.
const HOSTS: &ListName = b"hosts...........";

fn seal(secret_sha256: &[u8; 32], list: &ListName, payload: &str) -> String {
    let code = code_of(secret_sha256, &[b"cursor", list, payload.as_bytes()]);
    let mut bytes = code[..CODE_BYTES].to_vec();
    bytes.extend(payload.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

fn unseal(secret_sha256: &[u8; 32], list: &ListName, cursor: &str) -> Option<String> {
    if cursor.len() > MAX_CURSOR_CHARACTERS {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (code, payload) = bytes.split_at_checked(CODE_BYTES)?;
    let expected = code_of(secret_sha256, &[b"cursor", list, payload]);
    if !is_same(code, &expected[..CODE_BYTES]) {
        return None;
    }
    String::from_utf8(payload.to_vec()).ok()
}

fn refused(field: &str) -> Problem {
    let detail = "give the cursor of an answer, as it was, with the key that got it";
    Problem::of_field(ProblemCode::InvalidCursor, field, detail)
}

/// Returns the cursor after a crawl in the list of a key's crawls.
pub(crate) fn crawls_cursor(secret_sha256: &[u8; 32], number: i32) -> String {
    seal(secret_sha256, CRAWLS, &number.to_string())
}

/// Decodes a cursor of [`crawls_cursor`].
///
/// # Errors
/// Returns a problem if it is not one.
pub(crate) fn crawls_before(
    secret_sha256: &[u8; 32],
    (field, cursor): (&str, &str),
) -> Result<i32, Problem> {
    let payload = unseal(secret_sha256, CRAWLS, cursor);
    payload.and_then(|text| text.parse().ok()).ok_or_else(|| refused(field))
}

/// Returns the cursor after an item, identified by the item's sort key.
pub(crate) fn item_cursor(secret_sha256: &[u8; 32], list: &ListName, key: &str) -> String {
    seal(secret_sha256, list, key)
}

/// Decodes a cursor of [`item_cursor`].
///
/// # Errors
/// Returns a problem if it is not one.
pub(crate) fn item_key(
    secret_sha256: &[u8; 32],
    list: &ListName,
    cursor: &str,
) -> Result<String, Problem> {
    unseal(secret_sha256, list, cursor).ok_or_else(|| refused("after"))
}

/// Returns the cursor after a host of a crawl: the time when it is due, and its name's hash.
pub(crate) fn host_cursor(
    secret_sha256: &[u8; 32],
    crawl: Uuid,
    (due, host_hash): (DateTime<Utc>, u64),
) -> String {
    seal(secret_sha256, HOSTS, &format!("{crawl} {} {host_hash}", due.timestamp_micros()))
}

/// Decodes a cursor that [`host_cursor`] made for this crawl.
///
/// # Errors
/// Returns a problem if it is not one.
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

/// Returns the list name of a query's results.
fn found_list(crawl: Option<Uuid>, query: &str) -> ListName {
    let digest: [u8; 32] =
        Sha256::new().chain_update(crawl.unwrap_or_default()).chain_update(query).finalize().into();
    let mut list = *b"search..........";
    list[6..].copy_from_slice(&digest[..10]);
    list
}

/// Returns the cursor after a result of a query.
pub(crate) fn found_cursor(
    secret_sha256: &[u8; 32],
    (crawl, query): (Option<Uuid>, &str),
    place: &FoundPlace,
) -> String {
    let FoundPlace { rank, id: FetchId { crawl: number, host_hash, url_hash } } = place;
    let payload = format!("{rank} {number} {host_hash} {url_hash}");
    seal(secret_sha256, &found_list(crawl, query), &payload)
}

/// Decodes a cursor that [`found_cursor`] made for this query.
///
/// # Errors
/// Returns a problem if it is not one.
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

/// Returns the cursor for a position in a crawl's feed.
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

/// Decodes a cursor of [`feed_cursor`].
///
/// # Errors
/// Returns a problem if it is not one.
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn position() -> impl Strategy<Value = FeedPosition> {
        let snapshot = || "[0-9]{1,9}:[0-9]{1,9}:([0-9]{1,9}(,[0-9]{1,9}){0,5})?";
        (any::<i16>(), snapshot(), prop::option::of(snapshot()), any::<i64>(), any::<i64>())
            .prop_map(|(epoch, snapshot, ceiling, xid, id)| FeedPosition {
                epoch,
                snapshot,
                ceiling,
                xid,
                id,
            })
    }

    proptest! {
        #[test]
        fn a_cursor_is_read_by_its_key_for_its_crawl_alone(
            position in position(), key in any::<[u8; 32]>(), other in any::<[u8; 32]>(),
            crawl in any::<u128>(), another in any::<u128>(), at in any::<prop::sample::Index>(),
        ) {
            prop_assume!(key != other && crawl != another);
            let (crawl, another) = (Uuid::from_u128(crawl), Uuid::from_u128(another));
            let cursor = feed_cursor(&key, crawl, &position);
            prop_assert_eq!(feed_position(&key, crawl, &cursor).unwrap(), position);
            prop_assert!(feed_position(&other, crawl, &cursor).is_err());
            prop_assert!(feed_position(&key, another, &cursor).is_err());
            prop_assert!(crawls_before(&key, ("after", &cursor)).is_err());
            prop_assert!(host_place(&key, crawl, &cursor).is_err());
            prop_assert!(found_place(&key, (None, "q"), &cursor).is_err());
            prop_assert!(item_key(&key, CRAWLS, &cursor).is_err());
            let mut forged = cursor.clone().into_bytes();
            let at = at.index(forged.len());
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).unwrap();
            prop_assert!(feed_position(&key, crawl, &forged).is_err());
        }

        #[test]
        fn any_text_is_refused(text in ".{0,80}") {
            prop_assert!(feed_position(&[7; 32], Uuid::nil(), &text).is_err());
            prop_assert!(crawls_before(&[7; 32], ("after", &text)).is_err());
            prop_assert!(host_place(&[7; 32], Uuid::nil(), &text).is_err());
            prop_assert!(found_place(&[7; 32], (None, "q"), &text).is_err());
            prop_assert!(item_key(&[7; 32], HOSTS, &text).is_err());
        }
    }

    #[test]
    fn a_crawl_is_the_end_of_a_page() {
        let cursor = crawls_cursor(&[7; 32], 41);
        assert_eq!(crawls_before(&[7; 32], ("after", &cursor)).unwrap(), 41);
        let long = "A".repeat(MAX_CURSOR_CHARACTERS + 4);
        let refused = crawls_before(&[7; 32], ("after", &long)).unwrap_err();
        assert_eq!(refused.code, ProblemCode::InvalidCursor);
    }

    #[test]
    fn a_place_is_read_for_its_crawl_and_its_query_alone() {
        let (key, one, other) = ([7; 32], Uuid::from_u128(1), Uuid::from_u128(2));
        let due = DateTime::from_timestamp_micros(1_769_860_800_123_456).unwrap();
        let cursor = host_cursor(&key, one, (due, u64::MAX));
        assert_eq!(host_place(&key, one, &cursor).unwrap(), (due, u64::MAX));
        assert!(host_place(&key, other, &cursor).is_err());
        let id = FetchId { crawl: 3, host_hash: u64::MAX, url_hash: 0 };
        for rank in [0.0, 0.1, 1.0 / 3.0, 1e-20, f32::MAX] {
            let place = FoundPlace { rank, id };
            let cursor = found_cursor(&key, (Some(one), "fox"), &place);
            assert_eq!(found_place(&key, (Some(one), "fox"), &cursor).unwrap(), place);
            for query in [(Some(other), "fox"), (None, "fox"), (Some(one), "dog")] {
                assert!(found_place(&key, query, &cursor).is_err());
            }
        }
    }
}
