//! Tests the S3 store's retries with a scripted endpoint that fails.

mod adaptive_rate;
mod scripted;

use std::sync::Arc;

use everytab_storage::{
    AccessKey, Condition, PutIf, PutOptions, StorageErrorKind, Store, StoreSettings, open,
};
use scripted::{Reply, Request, Scripted};

async fn store(server: &Scripted) -> Arc<dyn Store> {
    let settings = StoreSettings {
        endpoint: Some(server.url()),
        region: Some("us-east-1".to_owned()),
        access_key: Some(AccessKey { id: "AK".to_owned(), secret: "SK".to_owned() }),
        max_attempts: 4,
        ..StoreSettings::default()
    };
    open("s3://bucket/p", &settings).await.expect("opening touches no network")
}

fn fault(status: u16, code: &str) -> Reply {
    let body = format!("<Error><Code>{code}</Code><Message>scripted</Message></Error>");
    Reply::new(status, body).header("Content-Type", "application/xml")
}

fn stored(_: &Request) -> Reply {
    Reply::new(200, "").header("ETag", "\"e\"")
}

#[tokio::test]
async fn overload_and_broken_answers_are_tried_again() {
    for (status, code) in
        [(503, "SlowDown"), (500, "InternalError"), (429, ""), (502, ""), (520, "")]
    {
        let server =
            Scripted::start(
                move |before, request| {
                    if before < 2 { fault(status, code) } else { stored(request) }
                },
            )
            .await;
        let store = store(&server).await;
        let put = store.put("k", "bytes".into(), PutOptions::default()).await;
        put.unwrap_or_else(|error| panic!("{status} {code}: {error}"));
        assert_eq!(server.seen().len(), 3, "{status} {code}");
        assert_eq!(server.seen()[2].body, b"bytes");
        assert_eq!(server.seen()[2].path.split('?').next(), Some("/bucket/p/k"), "path style");
    }
}

#[tokio::test]
async fn retries_in_an_outage_stay_within_the_sdks_budget() {
    let server = Scripted::start(|_, _| fault(500, "InternalError")).await;
    let store = store(&server).await;
    let puts = (0..200).map(|number| {
        let store = Arc::clone(&store);
        async move { store.put(&format!("k{number}"), "x".into(), PutOptions::default()).await }
    });
    for put in futures_util::future::join_all(puts).await {
        assert_eq!(put.expect_err("an outage").kind(), StorageErrorKind::Unreachable);
    }
    // 200 first attempts and 100 retries. Without a budget there would be 800.
    let sent = server.seen().len();
    assert!((200..=310).contains(&sent), "{sent}");
}

#[tokio::test]
async fn retries_are_limited_and_the_last_error_is_returned() {
    let server = Scripted::start(|_, _| fault(503, "SlowDown")).await;
    let store = store(&server).await;
    let error = store.put("k", "x".into(), PutOptions::default()).await.expect_err("always busy");
    assert_eq!(error.kind(), StorageErrorKind::Unreachable);
    assert!(error.is_retryable() && error.to_string().contains("SlowDown"), "{error}");
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn refusals_are_not_tried_again() {
    let refusals =
        [(403, "AccessDenied", StorageErrorKind::Denied), (507, "", StorageErrorKind::NoSpace)];
    for (status, code, kind) in refusals {
        let server = Scripted::start(move |_, _| fault(status, code)).await;
        let store = store(&server).await;
        let put = store.put("k", "x".into(), PutOptions::default()).await;
        assert_eq!(put.expect_err("refused").kind(), kind);
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn a_bucket_without_list_permission_exists_and_wrong_credentials_are_reported() {
    let checked = async |status: u16, code: &'static str| {
        let server = Scripted::start(move |_, _| fault(status, code)).await;
        store(&server).await.check("crawl-data/any").await.map_err(|error| error.kind())
    };
    assert_eq!(checked(404, "NoSuchKey").await, Ok(()));
    assert_eq!(checked(403, "AccessDenied").await, Ok(()));
    for code in ["SignatureDoesNotMatch", "InvalidAccessKeyId", "ExpiredToken"] {
        assert_eq!(checked(403, code).await, Err(StorageErrorKind::Denied), "{code}");
    }
    assert_eq!(checked(503, "SlowDown").await, Err(StorageErrorKind::Unreachable));
}

#[tokio::test]
async fn a_truncated_body_is_read_again() {
    let body: Vec<u8> = (0..200_000_u32).map(|at| at as u8).collect();
    let expected = body.clone();
    let server = Scripted::start(move |before, request| {
        let mut reply = Reply::ranged(request, &body);
        reply.cut_after = (before < 2).then_some(50_000);
        reply
    })
    .await;
    let store = store(&server).await;
    assert_eq!(store.get("whole").await.expect("the third try is whole"), expected);
    let part = store.get_range("part", 1_000..150_000).await.expect("the third try is whole");
    assert_eq!(part, &expected[1_000..150_000]);
    // Three requests for the whole object. For the range, one without the SDK and three with it,
    // which count from 0 because the SDK adds a query to the path.
    assert_eq!(server.seen().len(), 7);
}

#[tokio::test]
async fn a_server_that_ignores_ranges_is_named() {
    let server = Scripted::start(|_, _| Reply::new(200, vec![0; 1_000])).await;
    let error = store(&server).await.get_range("k", 10..20).await.expect_err("the wrong bytes");
    assert_eq!(error.kind(), StorageErrorKind::Invalid);
    assert!(error.to_string().contains("Range"), "{error}");
}

#[tokio::test]
async fn a_conditional_put_sends_its_condition_and_detects_each_conflict() {
    for (status, code) in
        [(412, "PreconditionFailed"), (409, "ConditionalRequestConflict"), (404, "NoSuchKey")]
    {
        let server = Scripted::start(move |_, _| fault(status, code)).await;
        let condition = Condition::Etag("\"abc\"".to_owned());
        let store = store(&server).await;
        let put = store.put_if("k", "x".into(), condition, PutOptions::default()).await;
        assert_eq!(put.expect("an answer"), PutIf::PreconditionFailed, "{code}");
        assert_eq!(server.seen()[0].headers["if-match"], "\"abc\"");
        assert_eq!(server.seen().len(), if status == 409 { 4 } else { 1 }, "{code}");
    }
    let server = Scripted::start(|before, request| {
        if before == 0 { fault(409, "ConditionalRequestConflict") } else { stored(request) }
    })
    .await;
    let store = store(&server).await;
    let put = store.put_if("k", "x".into(), Condition::Absent, PutOptions::default()).await;
    assert_eq!(put.expect("an answer"), PutIf::Stored { etag: "\"e\"".to_owned() });
    assert_eq!(server.seen()[1].headers["if-none-match"], "*");
}

#[tokio::test]
async fn headers_are_stored_and_requests_are_signed_unless_anonymous() {
    let server = Scripted::start(|_, request| stored(request)).await;
    let options =
        everytab_storage::PutOptions::new("text/html; charset=utf-8", "public, max-age=60");
    store(&server).await.put("index.html", "x".into(), options).await.expect("put");
    let seen = server.seen();
    assert_eq!(seen[0].headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(seen[0].headers["cache-control"], "public, max-age=60");
    assert!(seen[0].headers["authorization"].starts_with("AWS4-HMAC-SHA256 Credential=AK/"));
    assert!(!seen[0].headers.contains_key("x-amz-trailer"), "no checksum trailer: {:?}", seen[0]);

    let settings = StoreSettings {
        endpoint: Some(server.url()),
        no_credentials: true,
        ..StoreSettings::default()
    };
    let anonymous = open("s3://commoncrawl", &settings).await.expect("open");
    anonymous.head("crawl-data/x").await.expect("head");
    assert!(!server.seen()[1].headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_failed_upload_is_aborted_and_deletion_errors_are_returned() {
    let server = Scripted::start(|_, request| match request.method.as_str() {
        "POST" if request.path.contains("delete") => Reply::new(
            200,
            "<DeleteResult><Error><Key>p/k</Key><Code>AccessDenied</Code></Error></DeleteResult>",
        ),
        "POST" => Reply::new(
            200,
            "<InitiateMultipartUploadResult><UploadId>u1</UploadId>\
             </InitiateMultipartUploadResult>",
        ),
        "PUT" => fault(403, "AccessDenied"),
        _ => Reply::new(204, ""),
    })
    .await;
    let store = store(&server).await;
    let bytes = vec![1_u8; 17 << 20].into();
    let error = store.put("k", bytes, PutOptions::default()).await.expect_err("parts are refused");
    assert_eq!(error.kind(), StorageErrorKind::Denied, "{error}");
    let aborted =
        server.seen().into_iter().any(|seen| seen.method == "DELETE" && seen.path.contains("u1"));
    assert!(aborted, "the upload was aborted");
    let error = store.delete(&["k".to_owned()]).await.expect_err("refused");
    assert_eq!(error.kind(), StorageErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("s3://bucket/p/k"), "{error}");
}

#[tokio::test]
async fn a_range_is_one_signed_request() {
    let body: Vec<u8> = (0..10_000_u32).map(|at| at as u8).collect();
    let expected = body.clone();
    let server = Scripted::start(move |_, request| Reply::ranged(request, &body)).await;
    let store = store(&server).await;
    assert_eq!(store.get_range("a b+é", 10..20).await.expect("whole"), &expected[10..20]);
    let end = store.get_range("k", 9_990..10_100).await.expect("cut where the object ends");
    assert_eq!(end, &expected[9_990..]);
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].path, "/bucket/p/a%20b%2B%C3%A9");
    assert_eq!(seen[0].headers["range"], "bytes=10-19");
    assert!(seen[0].headers["authorization"].contains("/us-east-1/s3/aws4_request"));

    let settings = StoreSettings {
        endpoint: Some(server.url()),
        no_credentials: true,
        ..StoreSettings::default()
    };
    let anonymous = open("s3://commoncrawl", &settings).await.expect("open");
    anonymous.get_range("crawl-data/x", 0..5).await.expect("whole");
    let seen = server.seen();
    assert_eq!((seen.len(), seen[2].path.as_str()), (3, "/commoncrawl/crawl-data/x"));
    assert!(!seen[2].headers.contains_key("authorization"));
}

#[tokio::test]
async fn the_sdk_retries_a_failed_range() {
    let faults = [(503, "SlowDown"), (429, ""), (500, "InternalError"), (403, "ExpiredToken")];
    for (status, code) in faults {
        let server = Scripted::start(move |_, request| {
            if request.path.contains("x-id=") {
                Reply::ranged(request, &[7; 100])
            } else {
                fault(status, code)
            }
        })
        .await;
        let bytes = store(&server).await.get_range("k", 10..20).await;
        assert_eq!(bytes.expect("the second try goes well"), [7; 10].as_slice(), "{status}");
        assert_eq!(server.seen().len(), 2, "{status}");
    }
    let server = Scripted::start(|_, _| fault(503, "SlowDown")).await;
    let error = store(&server).await.get_range("k", 10..20).await.expect_err("always busy");
    assert_eq!(error.kind(), StorageErrorKind::Unreachable, "{error}");
    assert_eq!(server.seen().len(), 5, "one try of our own, and four of the SDK");
    let server = Scripted::start(|_, _| fault(404, "NoSuchKey")).await;
    let error = store(&server).await.get_range("k", 10..20).await.expect_err("missing");
    assert_eq!(error.kind(), StorageErrorKind::NotFound, "{error}");
}
