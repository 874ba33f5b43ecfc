//! CDXJ lines for live crawls equal recorded lines and `cdxj-indexer`'s output (PyPI), if `python3`
//! (or `EVERYTAB_PYTHON`) has it.

use std::{collections::BTreeMap, fs::File, io::Read, process::Command};

use everytab_commoncrawl::{
    cdxj::{CdxjError, CdxjFile, CdxjWriter, LINES_PER_BLOCK, cdxj_line, cluster_index},
    index::write::CaptureRow,
    warc::write::{
        ArchiveInfo, ArchiveWriter, ArchivedFetch, FetchFacts, KeptAnswer, Response, Revisit,
        Written, http_head,
    },
};
use flate2::read::{GzDecoder, MultiGzDecoder};
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;

use crate::{
    captures::{OwnCapture, capture, captures, sorted},
    support::{corpus, files_below},
};

const DATE: i64 = 1_767_225_599_000_000;

fn written(rows: &[CaptureRow<'_>]) -> (Vec<u8>, CdxjFile) {
    let mut writer = CdxjWriter::new(Vec::new());
    for row in rows {
        writer.write(row).unwrap();
    }
    writer.finish("cdx-00000.gz").unwrap()
}

fn text_of(mut reader: impl Read) -> String {
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn recorded_rows_give_the_recorded_lines() {
    let Some(corpus) = corpus() else { return };
    let mut own: Vec<OwnCapture> = Vec::new();
    for path in files_below(&corpus.join("index/cc-index/table/cc-main/warc")) {
        if !path.display().to_string().contains("crawl=CC-MAIN-2099-11/") {
            continue;
        }
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            own.push(crate::captures::recorded(|name| crate::captures::value(&row, name)));
        }
    }
    let (file, _) = written(&sorted(&own));
    let text = text_of(MultiGzDecoder::new(&file[..]));
    let mut lines: Vec<&str> = text.lines().collect();
    let recorded =
        text_of(MultiGzDecoder::new(File::open(corpus.join("index/cdx-00000.gz")).unwrap()));
    let mut recorded: Vec<&str> = recorded.lines().collect();
    lines.sort_unstable();
    recorded.sort_unstable();
    println!("{} lines, {} recorded", lines.len(), recorded.len());
    for (line, recorded) in lines.iter().zip(&recorded) {
        assert_eq!(line, recorded);
    }
    assert_eq!(lines.len(), recorded.len());
    assert!(lines.len() > 1_000);
}

#[test]
fn blocks_have_three_thousand_lines_and_the_cluster_index_finds_them() {
    let own: Vec<OwnCapture> =
        (0..7_000).map(|n| capture(&format!("https://h{}.example/", n / 2))).collect();
    let rows = sorted(&own);
    let (bytes, file) = written(&rows);
    let (again, _) = written(&rows);
    assert_eq!(bytes, again, "the bytes depend on the rows alone");
    let index = String::from_utf8(cluster_index(&[file]).unwrap()).unwrap();
    let mut offset = 0;
    let mut counts = Vec::new();
    for (nth, line) in index.lines().enumerate() {
        let fields: Vec<&str> = line.split('\t').collect();
        let numbers: Vec<usize> = fields[2..].iter().map(|field| field.parse().unwrap()).collect();
        assert_eq!((fields[1], numbers[0], numbers[2]), ("cdx-00000.gz", offset, nth + 1));
        let text = text_of(GzDecoder::new(&bytes[offset..offset + numbers[1]]));
        assert!(text.starts_with(&format!("{} {{", fields[0])), "{text:.80}");
        counts.push(text.lines().count());
        offset += numbers[1];
    }
    assert_eq!(counts, [LINES_PER_BLOCK, LINES_PER_BLOCK, 1_000]);
    assert_eq!(offset, bytes.len());
    assert_eq!(written(&[]).0, b"");
}

#[test]
fn an_out_of_order_row_is_rejected_and_writes_nothing() {
    let (first, second) = (capture("https://a.example/"), capture("https://b.example/"));
    let mut writer = CdxjWriter::new(Vec::new());
    writer.write(&second.row()).unwrap();
    let late = writer.write(&first.row());
    assert!(matches!(&late, Err(CdxjError::Unsorted { url }) if url == "https://a.example/"));
    let bad = OwnCapture { status: 1_000, ..second.clone() };
    assert!(matches!(writer.write(&bad.row()), Err(CdxjError::Row(_))));
    let (bytes, _) = writer.finish("cdx-00000.gz").unwrap();
    let text = text_of(MultiGzDecoder::new(&bytes[..]));
    assert_eq!(text, cdxj_line(&second.row()).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn arbitrary_rows_round_trip_in_order(own in prop::collection::vec(captures(), 1..40)) {
        let rows = sorted(&own);
        let (bytes, _) = written(&rows);
        let text = text_of(MultiGzDecoder::new(&bytes[..]));
        prop_assert!(text.is_ascii());
        let lines: Vec<&str> = text.lines().collect();
        prop_assert_eq!(lines.len(), rows.len());
        let places = lines.iter().map(|line| &line[..line.find(" {").unwrap()]);
        prop_assert!(places.is_sorted());
        for (line, row) in lines.iter().zip(&rows) {
            let mut parts = line.splitn(3, ' ');
            let order = row.order().unwrap();
            prop_assert_eq!(parts.next(), Some(order.key()));
            prop_assert_eq!(parts.next().map(str::len), Some(14));
            let fields: BTreeMap<String, String> =
                serde_json::from_str(parts.next().unwrap()).unwrap();
            let value = |name: &str| fields.get(name).map(String::as_str);
            prop_assert_eq!(value("url"), Some(row.url));
            prop_assert_eq!(value("mime"), row.mime_type);
            prop_assert_eq!(value("redirect"), row.redirect);
            prop_assert_eq!(value("truncated"), row.truncated);
            prop_assert_eq!(value("filename"), Some(row.warc_filename));
            let offset = row.position.offset.to_string();
            prop_assert_eq!(value("offset"), Some(offset.as_str()));
        }
    }
}

fn of_written(url: &str, status: u16, mime: &str, written: &Written) -> OwnCapture {
    OwnCapture {
        status,
        digest: Some(written.payload_digest.clone()),
        mime_type: Some(mime.to_owned()),
        record_id: written.record_id.clone(),
        warc_filename: "a.warc.gz".into(),
        position: written.position,
        ..capture(url)
    }
}

fn archive() -> (Vec<u8>, Vec<OwnCapture>) {
    let info = ArchiveInfo { file_name: "a.warc.gz", date_micros: DATE, fields: &[] };
    let mut writer = ArchiveWriter::new(Vec::new(), &info).unwrap();
    let request_head = &b"GET / HTTP/1.1\r\n\r\n"[..];
    let facts = FetchFacts::default();
    let head = |status, mime: &str| {
        let mime = format!("{mime}; charset=utf-8");
        http_head(status, "", [(&b"Content-Type"[..], mime.as_bytes())], 3)
    };
    let mut own = Vec::new();
    for (url, status, mime) in [
        ("https://www.example.com/", 200, "text/html"),
        ("http://example.com:8080/B/../a?y=2&x=1", 200, "application/pdf"),
        ("https://xn--bcher-kva.example/%C3%A9?q=%20", 301, "text/html"),
        ("http://192.0.2.1/robots.txt", 404, "text/plain"),
    ] {
        let http_head = &head(status, mime)[..];
        let response = Response {
            target_uri: url,
            date_micros: DATE,
            ip_address: None,
            http_head,
            body: url.as_bytes(),
            truncated: None,
        };
        let answer = KeptAnswer::Response(response);
        let written = writer.exchange(&ArchivedFetch { request_head, answer, facts }).unwrap();
        own.push(of_written(url, status, mime, &written));
    }
    let url = "https://example.com/again";
    let again = Revisit {
        target_uri: url,
        date_micros: DATE,
        ip_address: None,
        http_head: &head(200, "text/html"),
        payload_digest: own[0].digest.as_deref().unwrap(),
        refers_to_record_id: &own[0].record_id,
        refers_to_target_uri: &own[0].url,
        refers_to_date_micros: DATE,
    };
    let answer = KeptAnswer::Identical(again);
    let written = writer.exchange(&ArchivedFetch { request_head, answer, facts }).unwrap();
    own.push(of_written(url, 200, "warc/revisit", &written));
    (writer.finish().unwrap(), own)
}

#[test]
fn cdxj_indexer_writes_the_same_lines_of_our_archives() {
    let python = std::env::var("EVERYTAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&python).args(["-c", "import cdxj_indexer"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("skipped: {python} has no cdxj-indexer");
        return;
    }
    let (archive, own) = archive();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.warc.gz");
    std::fs::write(&path, archive).unwrap();
    let program = "import sys; from cdxj_indexer.main import main; main(sys.argv[1:])";
    let output = Command::new(&python).args(["-c", program, "--sort"]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    // cdxj-indexer does not output these values.
    let own: Vec<OwnCapture> = own
        .into_iter()
        .map(|own| OwnCapture { mime_detected: None, charset: None, languages: None, ..own })
        .collect();
    let lines: String = sorted(&own).iter().map(|row| cdxj_line(row).unwrap()).collect();
    assert_eq!(said, lines);
    assert_eq!(lines.lines().count(), 5);
}
