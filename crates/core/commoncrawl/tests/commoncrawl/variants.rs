//! Reads the same rows in every variant that pyarrow and DuckDB can write, if `python3` (or
//! `EVERYTAB_PYTHON`) has both packages.

use std::{path::Path, process::Command};

use bytes::Bytes;
use everytab_commoncrawl::index::{IndexCounts, IndexOptions, LeftOutRow};

use super::support::read;

const WRITER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commoncrawl/variants/write.py");

fn file(folder: &Path, name: &str) -> Bytes {
    std::fs::read(folder.join(format!("{name}.parquet"))).unwrap().into()
}

fn of_rows(counts: IndexCounts) -> IndexCounts {
    IndexCounts {
        row_groups: 0,
        row_groups_read: 0,
        row_bytes: 0,
        bytes_read: 0,
        ranges_read: 0,
        ..counts
    }
}

#[test]
fn every_variant_of_two_other_writers_gives_the_same_captures() {
    let python = std::env::var("EVERYTAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&python).args(["-c", "import pyarrow, duckdb"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("skipped: {python} has no pyarrow and duckdb");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let written = Command::new(&python).arg(WRITER).arg(folder.path()).output().unwrap();
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let names = String::from_utf8(written.stdout).unwrap();
    assert_eq!(names.lines().count(), 28);
    let options = IndexOptions { is_public_address: |_| false, ..IndexOptions::default() };
    let small = IndexOptions { window_bytes: 1, ..options.clone() };
    let (expected, expected_counts) =
        read(&file(folder.path(), "gzip_v1"), options.clone()).unwrap();
    // Of 30,000 rows, every eighth is a home page, and every fifth home page has a query.
    assert_eq!(expected.len(), 3_000 + 6);
    for name in names.lines() {
        let file = file(folder.path(), name);
        for options in [&options, &small] {
            let (captures, counts) =
                read(&file, options.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(of_rows(counts), of_rows(expected_counts), "{name}");
            assert!(captures == expected, "{name}: other captures");
        }
        println!("{name:<20} {} rows, {} captures, equal", expected_counts.rows, expected.len());
    }
    let (captures, counts) = read(&file(folder.path(), "empty"), options).unwrap();
    assert_eq!((captures.len(), counts.rows), (0, 0));
    check_odd_rows(&expected_counts);
    let odd: Vec<&str> = expected[3_000..].iter().map(|c| c.hostname.as_str()).collect();
    let names = ["upper.example", "a.example", "c.example", "f.example", "g_h.example"];
    assert_eq!(odd[..5], names);
    assert_eq!(odd[5..], ["xn--spa-7ka.example"]);
}

fn check_odd_rows(counts: &IndexCounts) {
    let left_out: Vec<_> = counts.left_out().collect();
    assert_eq!(
        left_out,
        [
            (LeftOutRow::Xhtml, 1),
            (LeftOutRow::UnknownMediaType, 2),
            (LeftOutRow::OtherMediaType, 0),
            (LeftOutRow::EmptyQuery, 1),
            (LeftOutRow::EmptyPath, 1),
        ]
    );
    let refused = counts.hostnames_refused().filter(|(_, count)| *count > 0);
    let refused: Vec<_> = refused.map(|(reason, count)| (reason.as_str(), count)).collect();
    assert_eq!(
        refused,
        [
            ("empty", 1),
            ("forbidden_character", 1),
            ("label", 1),
            ("wildcard", 1),
            ("not_public", 2)
        ]
    );
    assert_eq!(counts.malformed, 6);
}
