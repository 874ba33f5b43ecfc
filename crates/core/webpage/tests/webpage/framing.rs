//! Framing by the table that `make oracle` compares with Chromium (suites/framing.tsv).

use everytab_commoncrawl::warc::{Limits, read_record};
use everytab_webpage::{Framing, understand};
use url::Url;

const TABLE: &str = include_str!("suites/framing.tsv");

/// The body that the oracle serves. Policies in `meta` elements have no effect.
const BODY: &str = "<!doctype html><meta http-equiv=X-Frame-Options content=DENY>\n\
    <meta http-equiv=Content-Security-Policy content=\"frame-ancestors 'none'\"><title>t</title>";

/// Columns: Chromium's result, our result, and the header lines.
fn rows() -> impl Iterator<Item = [&'static str; 3]> {
    TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        columns.try_into().unwrap_or_else(|_| panic!("not three columns: {line}"))
    })
}

/// Decodes header lines: `\n` ends a line with CR LF, `\t` is a tab, and `\xHH` is any byte.
fn unescaped(written: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut parts = written.split('\\');
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let rest = match part.split_at_checked(1) {
            Some(("n", rest)) => [b"\r\n", rest.as_bytes()].concat(),
            Some(("t", rest)) => [b"\t", rest.as_bytes()].concat(),
            Some(("x", rest)) => {
                let (digits, rest) = rest.split_at(2);
                [&[u8::from_str_radix(digits, 16).unwrap()], rest.as_bytes()].concat()
            }
            _ => panic!("an escape that the table does not have: \\{part}"),
        };
        bytes.extend_from_slice(&rest);
    }
    bytes
}

fn framing(written: &str) -> Framing {
    let fields = unescaped(written);
    let mut block = b"HTTP/1.1 200 OK\r\nServer: x\r\n".to_vec();
    if !written.to_ascii_lowercase().contains("content-type:") {
        block.extend_from_slice(b"Content-Type: text/html\r\n");
    }
    block.extend_from_slice(&fields);
    let end = if fields.is_empty() { "\r\n" } else { "\r\n\r\n" };
    block.extend_from_slice([end, BODY].concat().as_bytes());
    let head = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://page.example/\r\n\
         Content-Length: {}\r\n\r\n",
        block.len()
    );
    let record = [head.as_bytes(), &block, b"\r\n\r\n"].concat();
    let response = read_record(&record, Limits::default()).unwrap().http_response().unwrap();
    understand("https://page.example/", response.headers.fields(), &response.body).framing
}

fn word(is_framed: bool) -> &'static str {
    if is_framed { "framed" } else { "refused" }
}

#[test]
fn headers_are_judged_as_in_the_table() {
    let viewer = Url::parse("https://viewer.example").unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for [chromium, here, written] in rows() {
        count += 1;
        let found = framing(written);
        let named = word(found.frameable(Some(&viewer)));
        // Only a source that matches the viewer's host can distinguish the viewer from other sites.
        let unnamed = word(found.frameable(None));
        let is_named = written.to_ascii_lowercase().contains("example");
        if named != here || (!is_named && unnamed != here) {
            wrong.push(format!("{here}, not {named}, {unnamed} ({}): {written}", found.rule));
        }
        if chromium != here && !written.starts_with("Content-Type:") {
            wrong.push(format!("{chromium} in Chromium, and not by Content-Type: {written}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 400, "the table has {count} rows");
}
