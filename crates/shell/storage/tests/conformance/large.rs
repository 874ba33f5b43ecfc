//! Objects that need more than one request.

use std::io::Write;

use bytes::Bytes;
use everytab_storage::{PutOptions, StorageErrorKind};

use super::{Place, cases::pattern};

const MIB: usize = 1 << 20;

async fn assert_same(place: &Place, key: &str, expected: &Bytes) {
    let info = place.store.head(key).await.expect("head").expect("it is there");
    assert_eq!(info.size, expected.len() as u64);
    for start in (0..expected.len()).step_by(7 * MIB + 13) {
        let end = (start + 7 * MIB + 13).min(expected.len());
        let part = place.store.get_range(key, start as u64..end as u64).await.expect("range");
        assert!(part == expected.slice(start..end), "bytes {start}..{end} differ");
    }
    assert!(place.store.get(key).await.expect("get") == expected);
}

pub(crate) async fn a_file_of_40_mib_arrives_unchanged(place: Place) {
    let bytes = pattern(40 * MIB + 1);
    let mut file = tempfile::NamedTempFile::new().expect("the temporary directory can be written");
    file.write_all(&bytes).expect("write");
    for key in ["archive/big.warc.gz", "archive/big.warc.gz", "archive/other"] {
        place.store.put_file(key, file.path(), PutOptions::default()).await.expect("put_file");
    }
    assert_same(&place, "archive/big.warc.gz", &bytes).await;
    assert_eq!(place.store.list_all("").await.expect("list").len(), 2);
}

pub(crate) async fn large_bytes_arrive_unchanged(place: Place) {
    for length in [16 * MIB - 1, 16 * MIB, 16 * MIB + 1, 32 * MIB] {
        let bytes = pattern(length);
        place.store.put("large", bytes.clone(), PutOptions::default()).await.expect("put");
        assert_same(&place, "large", &bytes).await;
    }
}

pub(crate) async fn a_missing_file_is_named(place: Place) {
    let missing = std::path::Path::new("/nonexistent/icons.warc.gz");
    let put = place.store.put_file("k", missing, PutOptions::default()).await;
    let error = put.expect_err("there is no such file");
    assert_eq!(error.kind(), StorageErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("/nonexistent/icons.warc.gz"), "{error}");
    assert_eq!(place.store.head("k").await.expect("head"), None);
}
