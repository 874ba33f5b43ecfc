//! Writes fetches as three records each, and reads them back. An invalid value prevents all three.

use everytab_commoncrawl::warc::{
    Limits, Record, RecordType, Records, read_record,
    write::{
        ArchiveInfo, ArchiveWriter, ArchivedFetch, CrawlInfo, FetchFacts, KeptAnswer, Position,
        Response, Revisit, WriteError, http_head,
    },
};
use proptest::prelude::*;

const DATE: i64 = 1_767_225_599_000_000;

fn writer() -> ArchiveWriter<Vec<u8>> {
    let about = CrawlInfo { software: "everytab-worker/0.1.0", ..CrawlInfo::default() };
    let fields = about.fields();
    let info = ArchiveInfo { file_name: "c.warc.gz", date_micros: DATE, fields: &fields };
    ArchiveWriter::new(Vec::new(), &info).unwrap()
}

fn response<'a>(target_uri: &'a str, http_head: &'a [u8], body: &'a [u8]) -> Response<'a> {
    let date_micros = DATE;
    let ip_address = "192.0.2.1".parse().ok();
    Response { target_uri, date_micros, ip_address, http_head, body, truncated: None }
}

fn cut(archive: &[u8], position: Position) -> &[u8] {
    &archive[position.offset as usize..(position.offset + position.length) as usize]
}

#[test]
fn a_fetch_with_an_invalid_value_writes_nothing() {
    let mut writer = writer();
    let before = writer.offset();
    let head = http_head(200, "OK", [], 0);
    let request_head: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
    let facts = FetchFacts::default();
    let answer = || KeptAnswer::Response(response("https://a/", &head, b""));
    let wrong = FetchFacts { via: Some("a\nb"), ..facts };
    let in_facts = ArchivedFetch { request_head, answer: answer(), facts: wrong };
    assert!(matches!(writer.exchange(&in_facts), Err(WriteError::Field { .. })));
    let in_request = ArchivedFetch { request_head: &head, answer: answer(), facts };
    assert!(matches!(writer.exchange(&in_request), Err(WriteError::HttpHead)));
    let answer = KeptAnswer::Response(response("https://a/", b"HTTP/1.1 200 OK", b""));
    let in_answer = ArchivedFetch { request_head, answer, facts };
    assert!(matches!(writer.exchange(&in_answer), Err(WriteError::HttpHead)));
    assert_eq!(writer.offset(), before, "nothing half-written");
}

proptest! {
    #[test]
    fn arbitrary_exchanges_round_trip(
        fetches in prop::collection::vec(
            ("/[a-z?=&%]{0,9}", prop::collection::vec(any::<u8>(), 0..500), 0..3_u8), 0..6),
        depth: u16, time: u64, via in "[!-~ü]{0,40}", language in "[a-z]{3}",
    ) {
        let mut writer = writer();
        let facts = FetchFacts {
            fetch_time_ms: Some(time),
            depth: Some(depth),
            via: Some(&via),
            language: Some(&language),
            ..FetchFacts::default()
        };
        let known = format!(
            "fetchTimeMs: {time}\r\ndepth: {depth}\r\nvia: {via}\r\nlanguage: {language}\r\n"
        );
        let mut written = Vec::new();
        for (target, body, kind) in &fetches {
            let uri = format!("https://a.example{target}");
            let request = format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n\r\n");
            let head = http_head(if *kind == 2 { 304 } else { 200 }, "", [], body.len() as u64);
            let revisit = Revisit {
                target_uri: &uri,
                date_micros: DATE,
                ip_address: None,
                http_head: &head,
                payload_digest: "sha256:00",
                refers_to_record_id: "urn:uuid:0",
                refers_to_target_uri: "https://b.example/",
                refers_to_date_micros: 0,
            };
            let answer = match kind {
                0 => KeptAnswer::Response(response(&uri, &head, body)),
                1 => KeptAnswer::Identical(revisit),
                _ => KeptAnswer::NotModified(revisit),
            };
            let exchange = ArchivedFetch { request_head: request.as_bytes(), answer, facts };
            written.push((writer.exchange(&exchange).unwrap(), uri, request));
        }
        let archive = writer.finish().unwrap();
        let all = Records::new(&archive, Limits::default());
        let records: Vec<Record> =
            all.skip(1).map(|(_, item)| item.unwrap()).collect();
        prop_assert_eq!(records.len(), 3 * fetches.len());
        for ((three, (written, uri, request)), (_, body, kind)) in
            records.chunks(3).zip(&written).zip(&fetches)
        {
            let answer = read_record(cut(&archive, written.position), Limits::default()).unwrap();
            prop_assert_eq!(&three[1], &answer);
            let http = answer.http_response().unwrap();
            let expected: &[u8] = if *kind == 0 { body } else { b"" };
            prop_assert_eq!(http.body.as_slice(), expected);
            prop_assert_eq!(&three[0].record_type, &RecordType::Request);
            prop_assert_eq!(three[0].block.as_slice(), request.as_bytes());
            prop_assert_eq!(&three[2].record_type, &RecordType::Metadata);
            prop_assert_eq!(three[2].block.as_slice(), known.as_bytes());
            let ids: std::collections::HashSet<_> = three.iter().map(Record::record_id).collect();
            prop_assert_eq!(ids.len(), 3);
            for beside in [&three[0], &three[2]] {
                let of = beside.headers.text("warc-concurrent-to");
                prop_assert_eq!(of, Some(format!("<{}>", written.record_id)));
                prop_assert_eq!(beside.target_uri(), Some(uri.clone()));
            }
        }
    }
}
