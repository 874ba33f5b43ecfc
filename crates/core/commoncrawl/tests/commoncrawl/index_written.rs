//! Our reader, pyarrow and DuckDB can read written index files, if `python3` (or `EVERYTAB_PYTHON`)
//! has both packages.

use std::{fs::File, process::Command};

use bytes::Bytes;
use everytab_commoncrawl::{
    index::{
        Protocol,
        write::{CaptureRow, IndexWriteError, IndexWriter},
    },
    surt,
};
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Row,
};
use proptest::prelude::*;

use crate::{
    captures::{OwnCapture, capture, captures, sorted, value},
    support::{corpus, files_below, read_all},
};

fn index_of<'a>(rows: impl IntoIterator<Item = CaptureRow<'a>>) -> Bytes {
    let mut writer = IndexWriter::new(Vec::new()).unwrap();
    for row in rows {
        writer.write(&row).unwrap();
    }
    Bytes::from(writer.finish().unwrap())
}

fn rows_of(file: &Bytes) -> Vec<Row> {
    let reader = SerializedFileReader::new(file.clone()).unwrap();
    reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

#[test]
fn the_columns_equal_those_in_recorded_files() {
    let Some(corpus) = corpus() else { return };
    let of_file = |file: Bytes| {
        let reader = SerializedFileReader::new(file).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let column = |column: &parquet::schema::types::ColumnDescPtr| {
            let types = (column.physical_type(), column.logical_type_ref().cloned());
            (column.name().to_owned(), types, column.max_def_level(), column.max_rep_level())
        };
        schema.columns().iter().map(column).collect::<Vec<_>>()
    };
    let ours = of_file(index_of([]));
    assert_eq!(ours.len(), 31);
    let mut compared = 0;
    for path in files_below(&corpus.join("index/cc-index/table/cc-main/warc")) {
        if path.display().to_string().contains("crawl=CC-MAIN-2099-11/") {
            assert_eq!(of_file(std::fs::read(&path).unwrap().into()), ours, "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared >= 3);
}

#[test]
fn rows_from_recorded_files_are_rewritten_unchanged() {
    let Some(corpus) = corpus() else { return };
    let mut compared = 0;
    for path in files_below(&corpus.join("index")) {
        let name = path.display().to_string();
        // Older files have other column types.
        if !name.ends_with(".parquet") || !name.contains("crawl=CC-MAIN-2099-11/") {
            continue;
        }
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let recorded: Vec<Row> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let own: Vec<OwnCapture> =
            recorded.iter().map(|row| crate::captures::recorded(|name| value(row, name))).collect();
        let written = rows_of(&index_of(sorted(&own)));
        assert_eq!(written.len(), recorded.len());
        let texts = |rows: &[Row]| {
            let text = |row: &Row| {
                let names = row.get_column_iter().map(|(name, _)| name.clone());
                names.map(|name| (name.clone(), value(row, &name))).collect::<Vec<_>>()
            };
            let mut texts: Vec<_> = rows.iter().map(text).collect();
            texts.sort();
            texts
        };
        for (written, recorded) in texts(&written).iter().zip(&texts(&recorded)) {
            assert_eq!(written, recorded, "{name}");
        }
        compared += written.len();
    }
    println!("{compared} rows of 31 values agree");
    assert!(compared > 1_000);
}

#[test]
fn the_scan_reader_finds_the_home_pages() {
    let mut own: Vec<OwnCapture> =
        (0..3_000).map(|n| capture(&format!("https://h{n}.example/"))).collect();
    own.push(capture("http://h7.example/"));
    own.push(capture("https://www.h7.example/"));
    own.push(capture("https://h7.example/page"));
    own.push(capture("https://h7.example/?q"));
    own.push(capture("https://h7.example:8443/"));
    own.push(OwnCapture { status: 404, ..capture("https://gone.example/") });
    let (found, counts) = read_all(&index_of(sorted(&own)));
    assert_eq!((found.len(), counts.rows, counts.malformed), (3_001, 3_006, 0));
    let h7 = found.iter().find(|capture| capture.hostname == "h7.example").unwrap();
    assert_eq!(h7.protocol, Protocol::Https);
    assert_eq!((h7.warc_record_offset, h7.warc_record_length), (1_000, 500));
    assert_eq!(h7.warc_filename, own[0].warc_filename);
    assert_eq!(h7.fetch_time_micros, own[0].fetch_time_micros);
    assert_eq!(read_all(&index_of([])).0, []);
}

#[test]
fn large_indexes_have_row_groups_of_bounded_size() {
    let redirect = format!("https://b.example/{}", "x".repeat(200_000));
    let own: Vec<OwnCapture> = (100..500)
        .map(|n| OwnCapture {
            redirect: Some(redirect.clone()),
            ..capture(&format!("https://h{n}.example/"))
        })
        .collect();
    let file = index_of(sorted(&own));
    let reader = SerializedFileReader::new(file.clone()).unwrap();
    let rows: Vec<i64> =
        reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(rows, [168, 168, 64], "32 MiB are 168 rows of 200 KB");
    assert_eq!(read_all(&file).0.len(), 400);
}

#[test]
fn an_out_of_order_row_is_rejected_and_writes_nothing() {
    let (first, second) = (capture("https://a.example/"), capture("https://b.example/"));
    let mut writer = IndexWriter::new(Vec::new()).unwrap();
    writer.write(&second.row()).unwrap();
    let late = writer.write(&first.row()).unwrap_err();
    assert!(matches!(&late, IndexWriteError::Unsorted { url } if url == "https://a.example/"));
    let bad = OwnCapture { warc_filename: "/etc/passwd".into(), ..second.clone() };
    let error = writer.write(&bad.row()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the capture of \"https://b.example/\" cannot be in an index: \
         the path of its archive is not relative"
    );
    assert_eq!(writer.rows(), 1);
    writer.write(&second.row()).unwrap();
    assert_eq!(rows_of(&writer.finish().unwrap().into()).len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn arbitrary_rows_round_trip_in_order(own in prop::collection::vec(captures(), 0..40)) {
        let ordered = sorted(&own);
        let file = index_of(ordered.clone());
        prop_assert_eq!(&index_of(ordered.clone()), &file, "the bytes depend on the rows alone");
        let read = rows_of(&file);
        prop_assert_eq!(read.len(), ordered.len());
        for (read, row) in read.iter().zip(&ordered) {
            let numbers = [
                ("fetch_time", row.fetch_time_micros.to_string()),
                ("fetch_status", row.status.to_string()),
                ("warc_record_offset", row.position.offset.to_string()),
            ];
            let texts = [
                ("url", Some(row.url)),
                ("fetch_redirect", row.redirect),
                ("content_digest", row.digest),
                ("content_mime_type", row.mime_type),
                ("content_languages", row.languages),
                ("content_truncated", row.truncated),
                ("url_host_registered_domain", row.domains.registered_domain),
                ("warc_filename", Some(row.warc_filename)),
                ("warc_segment", Some(row.segment)),
            ];
            for (name, expected) in numbers {
                prop_assert_eq!(value(read, name), Some(expected), "{}", name);
            }
            for (name, expected) in texts {
                prop_assert_eq!(value(read, name), expected.map(str::to_owned), "{}", name);
            }
            prop_assert_eq!(value(read, "url_surtkey"), surt(row.url).ok());
        }
        let (_, counts) = read_all(&file);
        prop_assert_eq!(counts.rows, ordered.len() as u64);
    }
}

const PROGRAM: &str = r#"
import sys
import duckdb, pyarrow.parquet
table = pyarrow.parquet.read_table(sys.argv[1])
table.validate(full=True)
print(table.num_rows, table.num_columns)
relation = duckdb.sql(
    f"select url_surtkey, url_port, fetch_time::varchar, fetch_status, octet_length(warc_record_id)"
    f" from '{sys.argv[1]}' where url_host_tld = 'example' and url_path = '/'")
for row in relation.fetchall():
    print(*row)
"#;

#[test]
fn pyarrow_and_duckdb_read_the_same_rows() {
    let python = std::env::var("EVERYTAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&python).args(["-c", "import duckdb, pyarrow"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("skipped: {python} has no pyarrow and duckdb");
        return;
    }
    let own = ["https://b.example:8443/", "https://a.example/", "http://192.0.2.1/"].map(capture);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part-00000.gz.parquet");
    std::fs::write(&path, index_of(sorted(&own))).unwrap();
    let output = Command::new(&python).args(["-c", PROGRAM]).arg(&path).env("TZ", "UTC").output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let expected = "3 31\n\
        example,a)/ None 2025-12-31 23:59:59+00 200 16\n\
        example,b:8443)/ 8443 2025-12-31 23:59:59+00 200 16\n";
    assert_eq!(said, expected);
}
