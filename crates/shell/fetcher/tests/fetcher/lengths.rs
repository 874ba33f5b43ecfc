//! Tests how body lengths are determined. The expected results are from Chromium 156, which loaded
//! each response as an icon and as a page.

use everytab_fetcher::{Outcome, PageRequest};

use super::{
    page_answers::{get, page},
    support::*,
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shows {
    Body,
    /// The body without its last three bytes.
    Start,
    /// The body with its chunk headers.
    Chunks,
    Nothing,
}

/// In field values, N is replaced by the body's length, M by this length plus one, and L by this
/// length minus three.
const JUDGED: &[(&str, &[&str], Shows)] = &[
    ("1.1", &["content-length: N"], Shows::Body),
    ("1.1", &["content-length: 00N"], Shows::Body),
    ("1.1", &["content-length:\tN\t"], Shows::Body),
    ("1.1", &["content-length: N, N"], Shows::Body),
    ("1.1", &["content-length: N,N"], Shows::Body),
    ("1.1", &["content-length:\r\n N"], Shows::Body),
    ("1.1", &["Content-Length : N"], Shows::Body),
    ("1.1", &["content-length: -1"], Shows::Body),
    ("1.1", &["content-length: -N"], Shows::Body),
    ("1.1", &["content-length:"], Shows::Body),
    ("1.1", &["content-length:   "], Shows::Body),
    ("1.1", &["content-length: +N"], Shows::Body),
    ("1.1", &["content-length: +0"], Shows::Body),
    ("1.1", &["content-length: abc"], Shows::Body),
    ("1.1", &["CONTENT-LENGTH: abc"], Shows::Body),
    ("1.1", &["content-length : abc"], Shows::Body),
    ("1.1", &["content-length: 0xN"], Shows::Body),
    ("1.1", &["content-length: N.0"], Shows::Body),
    ("1.1", &["content-length: 1e3"], Shows::Body),
    ("1.1", &["content-length: N N"], Shows::Body),
    ("1.1", &["content-length: Nbytes"], Shows::Body),
    ("1.1", &["content-length: N;"], Shows::Body),
    ("1.1", &["content-length: \"N\""], Shows::Body),
    ("1.1", &["content-length: \u{e9}"], Shows::Body),
    ("1.1", &["content-length: N\r\n abc"], Shows::Body),
    ("1.1", &["content-length: abc, abc"], Shows::Body),
    ("1.1", &["content-length: -1, -1"], Shows::Body),
    ("1.1", &["content-length: +N, +N"], Shows::Body),
    ("1.1", &["content-length: ,"], Shows::Body),
    ("1.1", &["content-length: 9223372036854775808"], Shows::Body),
    ("1.1", &["content-length: 18446744073709551615"], Shows::Body),
    ("1.1", &["content-length: 18446744073709551616"], Shows::Body),
    ("1.1", &["content-length: 9999999999999999999999999999999999999999"], Shows::Body),
    ("1.1", &["content-length: N", "content-length: N"], Shows::Body),
    ("1.1", &["content-length:", "content-length:"], Shows::Body),
    ("1.1", &["content-length: abc", "content-length: abc"], Shows::Body),
    ("1.1", &["transfer-encoding: identity", "content-length: N"], Shows::Body),
    ("1.1", &["transfer-encoding:", "content-length: N"], Shows::Body),
    ("1.1", &["transfer-encoding: identity", "content-length: -1"], Shows::Body),
    ("1.1", &["transfer-encoding: x"], Shows::Body),
    ("1.1", &["x: no length"], Shows::Body),
    ("1.1", &["transfer-encoding: Chunked"], Shows::Body),
    ("1.1", &["transfer-encoding : chunked"], Shows::Body),
    ("1.1", &["transfer-encoding: identity, chunked"], Shows::Body),
    ("1.1", &["transfer-encoding: gzip, chunked"], Shows::Body),
    ("1.1", &["transfer-encoding: chunked, gzip"], Shows::Body),
    ("1.1", &["transfer-encoding: chunked, chunked"], Shows::Body),
    ("1.1", &["transfer-encoding: chunked", "content-length: -1"], Shows::Body),
    ("1.1", &["transfer-encoding: chunked", "content-length:"], Shows::Body),
    ("1.1", &["transfer-encoding: chunked", "content-length: +N"], Shows::Body),
    ("1.1", &["transfer-encoding: chunked", "content-length: abc"], Shows::Body),
    ("1.1", &["transfer-encoding: chunked", "content-length: 5"], Shows::Body),
    ("1.1", &["transfer-encoding: chunked", "content-length: 5, 6"], Shows::Body),
    ("1.1", &["transfer-encoding: chunked", "content-length: 99999999999999999999"], Shows::Body),
    ("1.1", &["transfer-encoding: chunked", "transfer-encoding: gzip"], Shows::Body),
    ("1.1", &["transfer-encoding: chunked", "transfer-encoding: chunked"], Shows::Body),
    ("1.1", &["content-length: L"], Shows::Start),
    ("1.1", &["transfer-encoding: identity", "content-length: L"], Shows::Start),
    ("1.1", &["content-length: N, M"], Shows::Nothing),
    ("1.1", &["content-length: M, N"], Shows::Nothing),
    ("1.1", &["content-length: N,"], Shows::Nothing),
    ("1.1", &["content-length: ,N"], Shows::Nothing),
    ("1.1", &["content-length: N, ,N"], Shows::Nothing),
    ("1.1", &["content-length: N, abc"], Shows::Nothing),
    ("1.1", &["content-length: abc, N"], Shows::Nothing),
    ("1.1", &["content-length: -1, N"], Shows::Nothing),
    ("1.1", &["content-length: -0"], Shows::Nothing),
    ("1.1", &["content-length: N", "content-length: M"], Shows::Nothing),
    ("1.1", &["content-length: N", "content-length: -1"], Shows::Nothing),
    ("1.1", &["content-length: -1", "content-length: N"], Shows::Nothing),
    ("1.1", &["content-length: N", "content-length:"], Shows::Nothing),
    ("1.1", &["content-length:", "content-length: N"], Shows::Nothing),
    ("1.1", &["content-length: +N", "content-length: N"], Shows::Nothing),
    ("1.1", &["content-length: abc", "content-length: abd"], Shows::Nothing),
    ("1.1", &["transfer-encoding: x", "content-length: 5", "content-length: 6"], Shows::Nothing),
    ("1.0", &["content-length: N"], Shows::Body),
    ("1.0", &["content-length: -1"], Shows::Body),
    ("1.0", &["x: no length"], Shows::Body),
    ("1.0", &["transfer-encoding: identity"], Shows::Body),
    ("1.0", &["transfer-encoding: chunked"], Shows::Chunks),
    ("1.0", &["transfer-encoding: chunked", "content-length: -1"], Shows::Chunks),
];

fn served(version: &str, fields: &[&str], body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut head = format!("HTTP/{version} 200 OK\r\ncontent-type: text/html\r\n").into_bytes();
    for field in fields {
        let (name, value) = field.split_once(':').expect("a field");
        let value = value.replace('N', &length.to_string());
        let value = value.replace('M', &(length + 1).to_string());
        let value = value.replace('L', &(length - 3).to_string());
        head.extend_from_slice(name.as_bytes());
        head.push(b':');
        head.extend(value.chars().map(|character| character as u8));
        head.extend_from_slice(b"\r\n");
    }
    [&head, b"\r\n".as_slice(), body].concat()
}

fn chunks(body: &[u8]) -> Vec<u8> {
    let (first, second) = body.split_at(body.len() / 2);
    let chunk = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes].concat();
    [chunk(first), chunk(second), chunk(b""), Vec::new()].join(&b"\r\n"[..])
}

fn is_chunked(fields: &[&str]) -> bool {
    fields.iter().any(|field| field.to_ascii_lowercase().contains("chunked"))
}

#[tokio::test]
async fn a_body_ends_where_it_ends_in_chromium() {
    let body = png(16, 0);
    let chunked = chunks(&body);
    let on_the_wire = |fields: &[&str]| if is_chunked(fields) { &chunked } else { &body }.clone();
    let replies: Vec<Vec<u8>> = JUDGED
        .iter()
        .map(|(version, fields, _)| served(version, fields, &on_the_wire(fields)))
        .collect();
    let net = Net::start(move |asked| {
        let number: usize = asked.path[1..].parse().expect("a number");
        Reply::SendAndClose(replies[number].clone())
    })
    .await;
    let fetcher = net.fetcher();
    for (number, (version, fields, shows)) in JUDGED.iter().enumerate() {
        let url = format!("http://a.test/{number}");
        let icon = fetch_one(&fetcher, &url).await;
        let fetched = get(&net, PageRequest::new(&url, &page())).await;
        let expected = match shows {
            Shows::Body => body.as_slice(),
            Shows::Start => &body[..body.len() - 3],
            Shows::Chunks => &chunked,
            Shows::Nothing => {
                assert_eq!(icon.outcome, Outcome::H1Parse, "{version} {fields:?}");
                assert_eq!(fetched.outcome, Outcome::H1Parse, "{version} {fields:?}");
                continue;
            }
        };
        assert_eq!((icon.outcome, fetched.outcome), (Outcome::Ok, Outcome::Ok), "{fields:?}");
        assert!(icon.body == expected && fetched.body == expected, "{version} {fields:?}");
        assert_eq!(fetched.truncated, None, "{version} {fields:?}");
        let head = String::from_utf8_lossy(&fetched.exchanges[0].response_head).into_owned();
        let length = expected.len().to_string();
        assert_eq!(header(&head, "content-length"), Some(length), "{version} {fields:?}");
    }
}

#[tokio::test]
async fn the_record_has_the_length_that_the_server_declared() {
    let net = Net::start(|asked| {
        let fields: &[&str] = match asked.path.as_str() {
            "/invalid" => &["content-length: -1"],
            _ => &["transfer-encoding: identity", "content-length: N"],
        };
        let reply = served("1.1", fields, b"<title>a page</title>");
        match asked.path.as_str() {
            "/invalid" => Reply::SendAndClose(reply),
            _ => Reply::SendAndHang(reply),
        }
    })
    .await;
    for (path, name, value) in [
        ("invalid", "x-crawler-content-length", "-1"),
        ("identity", "x-crawler-transfer-encoding", "identity"),
        ("identity", "x-crawler-content-length", "21"),
    ] {
        let url = format!("http://a.test/{path}");
        let fetched = get(&net, PageRequest::new(&url, &page())).await;
        assert_eq!((fetched.outcome, fetched.body.len()), (Outcome::Ok, 21), "{path}");
        let head = String::from_utf8_lossy(&fetched.exchanges[0].response_head).into_owned();
        assert_eq!(header(&head, name).as_deref(), Some(value), "{head}");
    }
}
