//! Parses the HTTP response in a record. Common Crawl stores decoded bodies, and other archives
//! store bodies as transferred.

use super::{
    coding::{self, Decoded},
    headers::{Headers, without_line_end},
    record::{Record, RecordType},
};

/// Maximum decoded body length, equal to the default block limit. Bodies beyond this limit are
/// truncated.
const MAX_BODY_BYTES: usize = 6 << 20;

/// Why a record contains no HTTP response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The record is neither a response nor a revisit.
    #[error("the record is not a response")]
    NotAResponse,
    /// The block does not start with `HTTP/`.
    #[error("the block is not an HTTP message: it starts with {0:?}")]
    NotHttp(String),
    /// The status line has no status from 100 to 999.
    #[error("the HTTP status line has no status: {0:?}")]
    NoStatus(String),
}

/// A parsed HTTP response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// Status from 100 to 999.
    pub status: u16,
    /// Headers. Common Crawl renames those that no longer apply, for example to
    /// `x-crawler-content-encoding`.
    pub headers: Headers,
    /// The body without transfer and content codings.
    pub body: Vec<u8>,
    /// An unsupported content coding that the body still has, such as `dcb`.
    pub remaining_coding: Option<String>,
    /// Whether this body is known to be incomplete.
    pub is_truncated: bool,
}

impl Record {
    /// Returns true if the type is response or revisit.
    pub fn is_response(&self) -> bool {
        matches!(self.record_type, RecordType::Response | RecordType::Revisit)
    }

    /// Parses the HTTP response in this block.
    ///
    /// # Errors
    /// Returns an error if there is no valid HTTP response.
    pub fn http_response(&self) -> Result<HttpResponse, HttpError> {
        if !self.is_response() {
            return Err(HttpError::NotAResponse);
        }
        let (head, body) = split_head(&self.block);
        let line_end = head.iter().position(|byte| *byte == b'\n').unwrap_or(head.len());
        let (status_line, fields) = head.split_at(line_end);
        let status = status(without_line_end(status_line))?;
        let headers = Headers::parse(fields.strip_prefix(b"\n").unwrap_or_default());
        let body = without_extra_line(&headers, body);
        let is_truncated = self.truncation.is_some();
        let Decoded { body, remaining_coding, is_cut } =
            coding::remove_codings(&headers, body, is_truncated, MAX_BODY_BYTES);
        let is_truncated = is_truncated || is_cut;
        Ok(HttpResponse { status, headers, body, remaining_coding, is_truncated })
    }
}

pub(super) fn split_head(message: &[u8]) -> (&[u8], &[u8]) {
    let mut line_start = 0;
    while let Some(length) =
        message.get(line_start..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n'))
    {
        let line_end = line_start + length;
        let line = message.get(line_start..line_end).unwrap_or_default();
        let is_empty = without_line_end(line).is_empty();
        if is_empty && line_start > 0 {
            let head = message.get(..line_start).unwrap_or_default();
            return (head, message.get(line_end + 1..).unwrap_or_default());
        }
        line_start = line_end + 1;
    }
    (message, &[])
}

/// Removes the empty line that precedes each body in the August 2018 crawl (issue 5 in
/// commoncrawl/nutch), because this line hides magic numbers.
///
/// If `Content-Length` does not show whether the line belongs to the body, it is removed only
/// before a magic number or an XML declaration, which must come first in a body.
fn without_extra_line<'a>(headers: &Headers, body: &'a [u8]) -> &'a [u8] {
    const FIRST_BYTES: [&[u8]; 6] =
        [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"<?xml"];
    let after = body.strip_prefix(b"\r\n").or_else(|| body.strip_prefix(b"\n"));
    let Some(rest) = after else { return body };
    let declared = headers.get("content-length").and_then(|value| std::str::from_utf8(value).ok());
    match declared.and_then(|value| value.parse::<usize>().ok()) {
        Some(bytes) if bytes == body.len() => body,
        Some(bytes) if bytes == rest.len() => rest,
        _ if FIRST_BYTES.iter().any(|first| rest.starts_with(first)) => rest,
        _ => body,
    }
}

fn status(line: &[u8]) -> Result<u16, HttpError> {
    /// Maximum bytes of a status line in an error message.
    const SHOWN_BYTES: usize = 40;
    let shown = || line.get(..SHOWN_BYTES).unwrap_or(line).escape_ascii().to_string();
    let is_http = line.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"HTTP/"));
    if !is_http {
        return Err(HttpError::NotHttp(shown()));
    }
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let status = words.nth(1).filter(|word| word.len() == 3).and_then(|word| {
        let text = std::str::from_utf8(word).ok()?;
        text.parse::<u16>().ok().filter(|status| *status >= 100)
    });
    status.ok_or_else(|| HttpError::NoStatus(shown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(block: &[u8]) -> Result<HttpResponse, HttpError> {
        let record = Record {
            version: "WARC/1.1".into(),
            record_type: RecordType::Response,
            headers: Headers::default(),
            block: block.to_vec(),
            truncation: None,
        };
        record.http_response()
    }

    #[test]
    fn real_status_lines_are_parsed() {
        for line in ["HTTP/1.1 200 OK", "HTTP/1.0 200", "http/1.1  200  fine", "HTTP/2 200 "] {
            let parsed = response(format!("{line}\r\nA: b\r\n\r\nbody").as_bytes()).unwrap();
            assert_eq!(
                (parsed.status, parsed.body.as_slice()),
                (200, b"body".as_slice()),
                "{line}"
            );
            assert_eq!(parsed.headers.get("a"), Some(b"b".as_slice()));
        }
        for line in ["HTTP/1.1", "HTTP/1.1 OK", "HTTP/1.1 20", "HTTP/1.1 +20", "HTTP/1.1 099"] {
            assert!(matches!(response(line.as_bytes()), Err(HttpError::NoStatus(_))), "{line}");
        }
        assert!(matches!(response(b"<html>"), Err(HttpError::NotHttp(_))));
        assert!(matches!(response(b""), Err(HttpError::NotHttp(_))));
    }

    #[test]
    fn an_extra_line_before_a_body_is_removed_if_the_length_or_a_magic_number_shows_it() {
        let utf16: Vec<u8> = "\u{feff}<title>x".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let utf16_big: Vec<u8> =
            "\u{feff}<title>x".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let plain = b"<title>x".to_vec();
        for (body, has_first_bytes) in [
            (utf16, true),
            (utf16_big, true),
            ("\u{feff}<title>x".into(), true),
            (b"<?xml version='1.0'?>".to_vec(), true),
            (plain, false),
            (Vec::new(), false),
        ] {
            for line in ["\r\n", "\n"] {
                let stored = [line.as_bytes(), &body].concat();
                let of = |field: &str| {
                    let head = format!("HTTP/1.1 200 OK\r\n{field}\r\n");
                    response(&[head.as_bytes(), &stored].concat()).unwrap().body
                };
                let (shorter, equal) = (body.len(), stored.len());
                assert_eq!(of(&format!("Content-Length: {shorter}\r\n")), body);
                assert_eq!(of(&format!("Content-Length: {equal}\r\n")), stored);
                let expected = if has_first_bytes { &body } else { &stored };
                for field in ["", "Content-Length: -1\r\n", "Content-Length: 999\r\n"] {
                    assert_eq!(of(field), *expected, "{field}");
                }
            }
        }
        let packed = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x01\x01\0\xfe\xffx";
        let head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\r\n";
        assert_eq!(response(&[&head[..], packed].concat()).unwrap().body, b"x");
    }

    #[test]
    fn bare_line_feeds_and_a_missing_empty_line_are_accepted() {
        let parsed = response(b"HTTP/1.1 200 OK\nA: 1\n\nx\n\ny").unwrap();
        assert_eq!(parsed.body, b"x\n\ny");
        let parsed = response(b"HTTP/1.1 204 No Content\r\nA: 1\r\n").unwrap();
        assert_eq!((parsed.status, parsed.body.len()), (204, 0));
        assert_eq!(parsed.headers.get("a"), Some(b"1".as_slice()));
        let parsed = response(b"HTTP/1.1 302 \r\r\nA: 1\r\r\n\r\r\nz").unwrap();
        assert_eq!((parsed.status, parsed.body.as_slice()), (302, b"z".as_slice()));
    }
}
