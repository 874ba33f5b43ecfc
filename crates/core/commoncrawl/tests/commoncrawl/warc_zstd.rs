//! Bodies in the content coding zstd: complete, truncated, and constructed to be expensive.

use std::io::Write;

use everytab_commoncrawl::warc::{HttpResponse, Limits, read_record};
use zstd::stream::write::Encoder;

const MAX_BODY_BYTES: usize = 6 << 20;

fn response(coding: &str, body: &[u8]) -> HttpResponse {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n");
    let block = [head.as_bytes(), body].concat();
    let head = format!("WARC/1.0\r\nWARC-Type: response\r\nContent-Length: {}\r\n", block.len());
    let record = [head.as_bytes(), b"\r\n", &block].concat();
    read_record(&record, Limits::default()).unwrap().http_response().unwrap()
}

fn body(stored: &[u8]) -> (Vec<u8>, bool) {
    let response = response("zstd", stored);
    assert_eq!(response.remaining_coding, None);
    (response.body, response.is_truncated)
}

fn frame(content: &[u8], window_log: u32) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.window_log(window_log).unwrap();
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn skippable(first: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap().to_le_bytes();
    [&[first, 0x2a, 0x4d, 0x18], length.as_slice(), content].concat()
}

fn page() -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        b'@' + (state >> 26) as u8
    };
    (0..400_000).map(|_| next()).collect()
}

#[test]
fn frames_are_decoded_one_after_another_and_skippable_ones_skipped() {
    let page = page();
    let whole = (page.clone(), false);
    assert_eq!(body(&frame(&page, 21)), whole);
    assert_eq!(body(&zstd::encode_all(page.as_slice(), 19).unwrap()), whole, "a single segment");
    let halves = [frame(&page[..1_000], 21), frame(&page[1_000..], 21)].concat();
    assert_eq!(body(&halves), whole);
    for first in [0x50, 0x5f] {
        let between =
            [skippable(first, b"not the page"), halves.clone(), skippable(first, b"")].concat();
        assert_eq!(body(&between), whole);
    }
    assert_eq!(body(&frame(b"", 21)), (Vec::new(), false));
    assert_eq!(response("ZSTD , identity", &frame(&page, 21)).body, page);
    let both = zstd::encode_all(frame(&page, 21).as_slice(), 3).unwrap();
    assert_eq!(response("zstd, zstd", &both).body, page);
}

#[test]
fn a_truncated_or_damaged_frame_gives_its_readable_part() {
    let page = page();
    let stored = frame(&page, 17);
    let (start, is_truncated) = body(&stored[..stored.len() / 2]);
    assert!(is_truncated && start.len() > 1_000 && page.starts_with(&start), "{}", start.len());
    for length in 4..stored.len().min(600) {
        // An incomplete first block decodes to nothing, so the bytes stay unchanged.
        assert_eq!(body(&stored[..length]).0, &stored[..length], "{length}");
    }
    let mut wrong_checksum = stored.clone();
    *wrong_checksum.last_mut().unwrap() ^= 1;
    let (start, is_truncated) = body(&wrong_checksum);
    assert!(is_truncated && page.starts_with(&start) && start.len() > 50_000);
    let trailing = [stored.as_slice(), b"<!-- not zstd -->"].concat();
    assert!(body(&trailing) == (page, true));
}

#[test]
fn a_frame_that_grows_without_end_is_cut_at_the_limit() {
    let bomb = frame(&vec![0; 512 << 20], 23);
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    let (start, is_truncated) = body(&bomb);
    assert_eq!((start.len(), is_truncated), (MAX_BODY_BYTES, true));
    let many = frame(&vec![0; 1 << 20], 20).repeat(7);
    assert!(body(&many) == (vec![0; MAX_BODY_BYTES], true));
}

#[test]
fn a_window_larger_than_browsers_keep_is_not_decoded() {
    let content = vec![7; 9 << 20];
    let wide = frame(&content, 24);
    assert!(body(&wide).0 == wide, "it is unchanged");
    // The window of a single segment is as large as its content.
    let single_segment = zstd::bulk::compress(&content, 22).unwrap();
    assert_eq!(single_segment[4] & 0x20, 0x20);
    assert!(body(&single_segment).0 == single_segment);
    assert!(body(&frame(&content, 23)) == (vec![7; MAX_BODY_BYTES], true));
}

#[test]
fn bytes_that_only_start_like_a_frame_are_unchanged() {
    for stored in [
        b"<title>a page</title>".as_slice(),
        b"\x28\xb5\x2f\xfd",
        b"\x28\xb5\x2f\xfd and no frame",
        b"\x60\x2a\x4d\x18no skippable frame",
        b"(",
        b"",
    ] {
        assert_eq!(body(stored).0, stored);
    }
}
