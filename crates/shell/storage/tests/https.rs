//! The read-only store, tested with a scripted web server.

mod scripted;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use everytab_storage::{Condition, PutOptions, StorageErrorKind, Store, StoreSettings, open};
use futures_util::StreamExt;
use scripted::{Reply, Scripted};

fn body() -> Vec<u8> {
    (0..100_000_u32).map(|at| (at >> 3) as u8 ^ at as u8).collect()
}

async fn store(server: &Scripted) -> Arc<dyn Store> {
    let settings = StoreSettings { max_attempts: 4, ..StoreSettings::default() };
    open(&format!("{}/crawl-data", server.url()), &settings).await.expect("open")
}

#[tokio::test]
async fn objects_and_ranges_are_read_like_from_any_store() {
    let server = Scripted::start(|_, request| Reply::ranged(request, &body())).await;
    let store = store(&server).await;
    let body = body();
    assert_eq!(store.get("a/b c.gz").await.expect("get"), body);
    assert_eq!(server.seen()[0].path, "/crawl-data/a/b%20c.gz");
    for (start, end) in [(0, 1), (500, 70_000), (99_999, 100_000)] {
        let part = store.get_range("k", start..end).await.expect("range");
        assert_eq!(part, &body[start as usize..end as usize]);
    }
    assert_eq!(store.get_range("k", 99_990..200_000).await.expect("cut"), &body[99_990..]);
    assert_eq!(store.get_range("k", 5..5).await.expect("nothing"), Bytes::new());
    let error = store.get_range("k", 100_000..100_001).await.expect_err("past the end");
    assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
    let info = store.head("k").await.expect("head").expect("it is there");
    assert_eq!((info.size, info.etag.as_deref()), (100_000, Some("\"v1\"")));
    let tagged = store.get_tagged("k").await.expect("get").expect("it is there");
    assert_eq!((tagged.bytes.len(), tagged.etag.as_str()), (100_000, "\"v1\""));
}

#[tokio::test]
async fn a_missing_object_is_not_found_and_requested_once() {
    let server = Scripted::start(|_, _| Reply::new(404, "no")).await;
    let store = store(&server).await;
    assert!(store.get("k").await.expect_err("missing").is_not_found());
    assert_eq!(server.seen().len(), 1);
    assert_eq!(store.head("k").await.expect("head"), None);
    assert_eq!(store.get_tagged("k").await.expect("get_tagged"), None);
}

#[tokio::test]
async fn overload_is_retried_and_denied_access_is_not() {
    for status in [503, 500, 429, 520] {
        let server = Scripted::start(move |before, request| {
            if before < 2 { Reply::new(status, "busy") } else { Reply::ranged(request, &body()) }
        })
        .await;
        assert_eq!(store(&server).await.get("k").await.expect("the third try"), body());
        assert_eq!(server.seen().len(), 3, "{status}");
    }
    let server = Scripted::start(|_, _| Reply::new(503, "").header("Retry-After", "0")).await;
    let error = store(&server).await.get("k").await.expect_err("always busy");
    assert!(error.is_retryable() && error.to_string().contains("503"), "{error}");
    assert_eq!(server.seen().len(), 4);
    let server = Scripted::start(|_, _| Reply::new(403, "")).await;
    let error = store(&server).await.get("k").await.expect_err("refused");
    assert_eq!(error.kind(), StorageErrorKind::Denied);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn retry_after_is_waited_for() {
    let server = Scripted::start(|before, request| match before {
        0 => Reply::new(503, "").header("Retry-After", "1"),
        _ => Reply::ranged(request, &body()),
    })
    .await;
    let began = std::time::Instant::now();
    store(&server).await.get("k").await.expect("the second try");
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_truncated_response_is_read_again() {
    let server = Scripted::start(|before, request| {
        let mut reply = Reply::ranged(request, &body());
        reply.cut_after = (before < 2).then_some(before * 400);
        reply
    })
    .await;
    let store = store(&server).await;
    assert_eq!(store.get("whole").await.expect("the third try is whole"), body());
    assert_eq!(store.get_range("part", 10..90_000).await.expect("whole"), &body()[10..90_000]);
    assert_eq!(server.seen().len(), 6);
}

#[tokio::test]
async fn a_server_that_ignores_ranges_works_for_small_offsets_only() {
    let server = Scripted::start(|_, _| Reply::new(200, body())).await;
    let store = store(&server).await;
    let part = store.get_range("k", 30_000..60_000).await.expect("cut out of the whole");
    assert_eq!(part, &body()[30_000..60_000]);
    assert_eq!(store.get_range("k", 99_999..200_000).await.expect("cut"), &body()[99_999..]);
    let error = store.get_range("k", 200_000..200_001).await.expect_err("past the end");
    assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
    let error = store.get_range("k", 900 << 20..(900 << 20) + 1).await.expect_err("too much");
    assert!(error.to_string().contains("ignores the Range header"), "{error}");
}

#[tokio::test]
async fn a_wrong_range_is_never_accepted() {
    let server = Scripted::start(|_, request| {
        let reply = Reply::new(206, vec![0; 10]);
        match request.path.as_str() {
            "/crawl-data/elsewhere" => reply.header("Content-Range", "bytes 20-29/100"),
            "/crawl-data/short" => reply.header("Content-Range", "bytes 0-19/100"),
            "/crawl-data/nonsense" => reply.header("Content-Range", "bytes x"),
            _ => reply,
        }
    })
    .await;
    let settings = StoreSettings { max_attempts: 1, ..StoreSettings::default() };
    let store = open(&format!("{}/crawl-data", server.url()), &settings).await.expect("open");
    for key in ["elsewhere", "short", "nonsense", "none"] {
        store.get_range(key, 0..20).await.expect_err(key);
    }
}

#[tokio::test]
async fn redirects_are_followed_and_loops_end() {
    let server = Scripted::start(|_, request| match request.path.as_str() {
        "/crawl-data/moved" => Reply::new(302, "").header("Location", "/there"),
        "/there" => Reply::new(200, "there"),
        _ => Reply::new(302, "").header("Location", request.path.clone()),
    })
    .await;
    let store = store(&server).await;
    assert_eq!(store.get("moved").await.expect("followed"), "there");
    let error = store.get("loop").await.expect_err("it loops");
    assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
}

#[tokio::test]
async fn at_most_fifty_requests_are_in_flight_to_all_stores_together() {
    let server = Scripted::holding(50, |_, request| Reply::ranged(request, &body())).await;
    let stores = [store(&server).await, store(&server).await];
    futures_util::stream::iter(0..300)
        .for_each_concurrent(300, |n| {
            let store = Arc::clone(&stores[n % 2]);
            async move {
                store.get_range(&format!("k{n}"), 0..10).await.expect("range");
            }
        })
        .await;
    assert_eq!(server.seen().len(), 300);
    assert_eq!(server.most_in_flight(), 50);
}

#[tokio::test]
async fn nothing_can_be_written() {
    let server = Scripted::start(|_, _| Reply::new(200, "")).await;
    let store = store(&server).await;
    let options = PutOptions::default();
    let refusals = [
        store.put("k", Bytes::new(), options).await,
        store.put_file("k", std::path::Path::new("/dev/null"), options).await,
        store.put_if("k", Bytes::new(), Condition::Absent, options).await.map(|_| ()),
        store.delete(&["k".to_owned()]).await,
        store.list_all("").await.map(|_| ()),
    ];
    for refusal in refusals {
        let error = refusal.expect_err("it is read-only");
        assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("only be read"), "{error}");
    }
    assert!(server.seen().is_empty(), "nobody was asked");
}

#[tokio::test]
async fn an_address_without_a_server_is_unreachable() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let address = taken.local_addr().expect("a bound socket has an address");
    drop(taken);
    let settings = StoreSettings { max_attempts: 2, ..StoreSettings::default() };
    let store = open(&format!("http://{address}/x"), &settings).await.expect("open");
    let error = store.get("k").await.expect_err("nobody listens");
    assert!(error.is_retryable(), "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

#[tokio::test]
async fn reads_are_bounded_by_the_settings_even_if_the_server_lies() {
    let server = Scripted::start(|_, _| Reply::new(200, body())).await;
    let settings = StoreSettings { max_get_bytes: 99_999, ..StoreSettings::default() };
    let store = open(&server.url(), &settings).await.expect("open");
    let error = store.get("k").await.expect_err("too large");
    assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
}
