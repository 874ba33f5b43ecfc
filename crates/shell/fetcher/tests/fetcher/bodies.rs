//! Tests incomplete bodies, content codings, size limits, and the encoding of `Location`.

use std::{io::Write, time::Duration};

use everytab_fetcher::{
    CutReason, DEFAULT_PAGE_BYTES, Outcome, PageFetchResult, PageRequest, Purpose, TimeLimits,
};
use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};

use super::{
    page_answers::{get, page},
    support::*,
};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).expect("memory");
    packed.finish().expect("memory")
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).expect("memory");
    packed.finish().expect("memory")
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).expect("memory");
    packed.finish().expect("memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("a block");
    let size = u16::try_from(length - 256).expect("a block");
    let block = (length << 3 | 1).to_le_bytes();
    [&b"\x28\xb5\x2f\xfd\x60"[..], &size.to_le_bytes(), &block[..3], bytes].concat()
}

fn long_page() -> Vec<u8> {
    let mut state = 1_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'a' + (state >> 24) as u8 % 26
    };
    let text: Vec<u8> = (0..50_000).map(|_| letter()).collect();
    [b"<title>A page</title><p>", text.as_slice(), b"<p>the end"].concat()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Becomes {
    Whole,
    Start,
    Coded,
}

const TEN_TIMES: &str = "gzip, gzip, gzip, gzip, gzip, gzip, gzip, gzip, gzip, gzip";
const ELEVEN_TIMES: &str = "gzip, gzip, gzip, gzip, gzip, gzip, gzip, gzip, gzip, gzip, gzip";

fn codings(page: &[u8]) -> Vec<(&'static str, Vec<u8>, Becomes)> {
    let whole = gzip(page);
    let data = whole.len() - 8;
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let two = [gzip(&page[..9_000]), gzip(&page[9_000..])].concat();
    let times = |count| (0..count).fold(page.to_vec(), |bytes, _| gzip(&bytes));
    let after = |start: &[u8]| [start, page].concat();
    let zstd = zstd(page);
    vec![
        ("gzip", whole.clone(), Becomes::Whole),
        ("gzip", whole[..data].to_vec(), Becomes::Whole),
        ("gzip", whole[..data + 4].to_vec(), Becomes::Whole),
        ("gzip", changed(data), Becomes::Whole),
        ("gzip", changed(data + 4), Becomes::Whole),
        ("gzip", two, Becomes::Whole),
        ("gzip, gzip", gzip(&whole), Becomes::Whole),
        ("GZIP", whole.clone(), Becomes::Whole),
        ("X-Gzip", whole.clone(), Becomes::Whole),
        ("\tgzip \t", whole.clone(), Becomes::Whole),
        ("gzip,gzip", gzip(&whole), Becomes::Whole),
        ("gzip, deflate", zlib(&whole), Becomes::Whole),
        ("deflate, gzip", gzip(&deflate(page)), Becomes::Whole),
        ("gzip, gzip", gzip(&whole[..data])[..data].to_vec(), Becomes::Start),
        (TEN_TIMES, times(10), Becomes::Whole),
        (ELEVEN_TIMES, times(11), Becomes::Coded),
        ("deflate", zlib(page), Becomes::Whole),
        ("deflate", zlib(page)[..zlib(page).len() - 4].to_vec(), Becomes::Whole),
        ("deflate", deflate(page), Becomes::Whole),
        ("zstd", zstd.clone(), Becomes::Whole),
        // Chromium decodes nothing if the header contains an unknown name.
        ("none", page.to_vec(), Becomes::Whole),
        ("", page.to_vec(), Becomes::Whole),
        ("identity", page.to_vec(), Becomes::Whole),
        ("gzip, identity", page.to_vec(), Becomes::Whole),
        ("x, gzip", page.to_vec(), Becomes::Whole),
        ("gzip, ", page.to_vec(), Becomes::Whole),
        ("compress", page.to_vec(), Becomes::Whole),
        ("dcb", page.to_vec(), Becomes::Whole),
        ("gzip", whole[..data / 2].to_vec(), Becomes::Start),
        ("deflate", deflate(page)[..data / 2].to_vec(), Becomes::Start),
        ("gzip, gzip", gzip(&whole)[..data / 2].to_vec(), Becomes::Start),
        ("zstd", zstd[..10].to_vec(), Becomes::Coded),
        ("gzip", page.to_vec(), Becomes::Coded),
        ("gzip", whole[..10].to_vec(), Becomes::Coded),
        ("gzip, gzip", whole, Becomes::Coded),
        ("br, br, br, br", page.to_vec(), Becomes::Coded),
        ("br", page.to_vec(), Becomes::Coded),
        ("compress", after(b"\x1f\x9d\x90"), Becomes::Coded),
        ("dcb", after(b"\xff\x44\x43\x42"), Becomes::Coded),
        ("dcz", after(b"\x5e\x2a\x4d\x18"), Becomes::Coded),
    ]
}

#[tokio::test]
async fn a_body_is_decoded_up_to_its_first_error_for_pages_and_icons() {
    let whole_page = long_page();
    let served = codings(&whole_page);
    let net = Net::start(move |asked| {
        let (coding, body, _) = &served[asked.path[1..].parse::<usize>().expect("a number")];
        let lines = ["content-type: text/html", &format!("content-encoding: {coding}")];
        Reply::Send(answer_with("200 OK", &lines, body))
    })
    .await;
    let fetcher = net.fetcher();
    for (number, (coding, body, becomes)) in codings(&whole_page).into_iter().enumerate() {
        let url = format!("http://a.test/{number}");
        let fetched = get(&net, PageRequest::new(&url, &page())).await;
        let icon = fetch_one(&fetcher, &url).await;
        let found = (fetched.outcome, fetched.truncated, fetched.is_coded);
        let head = String::from_utf8(fetched.exchanges[0].response_head.clone()).expect("text");
        let of_wire = header(&head, "content-encoding");
        let length = fetched.body.len().to_string();
        assert_eq!(header(&head, "content-length"), Some(length), "{number} {coding}");
        if becomes == Becomes::Coded {
            assert_eq!(found, (Outcome::ContentDecode, None, true), "{number} {coding}");
            assert!(fetched.body == body && fetched.has_body(), "{number} {coding}");
            assert_eq!(of_wire.as_deref(), Some(coding), "{number}");
            assert_eq!((icon.outcome, icon.body.len()), (Outcome::ContentDecode, 0), "{coding}");
            continue;
        }
        let cut = (becomes == Becomes::Start).then_some(CutReason::Disconnect);
        assert_eq!(found, (Outcome::Ok, cut, false), "{number} {coding}");
        assert!(whole_page.starts_with(&fetched.body), "{number} {coding}");
        assert!(fetched.body.len() == whole_page.len() || cut.is_some(), "{number} {coding}");
        assert!(fetched.body.len() > 20_000 && fetched.has_body(), "{number} {coding}");
        assert_eq!(of_wire, None, "{number} {coding}");
        assert_eq!((icon.outcome, &icon.body), (Outcome::Ok, &fetched.body), "{number} {coding}");
    }
}

async fn broken_off(
    fields: &'static str,
    sent: Vec<u8>,
    then: fn(Vec<u8>) -> Reply,
) -> PageFetchResult {
    let net = Net::start(move |_| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n{fields}\r\n");
        then([head.as_bytes(), &sent].concat())
    })
    .await;
    let purpose = page().within(TimeLimits {
        connect: Duration::from_secs(5),
        first_byte: Duration::from_secs(5),
        total: Duration::from_secs(2),
    });
    get(&net, PageRequest::new("http://a.test/", &purpose)).await
}

#[tokio::test]
async fn a_page_keeps_the_part_of_a_body_that_arrived() {
    let whole_page = long_page();
    let chunk = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes].concat();
    let packed = gzip(&whole_page);
    let half = packed[..packed.len() / 2].to_vec();
    use CutReason::{Disconnect, Time};
    use Outcome::{BodyTruncated, H1Parse, TotalTimeout};
    let length = "content-length: 99999\r\n";
    let chunked = "transfer-encoding: chunked\r\n";
    let coded_length = "content-length: 99999\r\ncontent-encoding: gzip\r\n";
    let bad_chunk = [chunk(&whole_page), b"\r\nno length\r\n".to_vec()].concat();
    for (fields, sent, then, outcome, cut, is_whole) in [
        (
            length,
            whole_page.clone(),
            Reply::SendAndClose as fn(_) -> _,
            BodyTruncated,
            Disconnect,
            true,
        ),
        (chunked, chunk(&whole_page), Reply::SendAndClose, BodyTruncated, Disconnect, true),
        (chunked, bad_chunk, Reply::SendAndClose, H1Parse, Disconnect, true),
        (coded_length, packed.clone(), Reply::SendAndClose, BodyTruncated, Disconnect, true),
        (coded_length, half.clone(), Reply::SendAndClose, BodyTruncated, Disconnect, false),
        (length, whole_page.clone(), Reply::SendAndHang, TotalTimeout, Time, true),
        (coded_length, half.clone(), Reply::SendAndHang, TotalTimeout, Time, false),
    ] {
        let fetched = broken_off(fields, sent, then).await;
        assert_eq!((fetched.outcome, fetched.truncated), (outcome, Some(cut)), "{fields}");
        assert!(fetched.has_body() && !fetched.has_lost_body() && !fetched.is_coded, "{fields}");
        assert!(whole_page.starts_with(&fetched.body), "{fields}");
        assert!(fetched.body.len() == whole_page.len() || !is_whole, "{fields}");
        assert!(fetched.body.len() > 20_000, "{fields}");
    }
    let fetched = broken_off(length, whole_page.clone(), Reply::SendAndReset).await;
    assert_eq!((fetched.outcome, fetched.truncated), (Outcome::BodyReset, Some(Disconnect)));
    assert!(whole_page.starts_with(&fetched.body));
    let fetched = broken_off(coded_length, packed[..10].to_vec(), Reply::SendAndClose).await;
    assert_eq!((fetched.outcome, fetched.is_coded), (BodyTruncated, true));
    assert_eq!(fetched.body, packed[..10]);
    let fetched = broken_off(length, Vec::new(), Reply::SendAndClose).await;
    assert!(fetched.has_lost_body() && !fetched.has_body());
}

#[tokio::test]
async fn the_limit_applies_to_received_and_to_decoded_bytes() {
    let served = |path: &str| {
        let bytes = vec![b'x'; 3 * DEFAULT_PAGE_BYTES];
        match path {
            "/gzip" => ("gzip", gzip(&bytes)),
            "/twice" => ("gzip, gzip", gzip(&gzip(&bytes))),
            "/deflate" => ("deflate", zlib(&bytes)),
            "/nothing" => ("gzip", gzip(b"").repeat(200_000)),
            _ => ("compress", bytes),
        }
    };
    let net = Net::start(move |asked| {
        let (coding, body) = served(&asked.path);
        let lines = ["content-type: text/html", &format!("content-encoding: {coding}")];
        Reply::SendAndClose(answer_with("200 OK", &lines, &body))
    })
    .await;
    for (path, outcome, bytes, cut) in [
        ("gzip", Outcome::Ok, DEFAULT_PAGE_BYTES, CutReason::Length),
        ("twice", Outcome::Ok, DEFAULT_PAGE_BYTES, CutReason::Length),
        ("deflate", Outcome::Ok, DEFAULT_PAGE_BYTES, CutReason::Length),
        ("nothing", Outcome::ContentDecode, DEFAULT_PAGE_BYTES, CutReason::Length),
        ("unknown", Outcome::Ok, DEFAULT_PAGE_BYTES, CutReason::Length),
    ] {
        let url = format!("http://a.test/{path}");
        let fetched = get(&net, PageRequest::new(&url, &page())).await;
        let found = (fetched.outcome, fetched.body.len(), fetched.truncated);
        assert_eq!(found, (outcome, bytes, Some(cut)), "{path}");
        let media = Purpose::media(DEFAULT_PAGE_BYTES, everytab_fetcher::ContentTypes::any());
        let fetched = get(&net, PageRequest::new(&url, &media)).await;
        let found = (fetched.outcome, fetched.body.len(), fetched.has_lost_body());
        assert_eq!(found, (Outcome::BodyTooLarge, 0, true), "{path}");
    }
}

/// Values of `Location`, with the URLs that Chromium 156 requested for them.
const LOCATIONS: [(&[u8], &str); 25] = [
    (b"/caf\xe9.png?\xe9", "http://a.test/caf%E9.png?%E9"),
    ("/caf\u{e9}.png?\u{e9}".as_bytes(), "http://a.test/caf%C3%A9.png?%C3%A9"),
    (b"/\xc7\xd1\xb1\xdb.png?q=\xc7\xd1", "http://a.test/%C7%D1%B1%DB.png?q=%C7%D1"),
    (b"/\xc4\xe3\xba\xc3", "http://a.test/%C4%E3%BA%C3"),
    (b"/\x83\\\x83\\?\x83\\", "http://a.test/%83/%83/?%83\\"),
    (b"/\xc3\xa9\xe9?\xe9\xc3\xa9", "http://a.test/%C3%A9%E9?%E9%C3%A9"),
    (b"/\x80\x9f\xa0", "http://a.test/%80%9F%A0"),
    (b"/\xa0x", "http://a.test/%A0x"),
    (b"/\xe2\x80\xa8", "http://a.test/%E2%80%A8"),
    (b"/\xed\xa0\x80", "http://a.test/%ED%A0%80"),
    (b"/\xc0\xaf", "http://a.test/%C0%AF"),
    (b"/x#\xe9", "http://a.test/x"),
    (b"  /lead  ", "http://a.test/lead"),
    (b"\t/tl", "http://a.test/tl"),
    (b"/a\tb", "http://a.test/ab"),
    (b"/a b?c d", "http://a.test/a%20b?c%20d"),
    (b"/%e9%zz%", "http://a.test/%e9%zz%"),
    (b"\\bs\\x", "http://a.test/bs/x"),
    (b"\\\xe9", "http://a.test/%E9"),
    (b"./../a/./b\xe9", "http://a.test/a/b%E9"),
    (b"/a, /b", "http://a.test/a,%20/b"),
    (b"//b.test/sr\xe9", "http://b.test/sr%E9"),
    (b"http:/abs1", "http://a.test/abs1"),
    ("http://b\u{fc}cher.test/x".as_bytes(), "http://xn--bcher-kva.test/x"),
    (b"///b.test./x", "http://b.test/x"),
];

#[tokio::test]
async fn a_location_is_encoded_as_chromium_encodes_it() {
    let net = Net::start(|asked| {
        let number = asked.path.strip_prefix("/from/").and_then(|number| number.parse().ok());
        let Some(number) = number.filter(|number: &usize| *number < LOCATIONS.len()) else {
            return ok(asked.path.as_bytes());
        };
        let fields = [b"HTTP/1.1 302 Found\r\nlocation: ", LOCATIONS[number].0, b"\r\n"].concat();
        Reply::Send([fields.as_slice(), b"content-length: 0\r\n\r\n"].concat())
    })
    .await;
    net.dns.point("xn--bcher-kva.test", "127.0.0.1");
    let fetcher = net.fetcher();
    for (number, (location, expected)) in LOCATIONS.into_iter().enumerate() {
        let location = location.escape_ascii();
        let url = format!("http://a.test/from/{number}");
        let icon = fetch_one(&fetcher, &url).await;
        let arrived = icon.final_url.split('#').next();
        assert_eq!((icon.outcome, arrived), (Outcome::Ok, Some(expected)), "{location}");
        let asked = expected.splitn(4, '/').nth(3).expect("a path");
        assert_eq!(icon.body, format!("/{asked}").as_bytes(), "{location}");
        let fetched = get(&net, PageRequest::new(&url, &page())).await;
        assert_eq!(fetched.outcome, Outcome::Redirected, "{location}");
        let redirect = fetched.redirect.as_deref().and_then(|url| url.split('#').next());
        assert_eq!(redirect, Some(expected), "{location}");
    }
}

#[tokio::test]
async fn a_trailing_dot_does_not_change_the_hostname() {
    let net = Net::start(|asked| {
        assert_eq!(header(&asked.head, "host").as_deref(), Some("a.test"));
        ok(b"icon")
    })
    .await;
    let icon = fetch_one(&net.fetcher(), "http://a.test./x").await;
    assert_eq!((icon.outcome, icon.final_url.as_str()), (Outcome::Ok, "http://a.test/x"));
}
