//! Properties of a store that one caller can observe.

use bytes::Bytes;
use everytab_storage::{Condition, PutIf, PutOptions, StorageErrorKind};
use futures_util::StreamExt;

use super::Place;

const PLAIN: PutOptions =
    PutOptions { content_type: None, cache_control: None, content_encoding: None };

/// The bytes differ everywhere, so that a shifted range is detected.
pub(crate) fn pattern(length: usize) -> Bytes {
    (0..length).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

pub(crate) async fn objects_are_read_back_whole_and_by_ranges(place: Place) {
    let store = &place.store;
    let bytes = pattern(100_003);
    let options = PutOptions::new("application/json", "public, max-age=60");
    store.put("a/b.json", bytes.clone(), options).await.expect("put");
    assert_eq!(store.get("a/b.json").await.expect("get"), bytes);
    for (start, end) in [(0, 1), (0, 100_003), (40_000, 50_001), (100_002, 100_003), (7, 7)] {
        let part = store.get_range("a/b.json", start..end).await.expect("range");
        assert_eq!(part, bytes.slice(start as usize..end as usize), "{start}..{end}");
    }
    let tail = store.get_range("a/b.json", 100_000..200_000).await.expect("past the end");
    assert_eq!(tail, bytes.slice(100_000..));
    let reversed = std::ops::Range { start: 5, end: 4 };
    for range in [100_003..100_004, 900_000..900_001, reversed] {
        let error = store.get_range("a/b.json", range).await.expect_err("nothing is there");
        assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("a/b.json"), "{error}");
    }
    let info = store.head("a/b.json").await.expect("head").expect("it is there");
    assert_eq!((info.key.as_str(), info.size), ("a/b.json", 100_003));
}

pub(crate) async fn an_empty_object_is_an_object(place: Place) {
    let store = &place.store;
    store.put("empty", Bytes::new(), PLAIN).await.expect("put");
    assert_eq!(store.get("empty").await.expect("get"), Bytes::new());
    assert_eq!(store.head("empty").await.expect("head").map(|info| info.size), Some(0));
    assert_eq!(store.list_all("").await.expect("list").len(), 1);
    let error = store.get_range("empty", 0..1).await.expect_err("no byte is there");
    assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
}

pub(crate) async fn a_put_replaces_and_changes_the_version(place: Place) {
    let store = &place.store;
    store.put("k", pattern(10), PLAIN).await.expect("put");
    let first = store.get_tagged("k").await.expect("get").expect("it is there");
    store.put("k", pattern(2_000_000), PLAIN).await.expect("put");
    let second = store.get_tagged("k").await.expect("get").expect("it is there");
    assert_eq!((first.bytes, second.bytes), (pattern(10), pattern(2_000_000)));
    assert_ne!(first.etag, second.etag);
    let info = store.head("k").await.expect("head").expect("it is there");
    assert_eq!(info.etag, Some(second.etag), "head and get agree on the version");
}

pub(crate) async fn a_missing_object_is_not_found(place: Place) {
    let store = &place.store;
    for neighbours in [false, true] {
        if neighbours {
            store.put("x/y/z", pattern(3), PLAIN).await.expect("put");
        }
        for key in ["x", "x/y", "nothing", "x/y/z/below"] {
            assert_eq!(store.head(key).await.expect("head"), None, "{key}");
            assert_eq!(store.get_tagged(key).await.expect("get_tagged"), None, "{key}");
            let error = store.get(key).await.expect_err("it is missing");
            assert!(error.is_not_found() && !error.is_retryable(), "{error}");
            assert!(error.to_string().contains(&format!("{}/{key}", tail(&place))), "{error}");
            assert!(store.get_range(key, 0..1).await.expect_err("missing").is_not_found());
        }
        // Delete no other key, because the S3 test server fails to delete a key that is also a
        // directory.
        store.delete(&["nothing".to_owned()]).await.expect("deleting nothing is no error");
    }
    assert_eq!(store.list_all("").await.expect("list").len(), 1, "the neighbour is still there");
}

fn tail(place: &Place) -> String {
    place.store.url().trim_start_matches("file://").to_owned()
}

pub(crate) async fn put_if_absent_writes_only_once(place: Place) {
    let store = &place.store;
    let put = |bytes| store.put_if("d/k", bytes, Condition::Absent, PLAIN);
    let PutIf::Stored { etag } = put(pattern(5)).await.expect("put") else {
        panic!("nothing was there");
    };
    assert_eq!(put(pattern(6)).await.expect("an answer"), PutIf::PreconditionFailed);
    let now = store.get_tagged("d/k").await.expect("get").expect("it is there");
    assert_eq!((now.bytes, now.etag), (pattern(5), etag));
    store.delete(&["d/k".to_owned()]).await.expect("delete");
    assert!(matches!(put(pattern(7)).await.expect("put"), PutIf::Stored { .. }));
}

pub(crate) async fn put_if_etag_only_replaces_the_version_that_was_read(place: Place) {
    let store = &place.store;
    let put =
        |etag: &str, bytes| store.put_if("m.json", bytes, Condition::Etag(etag.to_owned()), PLAIN);
    let unknown = "\"0123456789abcdef0123456789abcdef\"";
    assert_eq!(put(unknown, pattern(1)).await.expect("an answer"), PutIf::PreconditionFailed);
    assert_eq!(store.head("m.json").await.expect("head"), None, "nothing was written");
    let mut etags = Vec::new();
    for length in [10, 20, 2_000_000, 2_000_000, 30] {
        store.put("m.json", pattern(length + 1), PLAIN).await.expect("put");
        let read = store.get_tagged("m.json").await.expect("get").expect("it is there");
        let stored = put(&read.etag, pattern(length)).await.expect("put");
        let PutIf::Stored { etag } = stored else { panic!("nobody wrote in between") };
        let again = put(&read.etag, pattern(3)).await.expect("an answer");
        assert_eq!(again, PutIf::PreconditionFailed);
        let now = store.get_tagged("m.json").await.expect("get").expect("it is there");
        assert_eq!((now.bytes, &now.etag), (pattern(length), &etag));
        etags.push(etag);
    }
    assert_eq!(put(&etags[0], pattern(4)).await.expect("an answer"), PutIf::PreconditionFailed);
}

pub(crate) async fn a_listing_is_in_byte_order_and_within_its_prefix(place: Place) {
    let store = &place.store;
    assert!(store.list_all("").await.expect("an empty listing").is_empty());
    // `-` and `.` sort before the slash, `0` after it, and upper case before lower case.
    let mut keys = ["a/b", "a-b", "a.b", "a0", "a/b-c/d", "a/b/c", "a/B", "B", "aa/x", "ü/1", "~"]
        .map(str::to_owned)
        .to_vec();
    // In a directory, a name cannot be both an object and a directory.
    keys.retain(|key| key != "a/b");
    for (at, key) in keys.iter().enumerate() {
        store.put(key, pattern(at), PLAIN).await.expect("put");
    }
    let sizes: std::collections::HashMap<_, _> = keys.iter().cloned().zip(0_u64..).collect();
    keys.sort();
    for prefix in ["", "a", "a/", "a/b", "a/b/", "a/b-", "B", "ü", "ü/", "none", "a/b/c/", "~"] {
        let listed = store.list_all(prefix).await.expect("list");
        let expected: Vec<_> = keys.iter().filter(|key| key.starts_with(prefix)).collect();
        assert_eq!(listed.iter().map(|info| &info.key).collect::<Vec<_>>(), expected, "{prefix}");
        assert!(listed.iter().all(|info| sizes[&info.key] == info.size), "{listed:?}");
    }
}

pub(crate) async fn a_listing_of_thousands_is_complete(place: Place) {
    let mut keys = put_many(&place, 2_345).await;
    keys.sort();
    let listed = place.store.list_all("many/").await.expect("list");
    assert_eq!(listed.into_iter().map(|info| info.key).collect::<Vec<_>>(), keys);
    let some: Vec<_> = place.store.list("many/").take(1_500).collect().await;
    assert_eq!(some.len(), 1_500);
    assert!(some.iter().all(Result::is_ok));
}

pub(crate) async fn deleting_thousands_leaves_the_others(place: Place) {
    let keys = put_many(&place, 1_203).await;
    place.store.delete(&keys[..1_201]).await.expect("delete");
    let mut left: Vec<_> = keys[1_201..].to_vec();
    left.sort();
    let listed = place.store.list_all("").await.expect("list");
    assert_eq!(listed.into_iter().map(|info| info.key).collect::<Vec<_>>(), left);
    place.store.delete(&keys).await.expect("some are gone already");
    assert!(place.store.list_all("").await.expect("list").is_empty());
    place.store.delete(&[]).await.expect("nothing to delete");
}

async fn put_many(place: &Place, count: usize) -> Vec<String> {
    let keys: Vec<_> = (0..count).map(|n| format!("many/{}/{n}.json", n % 7)).collect();
    futures_util::stream::iter(keys.clone())
        .for_each_concurrent(32, |key| async move {
            place.store.put(&key, Bytes::from_static(b"x"), PLAIN).await.expect("put");
        })
        .await;
    keys
}

pub(crate) async fn every_call_rejects_names_that_lead_outside(place: Place) {
    let store = &place.store;
    for key in ["", "/etc/passwd", "../up", "a/../../up", "a//b", "a/", ".", "a\0b"] {
        let file = std::env::current_exe().expect("this program is a file");
        let refusals = [
            store.head(key).await.map(|_| ()),
            store.get(key).await.map(|_| ()),
            store.get_tagged(key).await.map(|_| ()),
            store.get_range(key, 0..0).await.map(|_| ()),
            store.put(key, Bytes::new(), PLAIN).await,
            store.put_file(key, &file, PLAIN).await,
            store.put_if(key, Bytes::new(), Condition::Absent, PLAIN).await.map(|_| ()),
            store.delete(&[key.to_owned()]).await,
        ];
        for refusal in refusals {
            let error = refusal.expect_err("the name is not allowed");
            assert_eq!(error.kind(), StorageErrorKind::Invalid, "{key:?}: {error}");
        }
    }
    let error = store.list_all("../").await.expect_err("the prefix is not allowed");
    assert_eq!(error.kind(), StorageErrorKind::Invalid);
    assert!(store.list_all("").await.expect("list").is_empty());
}

pub(crate) async fn names_with_odd_characters_work(place: Place) {
    let store = &place.store;
    for key in ["a b/c+d", "100%/%2e%2e", "q?a=b&c#d", "ü/日本", "a:b@c,d;e=f", "..a/b..", "'\"<>"]
    {
        store.put(key, Bytes::from(key.to_owned()), PLAIN).await.expect(key);
        assert_eq!(store.get(key).await.expect(key), key.as_bytes());
        assert_eq!(store.list_all(key).await.expect(key).len(), 1, "{key}");
        store.delete(&[key.to_owned()]).await.expect(key);
        assert_eq!(store.head(key).await.expect(key), None);
    }
}

pub(crate) async fn reads_are_bounded_by_the_settings(place: Place) {
    place.store.put("large", pattern(5_000), PLAIN).await.expect("put");
    let (url, settings) = match &place.server {
        Some(server) => (place.store.url(), super::s3_settings(&server.endpoint)),
        None => (place.store.url(), everytab_storage::StoreSettings::default()),
    };
    let settings = everytab_storage::StoreSettings { max_get_bytes: 4_999, ..settings };
    let store = everytab_storage::open(url, &settings).await.expect("open");
    for refusal in [
        store.get("large").await.map(|_| ()),
        store.get_tagged("large").await.map(|_| ()),
        store.get_range("large", 0..5_000).await.map(|_| ()),
    ] {
        let error = refusal.expect_err("it is larger than allowed");
        assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
    }
    assert_eq!(store.get_range("large", 1..5_000).await.expect("range"), pattern(5_000).slice(1..));
}
