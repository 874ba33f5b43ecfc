//! Home pages in archives, from a record's bytes to the page's content.

use std::io::Write;

use everytab_commoncrawl::warc::{Limits, RecordType, Records, Truncation, read_record};
use everytab_webpage::{CharsetSource, Page, TitleState, understand};
use flate2::{Compression, write::GzEncoder};

const PAGE: &str = "<!doctype html><title>The page</title><link rel=icon href=i.png>";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn record(version: &str, fields: &[&str], line_end: &str, block: &[u8]) -> Vec<u8> {
    let mut head = format!("{version}{line_end}WARC-Target-URI: https://a.example/b/{line_end}");
    for field in fields {
        head += field;
        head += line_end;
    }
    head += &format!("Content-Length: {}{line_end}{line_end}", block.len());
    [head.as_bytes(), block, line_end.as_bytes(), line_end.as_bytes()].concat()
}

fn http(fields: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}\r\n").as_bytes(), body]
        .concat()
}

fn page_of(record: &[u8]) -> Page {
    let record = read_record(record, Limits::default()).unwrap();
    let response = record.http_response().unwrap();
    let url = record.target_uri().unwrap();
    understand(&url, response.headers.fields(), &response.body)
}

fn page(fields: &str, body: &[u8]) -> Page {
    page_of(&record("WARC/1.0", &["WARC-Type: response"], "\r\n", &http(fields, body)))
}

fn assert_is_the_page(page: &Page, what: &str) {
    assert_eq!(page.title.text, "The page", "{what}");
    assert_eq!(page.icons.len(), 1, "{what}");
    assert_eq!(page.icons[0].href, "https://a.example/b/i.png", "{what}");
}

#[test]
fn rewritten_fields_and_wrong_lengths_change_nothing() {
    for fields in [
        "X-Crawler-Content-Encoding: gzip\r\nX-Crawler-Transfer-Encoding: chunked\r\n",
        "X-Crawler-Content-Encoding: br\r\nX-Crawler-Content-Length: 3\r\nContent-Length: 64\r\n",
        "Content-Length: 3\r\n",
        "Content-Length: 99999999\r\n",
        "Content-Length: -1\r\nContent-Length: x\r\n",
        "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        "Content-Encoding: identity, none, x\r\n",
    ] {
        assert_is_the_page(&page(fields, PAGE.as_bytes()), fields);
    }
}

/// The August 2018 crawl has an empty line before each body (issue 5 in commoncrawl/nutch).
#[test]
fn an_extra_line_before_a_body_hides_nothing() {
    let text = format!("\u{feff}{PAGE}");
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let bodies = [
        ("utf-16le", "", little),
        ("utf-16be", "", big),
        ("utf-8", "", text.into_bytes()),
        ("gzip", "Content-Encoding: gzip\r\n", gzip(PAGE.as_bytes())),
        ("windows-1252", "", PAGE.into()),
    ];
    for (what, coding, body) in bodies {
        let stored = [b"\r\n", body.as_slice()].concat();
        for length in [format!("Content-Length: {}\r\n", body.len()), String::new(), {
            "Content-Length: 1\r\n".into()
        }] {
            let page = page(&format!("{length}{coding}"), &stored);
            assert_is_the_page(&page, what);
            if what.starts_with("utf") {
                assert_eq!(page.charset_source, CharsetSource::Bom, "{what}");
            }
        }
    }
}

#[test]
fn codings_that_an_archive_kept_are_removed() {
    let chunks = |body: &[u8]| {
        let mut all = format!("{:X}\r\n", body.len()).into_bytes();
        all.extend_from_slice(body);
        all.extend_from_slice(b"\r\n0\r\n\r\n");
        all
    };
    let gzipped = gzip(PAGE.as_bytes());
    let both = "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n";
    assert_is_the_page(&page(both, &chunks(&gzipped)), both);
    assert_is_the_page(&page("Content-Encoding: gzip\r\n", &gzipped), "gzip");
    assert_is_the_page(&page("Transfer-Encoding: chunked\r\n", &chunks(PAGE.as_bytes())), "chunks");
    let both = "Content-Length: 5\r\nContent-Encoding: gzip\r\n";
    assert_is_the_page(&page(both, &gzipped), both);
}

#[test]
fn records_in_all_forms_contain_the_same_page() {
    let block = http("", PAGE.as_bytes());
    let bare: Vec<u8> = block.iter().copied().filter(|byte| *byte != b'\r').collect();
    for version in ["WARC/1.0", "WARC/1.1", "WARC/0.18"] {
        for line_end in ["\r\n", "\n"] {
            for block in [&block, &bare] {
                let plain = record(version, &["WARC-Type: response"], line_end, block);
                assert_is_the_page(&page_of(&plain), version);
                assert_is_the_page(&page_of(&gzip(&plain)), version);
                let (first, second) = plain.split_at(plain.len() / 2);
                let mut items = Records::new(&plain, Limits::default());
                assert_eq!(items.next().unwrap().0, 0);
                assert!(items.next().is_none());
                let split = [gzip(first), gzip(second)].concat();
                let first = Records::new(&split, Limits::default()).next().unwrap().1;
                let is_short =
                    |record: &everytab_commoncrawl::warc::Record| record.truncation.is_some();
                assert!(first.is_err() || first.as_ref().is_ok_and(is_short), "{first:?}");
            }
        }
    }
}

#[test]
fn a_page_truncated_by_the_crawler_gives_the_part_before() {
    let truncated = |at: usize| {
        let block = http("", &PAGE.as_bytes()[..at]);
        let fields = ["WARC-Type: response", "WARC-Truncated: length"];
        let bytes = gzip(&record("WARC/1.0", &fields, "\r\n", &block));
        let record = read_record(&bytes, Limits::default()).unwrap();
        assert_eq!(record.truncation, Some(Truncation::Recorded("length".into())));
        assert!(record.http_response().unwrap().is_truncated);
        page_of(&bytes)
    };
    for at in 0..=PAGE.len() {
        let page = truncated(at);
        let state = page.title.state;
        let end_of_text = PAGE.find("</title>").unwrap();
        let expected = match at {
            at if at < PAGE.find("The").unwrap() - 1 => TitleState::Absent,
            at if at < PAGE.find("The").unwrap() + 1 => TitleState::Empty,
            at if at < end_of_text + "</title>".len() => TitleState::Truncated,
            _ => TitleState::Ok,
        };
        if at != PAGE.find("The").unwrap() - 1 && at != PAGE.find("The").unwrap() {
            assert_eq!(state, expected, "{at}: {:?}", &PAGE[..at]);
        }
        assert_eq!(page.icons.len(), usize::from(at == PAGE.len()), "{at}");
    }
}

#[test]
fn fields_are_bytes_in_order_with_duplicates() {
    let fields =
        "Content-Type: text/html; charset=windows-1251\r\nX-Frame-Options: ALLOW\u{ff}\r\n";
    let mut block = b"HTTP/1.1 200 \xc0\xff\r\nX-Powered: \xe9\xe8\r\n\xff\xfe: x\r\n".to_vec();
    block.extend(fields.chars().map(|c| u8::try_from(u32::from(c)).unwrap()));
    block.extend_from_slice(b"x-frame-OPTIONS:\r\n DENY\r\n\r\n<title>\xcf</title>");
    let page = page_of(&record("WARC/1.1", &["WARC-Type: response"], "\r\n", &block));
    assert_eq!(page.title.text, "П");
    assert_eq!(page.charset_source, CharsetSource::Http);
    assert_eq!(page.framing.rule, "x_frame_options_conflict");
    // If there are two types, the last valid one counts (Fetch, "extract a MIME type").
    let types = "Content-Type: text/plain\r\nContent-Type: text/html;charset=koi8-r\r\n";
    assert_eq!(self::page(types, b"").charset, "koi8-r");
}

#[test]
fn records_without_a_response_are_skipped_and_counted() {
    let block = http("", PAGE.as_bytes());
    let kinds = ["warcinfo", "request", "metadata", "revisit", "resource", "conversion", "odd"];
    let mut archive = Vec::new();
    for kind in kinds {
        let field = format!("WARC-Type: {kind}");
        archive.extend(gzip(&record("WARC/1.1", &[&field], "\r\n", &block)));
        archive.extend(gzip(&record("WARC/1.0", &["WARC-Type: response"], "\n", &block)));
    }
    let records: Vec<_> =
        Records::new(&archive, Limits::default()).map(|(_, record)| record.unwrap()).collect();
    let is_page = |kind: &RecordType| *kind == RecordType::Response;
    assert_eq!(records.len(), 2 * kinds.len());
    assert_eq!(records.iter().filter(|r| is_page(&r.record_type)).count(), kinds.len());
    // A revisit also contains a response, whose body is in another record.
    let readable = records.iter().filter(|record| record.http_response().is_ok()).count();
    assert_eq!(readable, kinds.len() + 1);
}
