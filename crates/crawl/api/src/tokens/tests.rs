//! Tests that forged tokens and tokens of other keys are rejected.

use proptest::prelude::*;

use super::*;

#[test]
fn base32_matches_the_examples_in_rfc_4648() {
    for (bytes, text) in [
        ("", ""),
        ("f", "my"),
        ("fo", "mzxq"),
        ("foo", "mzxw6"),
        ("foob", "mzxw6yq"),
        ("fooba", "mzxw6ytb"),
        ("foobar", "mzxw6ytboi"),
    ] {
        assert_eq!(base32(bytes.as_bytes()), text);
        assert_eq!(from_base32(text).as_deref(), Some(bytes.as_bytes()));
    }
    for wrong in ["MY", "mz", "my======", "m", "1a", "mzx", "é"] {
        assert_eq!(from_base32(wrong), None, "{wrong}");
    }
}

proptest! {
    #[test]
    fn base32_strings_and_values_correspond_one_to_one(
        bytes in prop::collection::vec(any::<u8>(), 0..64), text in "[a-z2-7]{0,60}",
    ) {
        prop_assert_eq!(from_base32(&base32(&bytes)), Some(bytes));
        if let Some(value) = from_base32(&text) {
            prop_assert_eq!(base32(&value), text);
        }
    }
}

proptest! {
    #[test]
    fn an_id_is_valid_only_for_its_key(
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
    fn arbitrary_ids_are_rejected(text in ".{0,60}") {
        prop_assert_eq!(parse_url_id(&text, &[0; 32]), None);
    }
}

fn position() -> impl Strategy<Value = FeedPosition> {
    let snapshot = || "[0-9]{1,9}:[0-9]{1,9}:([0-9]{1,9}(,[0-9]{1,9}){0,5})?";
    (any::<i16>(), snapshot(), prop::option::of(snapshot()), any::<i64>(), any::<i64>()).prop_map(
        |(epoch, snapshot, ceiling, xid, id)| FeedPosition { epoch, snapshot, ceiling, xid, id },
    )
}

proptest! {
    #[test]
    fn a_cursor_is_valid_only_for_its_key_and_crawl(
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
    fn arbitrary_cursors_are_rejected(text in ".{0,80}") {
        prop_assert!(feed_position(&[7; 32], Uuid::nil(), &text).is_err());
        prop_assert!(crawls_before(&[7; 32], ("after", &text)).is_err());
        prop_assert!(host_place(&[7; 32], Uuid::nil(), &text).is_err());
        prop_assert!(found_place(&[7; 32], (None, "q"), &text).is_err());
        prop_assert!(item_key(&[7; 32], HOSTS, &text).is_err());
    }
}

#[test]
fn a_crawls_cursor_round_trips_and_has_a_maximum_length() {
    let cursor = crawls_cursor(&[7; 32], 41);
    assert_eq!(crawls_before(&[7; 32], ("after", &cursor)).unwrap(), 41);
    let long = "A".repeat(MAX_CURSOR_CHARACTERS + 4);
    let refused = crawls_before(&[7; 32], ("after", &long)).unwrap_err();
    assert_eq!(refused.code, ProblemCode::InvalidCursor);
}

#[test]
fn a_search_cursor_is_valid_only_for_its_crawl_and_query() {
    let key = [7; 32];
    let one = Uuid::from_u128(1);
    let other = Uuid::from_u128(2);
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
