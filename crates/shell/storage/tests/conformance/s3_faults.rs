//! Faults that only affect S3: wrong or missing keys, missing buckets, unreachable or silent
//! endpoints, and abandoned uploads.

use std::time::Duration;

use bytes::Bytes;
use everytab_patience::until;
use everytab_storage::{
    AccessKey, Condition, PutIf, PutOptions, StorageError, StorageErrorKind, Store, StoreSettings,
    open,
};

use super::{bucket, cases::pattern, child, s3_settings};

async fn every_error(store: &dyn Store) -> Vec<StorageError> {
    let options = PutOptions::default();
    let file = tempfile::NamedTempFile::new().expect("the temporary directory can be written");
    let condition = || Condition::Absent;
    let results = [
        store.get("k").await.map(|_| ()),
        store.get_tagged("k").await.map(|_| ()),
        store.get_range("k", 0..1).await.map(|_| ()),
        store.put("k", Bytes::from_static(b"x"), options).await,
        store.put("k", pattern(17 << 20), options).await,
        store.put_file("k", file.path(), options).await,
        store.put_if("k", Bytes::new(), condition(), options).await.map(|_| ()),
        store.list_all("").await.map(|_| ()),
        store.delete(&["k".to_owned()]).await,
    ];
    results.into_iter().map(|result| result.expect_err("it cannot work")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_secret_is_denied_with_a_message() {
    let place = bucket().await;
    let server = place.server.as_ref().expect("a bucket has a server");
    let access_key = AccessKey { id: "AK".to_owned(), secret: "wrong".to_owned() };
    let settings = StoreSettings { access_key: Some(access_key), ..s3_settings(&server.endpoint) };
    let store = open(place.store.url(), &settings).await.expect("opening touches no network");
    for error in every_error(&*store).await {
        assert_eq!(error.kind(), StorageErrorKind::Denied, "{error}");
        assert!(!error.is_retryable());
        assert!(error.to_string().contains("s3://site/some/prefix"), "{error}");
        assert!(error.to_string().contains("secret key is wrong"), "{error}");
    }
    let error = store.head("k").await.expect_err("not even whether it exists");
    assert_eq!(error.kind(), StorageErrorKind::Denied, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_request_to_a_private_bucket_is_denied() {
    let place = bucket().await;
    let server = place.server.as_ref().expect("a bucket has a server");
    let settings =
        StoreSettings { access_key: None, no_credentials: true, ..s3_settings(&server.endpoint) };
    let store = open(place.store.url(), &settings).await.expect("opening touches no network");
    let error = store.get("k").await.expect_err("it is private");
    assert_eq!(error.kind(), StorageErrorKind::Denied, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_bucket_is_not_a_missing_object() {
    let place = bucket().await;
    let server = place.server.as_ref().expect("a bucket has a server");
    let store = open("s3://nowhere/x", &s3_settings(&server.endpoint)).await.expect("open");
    let checked = store.check("k").await.expect_err("there is no bucket");
    place.store.check("k").await.expect("there is a bucket, and no object");
    for error in every_error(&*store).await.into_iter().chain([checked]) {
        assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("s3://nowhere/x"), "{error}");
        assert!(error.to_string().contains("bucket does not exist, create it"), "{error}");
    }
    assert!(!place.folder.with_file_name("nowhere").exists(), "nothing made the bucket");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_endpoint_is_named_and_retryable() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let address = taken.local_addr().expect("a bound socket has an address");
    drop(taken);
    let settings = StoreSettings { max_attempts: 2, ..s3_settings(&format!("http://{address}")) };
    let store = open("s3://site/x", &settings).await.expect("opening touches no network");
    for error in every_error(&*store).await {
        assert_eq!(error.kind(), StorageErrorKind::Unreachable, "{error}");
        assert!(error.is_retryable());
        assert!(error.to_string().contains("check the endpoint"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_endpoint_ends_by_the_time_limit() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address");
    let settings = StoreSettings {
        max_attempts: 2,
        idle_timeout: Duration::from_millis(200),
        ..s3_settings(&format!("http://{address}"))
    };
    let store = open("s3://site/x", &settings).await.expect("opening touches no network");
    let error = store.get("k").await.expect_err("nobody answers");
    assert_eq!(error.kind(), StorageErrorKind::Unreachable, "{error}");
}

fn unfinished(folder: &std::path::Path) -> Vec<String> {
    let parent = folder.parent().expect("a bucket lies in the server's folder");
    let entries = std::fs::read_dir(parent).expect("the server's folder");
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(".upload")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_is_aborted_if_its_caller_is_dropped() {
    let place = bucket().await;
    let folder = place.folder.clone();
    let upload = {
        let store = std::sync::Arc::clone(&place.store);
        tokio::spawn(async move { store.put("k", pattern(160 << 20), PutOptions::default()).await })
    };
    until("a part", async || unfinished(&folder).iter().any(|n| n.contains(".part-"))).await;
    upload.abort();
    let _ = upload.await;
    until("its removal", async || unfinished(&folder).is_empty()).await;
    assert_eq!(place.store.head("k").await.expect("head"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_killed_in_an_upload_leaves_no_object() {
    let place = bucket().await;
    let server = place.server.as_ref().expect("a bucket has a server");
    let file = tempfile::NamedTempFile::new().expect("the temporary directory can be written");
    file.as_file().set_len(320 << 20).expect("a sparse file");
    let mut writer = child::writer(place.store.url(), file.path(), Some(&server.endpoint))
        .spawn()
        .expect("spawn");
    let folder = place.folder.clone();
    until("a part", async || unfinished(&folder).iter().any(|n| n.contains(".part-"))).await;
    writer.kill().expect("it runs");
    writer.wait().expect("it ended");
    assert_eq!(place.store.head("k").await.expect("head"), None);
    assert!(place.store.list_all("").await.expect("list").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_in_one_bucket_only_see_their_prefixes() {
    let place = bucket().await;
    let server = place.server.as_ref().expect("a bucket has a server");
    let settings = s3_settings(&server.endpoint);
    let whole = open("s3://site", &settings).await.expect("open");
    let other = open("s3://site/some/prefix2/", &settings).await.expect("open");
    let options = PutOptions::default();
    place.store.put("k", Bytes::from_static(b"1"), options).await.expect("put");
    other.put("k", Bytes::from_static(b"2"), options).await.expect("put");
    assert_eq!(whole.get("some/prefix/k").await.expect("get"), "1");
    assert_eq!(place.store.list_all("").await.expect("list").len(), 1);
    assert_eq!(other.list_all("").await.expect("list").len(), 1);
    assert_eq!(whole.list_all("").await.expect("list").len(), 2);
    let put = other.put_if("k", Bytes::new(), Condition::Absent, options).await;
    assert_eq!(put.expect("an answer"), PutIf::PreconditionFailed);
}
