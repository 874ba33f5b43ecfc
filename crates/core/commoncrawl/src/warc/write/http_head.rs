//! Builds a stored response's head, which must match its decoded body.
//!
//! As in Common Crawl's archives, headers that no longer apply get the prefix `X-Crawler-`.

use super::WriteError;
use crate::warc::{headers::Headers, http::split_head};

/// Builds the head for a response with `body_length` bytes in its decoded body. Headers whose names
/// are not tokens (RFC 9110 5.6.2) are omitted.
pub fn http_head<'a>(
    status: u16,
    reason: &str,
    headers: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    body_length: u64,
) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status:03} ").into_bytes();
    push_value(&mut head, reason.as_bytes());
    head.extend_from_slice(b"\r\n");
    push_fields(&mut head, headers, body_length);
    head
}

/// Converts a head as received to one for a decoded body with `body_length` bytes.
pub fn stored_head(raw: &[u8], body_length: u64) -> Vec<u8> {
    let (head, _) = split_head(raw);
    let line_end = head.iter().position(|byte| *byte == b'\n').unwrap_or(head.len());
    let (status_line, fields) = head.split_at(line_end);
    let mut stored = Vec::with_capacity(head.len() + 64);
    push_value(&mut stored, status_line.trim_ascii());
    if !stored.starts_with(b"HTTP/") {
        stored.splice(..0, *b"HTTP/1.1 000 ");
    }
    stored.extend_from_slice(b"\r\n");
    let headers = Headers::parse(fields.strip_prefix(b"\n").unwrap_or_default());
    let fields = headers.fields().iter();
    let fields = fields.map(|(name, value)| (name.as_bytes(), value.as_slice()));
    push_fields(&mut stored, fields, body_length);
    stored
}

pub(super) fn check(head: &[u8]) -> Result<(), WriteError> {
    let (fields, rest) = split_head(head);
    let is_whole = head.starts_with(b"HTTP/") && rest.is_empty() && fields.len() < head.len();
    if is_whole { Ok(()) } else { Err(WriteError::HttpHead) }
}

pub(super) fn check_request(head: &[u8]) -> Result<(), WriteError> {
    let (fields, rest) = split_head(head);
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let words: Vec<&[u8]> = line.trim_ascii().split(|byte| *byte == b' ').collect();
    let is_line = matches!(words[..], [method, _, version]
        if !method.is_empty() && method.iter().all(is_token_byte) && version.starts_with(b"HTTP/"));
    let is_whole = is_line && rest.is_empty() && fields.len() < head.len();
    if is_whole { Ok(()) } else { Err(WriteError::HttpHead) }
}

fn push_fields<'a>(
    head: &mut Vec<u8>,
    headers: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    body_length: u64,
) {
    let body_length = body_length.to_string();
    for (name, value) in headers {
        if name.is_empty() || !name.iter().all(is_token_byte) {
            continue;
        }
        if name.eq_ignore_ascii_case(b"content-length") && value == body_length.as_bytes() {
            continue;
        }
        let no_longer_holds = [&b"content-encoding"[..], b"transfer-encoding", b"content-length"];
        if no_longer_holds.iter().any(|other| name.eq_ignore_ascii_case(other)) {
            head.extend_from_slice(b"X-Crawler-");
        }
        head.extend_from_slice(name);
        head.extend_from_slice(b": ");
        push_value(head, value.trim_ascii());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(format!("Content-Length: {body_length}\r\n\r\n").as_bytes());
}

fn push_value(head: &mut Vec<u8>, value: &[u8]) {
    head.extend(value.iter().map(|byte| if byte.is_ascii_control() { b' ' } else { *byte }));
}

fn is_token_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(head: Vec<u8>) -> String {
        String::from_utf8(head).unwrap()
    }

    #[test]
    fn removed_codings_are_kept_under_another_name() {
        let headers: [(&[u8], &[u8]); 4] = [
            (b"content-type", b"image/png"),
            (b"Content-Encoding", b"gzip"),
            (b"transfer-encoding", b"chunked"),
            (b"content-length", b"77"),
        ];
        assert_eq!(
            text(http_head(200, "OK", headers, 5)),
            "HTTP/1.1 200 OK\r\ncontent-type: image/png\r\nX-Crawler-Content-Encoding: gzip\r\n\
             X-Crawler-transfer-encoding: chunked\r\nX-Crawler-content-length: 77\r\n\
             Content-Length: 5\r\n\r\n"
        );
        let kept: [(&[u8], &[u8]); 1] = [(b"Content-Length", b"5")];
        assert_eq!(text(http_head(404, "", kept, 5)), "HTTP/1.1 404 \r\nContent-Length: 5\r\n\r\n");
    }

    #[test]
    fn a_header_cannot_break_the_head() {
        let headers: [(&[u8], &[u8]); 3] =
            [(b"a b", b"1"), (b"", b"2"), (b"x", b"1\r\nInjected: yes\r\n\r\n<html>")];
        let head = http_head(200, "O\r\nK", headers, 0);
        assert!(check(&head).is_ok());
        assert_eq!(
            text(head),
            "HTTP/1.1 200 O  K\r\nx: 1  Injected: yes    <html>\r\nContent-Length: 0\r\n\r\n"
        );
    }

    #[test]
    fn a_received_head_is_rewritten() {
        let raw = b"HTTP/1.0 200 OK\nSet-Cookie: a\nset-cookie: b\nX: 1\n  2\n\nbody";
        assert_eq!(
            text(stored_head(raw, 4)),
            "HTTP/1.0 200 OK\r\nset-cookie: a\r\nset-cookie: b\r\nx: 1 2\r\n\
             Content-Length: 4\r\n\r\n"
        );
        assert!(check(&stored_head(b"", 0)).is_ok());
        assert!(check(b"HTTP/1.1 200 OK\r\n").is_err());
        assert!(check(b"HTTP/1.1 200 OK\r\n\r\nbody").is_err());
    }

    #[test]
    fn a_request_head_has_a_request_line_and_no_body() {
        assert!(check_request(b"GET /a?b HTTP/1.1\r\nHost: a.example\r\n\r\n").is_ok());
        assert!(check_request(b"GET / HTTP/2\r\n\r\n").is_ok());
        for wrong in [
            &b""[..],
            b"GET / HTTP/1.1\r\n",
            b"GET / HTTP/1.1\r\n\r\nbody",
            b"GET /a b HTTP/1.1\r\n\r\n",
            b" / HTTP/1.1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
        ] {
            assert!(check_request(wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }
}
