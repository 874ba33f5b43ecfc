//! Damaged index files return a clear error and never panic.

use bytes::Bytes;
use everytab_commoncrawl::index::{IndexError, IndexOptions, read_bytes};
use proptest::prelude::*;

use crate::support::{Layout, PLAIN, home_page, parquet};

fn file() -> Bytes {
    let rows: Vec<_> = (0..20).map(|n| home_page(&format!("host{n:02}.example"))).collect();
    parquet(&rows, Layout { rows_a_group: 10, ..PLAIN })
}

fn outcome(file: &Bytes) -> Result<usize, IndexError> {
    read_bytes(file, IndexOptions::default()).collect::<Result<Vec<_>, _>>().map(|all| all.len())
}

#[test]
fn a_file_truncated_anywhere_is_reported_as_truncated() {
    let whole = file();
    assert_eq!(outcome(&whole), Ok(20));
    for length in (0..whole.len()).step_by(7).chain(whole.len() - 12..whole.len()) {
        let error = outcome(&whole.slice(..length)).unwrap_err();
        match (length, &error) {
            (0..4, IndexError::NotParquet(_)) | (4.., IndexError::Truncated(_)) => {}
            _ => panic!("{length} of {}: {error}", whole.len()),
        }
    }
}

#[test]
fn a_large_truncated_file_differs_from_one_that_is_not_parquet() {
    let mut large = b"PAR1".to_vec();
    large.resize(1 << 20, b'x');
    let truncated = outcome(&Bytes::from(large.clone())).unwrap_err();
    assert_eq!(
        truncated.to_string(),
        "truncated parquet file: it begins with PAR1 but does not end with it"
    );
    large[0] = b'X';
    assert!(matches!(outcome(&Bytes::from(large)), Err(IndexError::NotParquet(_))));
    assert_eq!(
        outcome(&Bytes::from_static(b"<html>no such key</html>")),
        Err(IndexError::NotParquet("it does not begin and end with PAR1"))
    );
    assert_eq!(outcome(&Bytes::from_static(b"PAR1....PARE")), Err(IndexError::Encrypted));
}

#[test]
fn a_footer_that_claims_more_than_the_file_has_is_truncated() {
    let mut bytes = file().to_vec();
    let at = bytes.len() - 8;
    bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(outcome(&Bytes::from(bytes)), Err(IndexError::Truncated(_))));
}

#[test]
fn a_wrong_byte_anywhere_never_panics() {
    let whole = file();
    for at in 0..whole.len() {
        for wrong in [0xff, whole[at] ^ (1 << (at % 8))] {
            let mut bytes = whole.to_vec();
            bytes[at] = wrong;
            if let Err(error) = outcome(&Bytes::from(bytes)) {
                let message = error.to_string();
                assert!(!message.is_empty() && !message.contains('\n'), "{message}");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_give_a_result(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let framed = [b"PAR1".as_slice(), &bytes, b"PAR1"].concat();
        let _ = outcome(&Bytes::from(bytes));
        prop_assert!(outcome(&Bytes::from(framed)).is_err());
    }

    #[test]
    fn arbitrary_metadata_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let length = (bytes.len() as u32).to_le_bytes();
        let framed = [b"PAR1".as_slice(), &bytes, &length, b"PAR1"].concat();
        let _ = outcome(&Bytes::from(framed));
    }
}
