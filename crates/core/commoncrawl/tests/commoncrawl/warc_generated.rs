//! Generated archives: damage, unusual forms, limits, and archives that we write and read back.

use std::{
    io::Write,
    net::{IpAddr, Ipv4Addr},
};

use everytab_commoncrawl::warc::{
    HttpError, Limits, Record, RecordType, Records, Truncation, WarcError, read_record,
    write::{
        ArchiveInfo, ArchiveWriter, Position, Resource, Response, Revisit, TruncatedBecause,
        WriteError, Written, http_head,
    },
};
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;

const DATE: i64 = 1_767_225_599_000_000;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn record(uri: &str, block: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {uri}\r\nContent-Length: {}\r\n\r\n",
        block.len()
    );
    [head.as_bytes(), block, b"\r\n\r\n"].concat()
}

fn http(fields: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 200 OK\r\n{fields}\r\n").as_bytes(), body].concat()
}

fn read(bytes: &[u8]) -> Result<Record, WarcError> {
    read_record(bytes, Limits::default())
}

fn items(archive: &[u8]) -> Vec<(u64, Result<Record, WarcError>)> {
    Records::new(archive, Limits::default()).collect()
}

fn uris(items: &[(u64, Result<Record, WarcError>)]) -> Vec<Option<String>> {
    items.iter().map(|(_, item)| item.as_ref().ok().and_then(Record::target_uri)).collect()
}

fn uri(number: usize) -> Option<String> {
    Some(format!("https://h{number}.example/"))
}

fn archive_of(members: &[Vec<u8>]) -> (Vec<u8>, Vec<u64>) {
    let mut offsets = Vec::new();
    let mut archive = Vec::new();
    for member in members {
        offsets.push(archive.len() as u64);
        archive.extend_from_slice(member);
    }
    (archive, offsets)
}

fn members(count: usize) -> Vec<Vec<u8>> {
    let block = |n: usize| http("A: b\r\n", format!("body of {n}").repeat(50).as_bytes());
    (0..count).map(|n| gzip(&record(&uri(n).unwrap(), &block(n)))).collect()
}

#[test]
fn a_corrupt_member_is_an_error_item_and_the_next_is_found() {
    let mut members = members(5);
    let middle = members[2].len() / 2;
    members[2][middle] ^= 0xff;
    members[2][middle + 1] ^= 0xff;
    let checksum = members[3].len() - 6;
    members[3][checksum] ^= 0x01;
    let (archive, offsets) = archive_of(&members);
    let items = items(&archive);
    assert_eq!(items.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), offsets);
    assert_eq!(uris(&items)[..2], [uri(0), uri(1)]);
    assert!(matches!(items[2].1, Err(WarcError::CorruptGzip(_))), "{:?}", items[2]);
    assert_eq!(uris(&items)[4], uri(4));
    assert!(matches!(read(&members[2]), Err(WarcError::CorruptGzip(_))), "{:?}", items[2]);
    assert!(matches!(read(&members[3]), Err(WarcError::CorruptGzip(_))));
    assert!(matches!(items[3].1, Err(WarcError::CorruptGzip(_))), "{:?}", items[3]);
}

#[test]
fn a_wrong_byte_never_loses_another_member() {
    let members = members(3);
    let (archive, offsets) = archive_of(&members);
    for at in offsets[1] as usize..offsets[2] as usize {
        let mut damaged = archive.clone();
        damaged[at] ^= 0x40;
        let items = items(&damaged);
        let uris = uris(&items);
        assert_eq!(uris[0], uri(0), "{at}");
        assert_eq!(uris.last(), Some(&uri(2)), "{at}: {items:?}");
        assert!(items.len() >= 3, "{at}: something stands for the damaged member");
        assert!(items.iter().filter(|(_, item)| item.is_err()).count() <= 2, "{at}: {items:?}");
    }
}

#[test]
fn a_truncated_archive_ends_with_an_error_item() {
    let (archive, offsets) = archive_of(&members(2));
    for length in offsets[1] as usize + 1..archive.len() {
        let items = items(&archive[..length]);
        assert_eq!(uris(&items), [uri(0), None], "{length}");
        assert_eq!(items[1].0, offsets[1]);
        assert!(read(&archive[offsets[1] as usize..length]).is_err(), "{length}");
    }
}

#[test]
fn members_with_several_records_and_padding_are_read() {
    let both = [record("https://h0.example/", b"x"), record("https://h1.example/", b"y")].concat();
    let third = gzip(&record("https://h2.example/", b"z"));
    let archive = [gzip(&both), vec![0; 5], third, b"\r\n\0\0".to_vec()].concat();
    let items = items(&archive);
    assert_eq!(uris(&items), [uri(0), uri(1), uri(2)]);
    assert_eq!((items[0].0, items[1].0), (0, 0));
    assert_eq!(items[2].0 as usize, gzip(&both).len() + 5);
}

#[test]
fn a_range_longer_than_its_member_gives_the_member_and_a_shorter_one_an_error() {
    let members = members(2);
    let both = members.concat();
    assert_eq!(read(&both).unwrap().target_uri(), uri(0));
    assert_eq!(read(&members[0][..members[0].len() - 1]), Err(WarcError::GzipCut));
    assert_eq!(read(&members[0][..30]), Err(WarcError::GzipCut));
    assert_eq!(read(b""), Err(WarcError::Empty));
    assert_eq!(read(b"\r\n\r\n"), Err(WarcError::Empty));
    let not_found = read(b"<?xml version='1.0'?><Error><Code>NoSuchKey");
    assert!(matches!(not_found, Err(WarcError::NotWarc(_))));
}

#[test]
fn header_forms_that_occur_are_parsed() {
    let forms: [&[u8]; 4] = [
        b"WARC/1.1\r\nwarc-type: RESPONSE\r\nWARC-TARGET-URI: <https://a.example/>\r\n\
            Content-Length:2\r\n\r\nok\r\n\r\n",
        b"WARC/1.0\nWARC-Type: response\nWARC-Target-URI: https://a.example/\n\
            Content-Length: 2\n\nok\n\n",
        b"WARC/1.1\r\nWARC-Type:\r\n response\r\nWARC-Target-URI:\r\n\thttps://a.example/\r\n\
            Content-Length: 2\r\n\r\nok",
        b"\r\nWARC/0.17\r\r\nWARC-Type: response\r\r\nWARC-Target-URI: https://a.example/\r\r\n\
            Content-Length: 2\r\r\n\r\r\nok",
    ];
    for form in forms {
        for bytes in [form.to_vec(), gzip(form)] {
            let record = read(&bytes).unwrap();
            assert_eq!(record.record_type, RecordType::Response);
            assert_eq!(record.target_uri().as_deref(), Some("https://a.example/"));
            assert_eq!((record.block.as_slice(), record.truncation), (b"ok".as_slice(), None));
        }
    }
}

#[test]
fn wrong_headers_are_named() {
    for (bytes, error) in [
        ("WARC/1.0\r\nA: b\r\n\r\n", WarcError::ContentLength),
        ("WARC/1.0\r\nContent-Length: -1\r\n\r\n", WarcError::ContentLength),
        ("WARC/1.0\r\nContent-Length: 99999999999999999999\r\n\r\n", WarcError::ContentLength),
        ("WARC/1.0\r\nContent-Length: 5\r\n", WarcError::HeaderCut),
        ("WARC/1.0", WarcError::HeaderCut),
        ("filedesc://a.arc 0.0.0.0 20080430204825 text/plain 1300\n", WarcError::Arc),
        ("(\u{b5}/\u{fd}", WarcError::NotWarc("(\\xc2\\xb5/\\xc3\\xbd".into())),
    ] {
        assert_eq!(read(bytes.as_bytes()), Err(error.clone()), "{bytes:?}");
        assert_eq!(read(&gzip(bytes.as_bytes())), Err(error), "{bytes:?}");
    }
    assert_eq!(read(&[0x28, 0xb5, 0x2f, 0xfd, 0]), Err(WarcError::Zstandard));
    let long = format!("WARC/1.0\r\nA: {}\r\n", "b".repeat(300_000));
    assert_eq!(read(long.as_bytes()), Err(WarcError::HeaderTooLarge(256 << 10)));
}

#[test]
fn a_block_over_the_limit_is_cut_and_the_next_record_found() {
    let limits = Limits { max_block_bytes: 1_000, ..Limits::default() };
    let big = record("https://h0.example/", &http("", &[b'x'; 5_000]));
    let small = record("https://h1.example/", b"y");
    for archive in [[gzip(&big), gzip(&small)].concat(), [big.clone(), small.clone()].concat()] {
        let items: Vec<_> = Records::new(&archive, limits).collect();
        assert_eq!(uris(&items), [uri(0), uri(1)]);
        let first = items[0].1.as_ref().unwrap();
        assert_eq!((first.block.len(), &first.truncation), (1_000, &Some(Truncation::Limit)));
        assert!(first.http_response().unwrap().is_truncated);
        assert_eq!(&read_record(&archive, limits).unwrap(), first);
    }
}

#[test]
fn a_gzip_bomb_takes_no_more_than_the_limit() {
    let bomb = gzip(&record("https://h0.example/", &vec![0; 64 << 20]));
    let record = read(&bomb).unwrap();
    assert_eq!(record.block.len(), 6 << 20);
    assert!(record.block.capacity() <= 16 << 20, "{}", record.block.capacity());
    assert_eq!(record.truncation, Some(Truncation::Limit));
}

#[test]
fn a_wrong_length_never_hides_a_record() {
    let lie = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://h0.example/\r\n\
        Content-Length: 99999\r\n\r\nshort\r\n\r\n";
    let next = record("https://h1.example/", b"y");
    let plain = items(&[lie.as_slice(), &next].concat());
    assert_eq!(uris(&plain), [uri(0), uri(1)]);
    let zipped = items(&[gzip(lie), gzip(&next)].concat());
    assert_eq!(uris(&zipped), [uri(0), uri(1)]);
    for items in [plain, zipped] {
        assert_eq!(items[0].1.as_ref().unwrap().truncation, Some(Truncation::DataEnd));
    }
    // If the length is too small, the bytes after it are not a record, which yields an error item.
    let lie = b"WARC/1.0\r\nWARC-Target-URI: https://h0.example/\r\nContent-Length: 2\r\n\r\n\
        longer than two\r\n\r\n";
    for archive in [[lie.as_slice(), &next].concat(), [gzip(lie), gzip(&next)].concat()] {
        assert_eq!(uris(&items(&archive)), [uri(0), None, uri(1)]);
    }
}

fn body(fields: &str, stored: &[u8]) -> (Vec<u8>, Option<String>, bool) {
    let response = read(&record("https://a.example/", &http(fields, stored))).unwrap();
    let response = response.http_response().unwrap();
    (response.body, response.remaining_coding, response.is_truncated)
}

#[test]
fn codings_in_use_are_removed() {
    let page = b"<title>a page</title>".repeat(20);
    let whole = (page.clone(), None, false);
    assert_eq!(body("Content-Encoding: gzip\r\n", &gzip(&page)), whole);
    assert_eq!(body("content-encoding: X-GZIP\r\n", &gzip(&page)), whole);
    assert_eq!(body("Content-Encoding: deflate\r\n", &zlib(&page)), whole);
    assert_eq!(body("Content-Encoding: deflate\r\n", &deflate(&page)), whole);
    assert_eq!(body("Content-Encoding: deflate, gzip\r\n", &gzip(&zlib(&page))), whole);
    let halves = [&page[..10], &page[10..]].map(gzip).concat();
    assert_eq!(body("Content-Encoding: gzip\r\n", &halves), whole);

    let chunked = |bytes: &[u8]| {
        let mut all = Vec::new();
        for chunk in bytes.chunks(30) {
            all.extend_from_slice(format!("{:x};ext=1\r\n", chunk.len()).as_bytes());
            all.extend_from_slice(chunk);
            all.extend_from_slice(b"\r\n");
        }
        [all.as_slice(), b"0\r\nTrailer: x\r\n\r\n"].concat()
    };
    assert_eq!(body("Transfer-Encoding: chunked\r\n", &chunked(&page)), whole);
    let both = "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n";
    assert_eq!(body(both, &chunked(&gzip(&page))), whole);
    let outer = "Transfer-Encoding: gzip, chunked\r\nContent-Encoding: deflate\r\n";
    assert_eq!(body(outer, &chunked(&gzip(&zlib(&page)))), whole);
}

#[test]
fn a_body_without_coding_is_unchanged() {
    for page in [b"<title>a page</title>".as_slice(), b"abc\r\nbut no chunk", b"", b"\x1f\x8b no"] {
        let whole = (page.to_vec(), None, false);
        for coding in ["gzip", "deflate", "br", "zstd", "identity"] {
            assert_eq!(body(&format!("Content-Encoding: {coding}\r\n"), page), whole, "{coding}");
        }
        assert_eq!(body("Transfer-Encoding: chunked\r\n", page), whole);
        assert_eq!(body("X-Crawler-Content-Encoding: gzip\r\n", page), whole);
    }
    // Without a magic number, an encoded body cannot be distinguished from a page.
    let deflated = zlib(b"a page");
    let kept = (deflated.clone(), None, false);
    assert_eq!(body("X-Crawler-Content-Encoding: deflate\r\n", &deflated), kept);
    let unknown = (b"(compressed)".to_vec(), Some("dcb".to_owned()), false);
    assert_eq!(body("Content-Encoding: dcb\r\n", b"(compressed)"), unknown);
}

#[test]
fn a_body_that_the_crawler_could_not_decode_is_decoded() {
    let page = b"<title>a page</title>";
    let whole = (page.to_vec(), None, false);
    let zstd = zstd::encode_all(page.as_slice(), 0).unwrap();
    for (coding, coded) in [("gzip", gzip(page)), ("X-GZip", gzip(page)), ("zstd", zstd)] {
        let fields = format!("X-Crawler-Content-Encoding: {coding}\r\n");
        assert_eq!(body(&fields, &coded), whole, "{coding}");
        assert_eq!(body(&fields, page), whole, "{coding}");
    }
}

#[test]
fn a_truncated_body_gives_its_readable_part() {
    let page: Vec<u8> = (0..60_000_u32).flat_map(|n| (n * 7_919 % 1_009).to_le_bytes()).collect();
    let gzipped = gzip(&page);
    let (start, _, is_truncated) =
        body("Content-Encoding: gzip\r\n", &gzipped[..gzipped.len() / 2]);
    assert!(is_truncated && start.len() > 1_000 && page.starts_with(&start), "{}", start.len());
    let (bombed, _, is_truncated) = body("Content-Encoding: gzip\r\n", &gzip(&vec![0; 32 << 20]));
    assert_eq!((bombed.len(), is_truncated), (6 << 20, true));
}

#[test]
fn records_without_a_response_are_reported() {
    let mut request = read(&record("https://a.example/", b"GET / HTTP/1.1\r\n\r\n")).unwrap();
    assert!(matches!(request.http_response(), Err(HttpError::NotHttp(_))));
    request.record_type = RecordType::Request;
    assert_eq!(request.http_response(), Err(HttpError::NotAResponse));
}

fn info() -> ArchiveInfo<'static> {
    let fields = &[("software", "everytab-worker/0.1.0"), ("format", "WARC File Format 1.1")];
    ArchiveInfo { file_name: "7-1.warc.gz", date_micros: DATE, fields }
}

fn response<'a>(target_uri: &'a str, http_head: &'a [u8], body: &'a [u8]) -> Response<'a> {
    let ip_address = Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
    Response { target_uri, date_micros: DATE, ip_address, http_head, body, truncated: None }
}

fn cut(archive: &[u8], position: Position) -> &[u8] {
    &archive[position.offset as usize..(position.offset + position.length) as usize]
}

#[test]
fn written_records_round_trip() {
    let body = b"\x89PNG not really, but bytes \0\xff".repeat(9);
    let fields: [(&[u8], &[u8]); 2] =
        [(b"Content-Type", b"image/png"), (b"Content-Encoding", b"gzip")];
    let head = http_head(200, "OK", fields, body.len() as u64);
    let write = || {
        let mut writer = ArchiveWriter::new(Vec::new(), &info()).unwrap();
        let uri = "https://a.example/favicon.ico";
        let first = writer.response(&response(uri, &head, &body)).unwrap();
        let again = writer
            .revisit(&Revisit {
                target_uri: "https://b.example/favicon.ico",
                date_micros: DATE + 2_000_000,
                ip_address: None,
                http_head: &head,
                payload_digest: &first.payload_digest,
                refers_to_record_id: &first.record_id,
                refers_to_target_uri: uri,
                refers_to_date_micros: DATE,
            })
            .unwrap();
        let resource = Resource {
            target_uri: "urn:everytab:data:1",
            date_micros: DATE,
            content_type: "image/gif",
            body: b"GIF89a",
        };
        let data = writer.resource(&resource).unwrap();
        assert_eq!(writer.offset(), data.position.offset + data.position.length);
        (writer.finish().unwrap(), [first, again, data])
    };
    let (archive, written) = write();
    assert_eq!(write(), (archive.clone(), written.clone()), "the bytes depend on nothing else");

    let items = items(&archive);
    let offsets: Vec<u64> = items.iter().map(|(offset, _)| *offset).collect();
    let positions: Vec<u64> = written.iter().map(|w| w.position.offset).collect();
    assert_eq!(offsets, [&[0], positions.as_slice()].concat());
    let records: Vec<Record> =
        written.iter().map(|w| read(cut(&archive, w.position)).unwrap()).collect();
    for (record, Written { record_id, payload_digest, .. }) in records.iter().zip(&written) {
        assert_eq!(record.record_id(), Some(format!("<{record_id}>")));
        assert_eq!(record.headers.text("warc-payload-digest").as_ref(), Some(payload_digest));
    }
    let stored = records[0].http_response().unwrap();
    assert_eq!((stored.status, stored.body.as_slice()), (200, body.as_slice()));
    assert_eq!(stored.headers.get("x-crawler-content-encoding"), Some(b"gzip".as_slice()));
    assert_eq!(records[0].headers.get("warc-ip-address"), Some(b"192.0.2.1".as_slice()));
    assert_eq!(records[1].record_type, RecordType::Revisit);
    assert_eq!(records[1].date().as_deref(), Some("2026-01-01T00:00:01Z"));
    assert_eq!(records[1].http_response().unwrap().body, b"");
    assert_eq!(written[1].payload_digest, written[0].payload_digest);
    assert_eq!(records[2].block, b"GIF89a");
}

#[test]
fn a_value_that_would_break_the_archive_is_rejected() {
    let mut writer = ArchiveWriter::new(Vec::new(), &info()).unwrap();
    let before = writer.offset();
    let head = http_head(200, "OK", [], 0);
    let error = writer.response(&response("https://a/\r\nWARC-Type: x", &head, b""));
    assert!(matches!(error, Err(WriteError::Field { .. })), "{error:?}");
    let error = writer.response(&response("https://a/", b"HTTP/1.1 200 OK\r\n", b""));
    assert!(matches!(error, Err(WriteError::HttpHead)), "{error:?}");
    assert_eq!(writer.offset(), before, "nothing half-written");
}

proptest! {
    #[test]
    fn any_bytes_give_a_result(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        for archive in [bytes.clone(), gzip(&bytes), [b"WARC/1.0\r\n", bytes.as_slice()].concat()] {
            let _ = read(&archive);
            prop_assert!(items(&archive).len() <= archive.len());
        }
    }

    #[test]
    fn arbitrary_blocks_never_panic_as_responses(
        fields in "(Content-Encoding: (gzip|br|deflate|x)\r\n\
            |Transfer-Encoding: chunked\r\n|.*\n){0,4}",
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let block = http(&fields, &body);
        let record = read(&record("https://a.example/", &block)).unwrap();
        prop_assert_eq!(&record.block, &block);
        prop_assert_eq!(record.http_response().unwrap().status, 200);
    }

    #[test]
    fn arbitrary_responses_round_trip(
        answers in prop::collection::vec(
            ("[a-z]{1,9}", prop::collection::vec(any::<u8>(), 0..2_000), any::<bool>()), 0..8),
        name in prop::collection::vec(any::<u8>(), 0..20),
        value in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let mut writer = ArchiveWriter::new(Vec::new(), &info()).unwrap();
        let mut positions = Vec::new();
        for (host, body, is_cut) in &answers {
            let fields = [(name.as_slice(), value.as_slice())];
            let head = http_head(404, "no", fields, body.len() as u64);
            let uri = format!("https://{host}.example/");
            let truncated = is_cut.then_some(TruncatedBecause::Length);
            let response = Response { truncated, ..response(&uri, &head, body) };
            positions.push(writer.response(&response).unwrap().position);
        }
        let archive = writer.finish().unwrap();
        prop_assert_eq!(items(&archive).len(), answers.len() + 1);
        for (position, (host, body, is_cut)) in positions.into_iter().zip(&answers) {
            let record = read(cut(&archive, position)).unwrap();
            let response = record.http_response().unwrap();
            prop_assert_eq!(record.target_uri(), Some(format!("https://{host}.example/")));
            prop_assert_eq!((response.status, &response.body), (404, body));
            prop_assert_eq!(response.is_truncated, *is_cut);
        }
    }
}
