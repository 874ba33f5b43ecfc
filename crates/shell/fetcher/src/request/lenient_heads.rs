//! Edits response heads over HTTP/1 so that hyper finds the same end of the body as Chromium 156.
//!
//! hyper rejects an invalid `Content-Length`, and reads the body until the connection ends if the
//! last transfer coding is not chunked. Chromium ignores an invalid length, and all transfer
//! codings except chunked. This module therefore removes or replaces such fields in the head, and
//! restores them after hyper has parsed it. It never changes a body.

use std::{
    io::{self, IoSlice},
    ops::Range,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use everytab_commoncrawl::coding;
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum size of a head in bytes.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Bytes per read while a head is incomplete.
const PIECE_BYTES: usize = 4 * 1024;
const HEAD_START: &[u8] = b"HTTP/1.";
/// Replaces the removed fields of a chunked response.
const CHUNKED_LINE: &[u8] = b"transfer-encoding: chunked\r\n";

#[derive(Default)]
pub(crate) struct Heads {
    is_expected: AtomicBool,
    removed: Mutex<HeaderMap>,
}

impl Heads {
    /// Announces a response. Must be called before sending a request on an idle connection.
    pub(crate) fn expect(&self) {
        self.removed.lock().clear();
        self.is_expected.store(true, Ordering::Relaxed);
    }

    pub(crate) fn restore(&self, headers: &mut HeaderMap) {
        let removed = std::mem::take(&mut *self.removed.lock());
        for name in removed.keys() {
            headers.remove(name);
        }
        for (name, value) in &removed {
            headers.append(name.clone(), value.clone());
        }
    }
}

pub(crate) struct LenientHeads<S> {
    stream: S,
    heads: Arc<Heads>,
    is_in_head: bool,
    /// Received bytes. hyper has already read the bytes before `given`, and may read those before
    /// `ready`.
    bytes: Vec<u8>,
    given: usize,
    ready: usize,
    /// `line` is the start of the incomplete last line. The bytes from `line` to `scanned` contain
    /// no line feed.
    line: usize,
    scanned: usize,
}

impl<S> LenientHeads<S> {
    pub(crate) fn new(stream: S, heads: Arc<Heads>) -> Self {
        let (given, ready, line, scanned) = (0, 0, 0, 0);
        let bytes = Vec::new();
        Self { stream, heads, is_in_head: false, bytes, given, ready, line, scanned }
    }

    fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        while self.is_in_head {
            self.skip_empty_lines();
            let head = self.bytes.get(self.ready..).unwrap_or_default();
            let is_head = head.iter().zip(HEAD_START).all(|(byte, expected)| byte == expected);
            if piece.is_empty() || !is_head || head.len() > MAX_HEAD_BYTES {
                self.give_all();
                return;
            }
            let Some(end) = self.head_end() else { return };
            let head = self.bytes.get(self.ready..end).unwrap_or_default();
            if is_interim(head) {
                self.ready = end;
                continue;
            }
            if let Some((edited, removed)) = edited(head) {
                *self.heads.removed.lock() = removed;
                self.bytes.splice(self.ready..end, edited);
            }
            self.give_all();
        }
    }

    /// hyper ignores empty lines before a head.
    fn skip_empty_lines(&mut self) {
        let rest = self.bytes.get(self.ready..).unwrap_or_default();
        self.ready += rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.line = self.line.max(self.ready);
        self.scanned = self.scanned.max(self.ready);
    }

    fn give_all(&mut self) {
        self.is_in_head = false;
        self.ready = self.bytes.len();
    }

    fn head_end(&mut self) -> Option<usize> {
        let rest = |bytes: &[u8], from: usize| {
            bytes.get(from..).unwrap_or_default().iter().position(|byte| *byte == b'\n')
        };
        while let Some(length) = rest(&self.bytes, self.scanned) {
            let end = self.scanned + length + 1;
            let is_empty = matches!(self.bytes.get(self.line..end), Some(b"\n" | b"\r\n"));
            (self.line, self.scanned) = (end, end);
            if is_empty {
                return Some(end);
            }
        }
        self.scanned = self.bytes.len();
        None
    }

    fn give(&mut self, buffer: &mut ReadBuf<'_>) {
        let rest = self.bytes.get(self.given..self.ready).unwrap_or_default();
        let taken = rest.get(..buffer.remaining()).unwrap_or(rest);
        buffer.put_slice(taken);
        self.given += taken.len();
        if self.given == self.ready {
            self.bytes.drain(..self.ready);
            self.line = self.line.saturating_sub(self.ready);
            self.scanned = self.scanned.saturating_sub(self.ready);
            (self.given, self.ready) = (0, 0);
            if self.bytes.is_empty() {
                self.bytes = Vec::new();
                (self.line, self.scanned) = (0, 0);
            }
        }
    }
}

impl<S: AsyncRead + Unpin> LenientHeads<S> {
    /// Like browsers, this accepts the end of a TLS stream without a closing message.
    fn poll_stream(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Poll::Ready(Ok(()))
            }
            other => other,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LenientHeads<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.is_in_head |= this.heads.is_expected.swap(false, Ordering::Relaxed);
        while this.given == this.ready {
            if !this.is_in_head {
                return this.poll_stream(context, buffer);
            }
            let mut piece = [0; PIECE_BYTES];
            let mut piece = ReadBuf::new(&mut piece);
            ready!(this.poll_stream(context, &mut piece))?;
            this.push(piece.filled());
        }
        this.give(buffer);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LenientHeads<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// Returns true for any 1xx status except 101, which ends HTTP.
fn is_interim(head: &[u8]) -> bool {
    matches!(head.get(8..12), Some([b' ', b'1', tens, ones]) if (*tens, *ones) != (b'0', b'1'))
}

/// Returns the edited head and the removed fields. `None` if no change is needed.
fn edited(head: &[u8]) -> Option<(Vec<u8>, HeaderMap)> {
    let codings = fields(head, &TRANSFER_ENCODING);
    let lengths = fields(head, &CONTENT_LENGTH);
    let names: Vec<String> = tokens(&codings).collect();
    let is_http_10 = head.starts_with(b"HTTP/1.0");
    let is_chunked = !is_http_10 && names.iter().any(|name| name == "chunked");
    let is_read_alike = is_chunked && names.last().is_some_and(|name| name == "chunked");
    let mut removed: Vec<(&HeaderName, &Field)> = Vec::new();
    if !is_read_alike {
        removed.extend(codings.iter().map(|field| (&TRANSFER_ENCODING, field)));
    }
    if !is_chunked && has_no_length(&lengths) {
        removed.extend(lengths.iter().map(|field| (&CONTENT_LENGTH, field)));
    }
    removed.sort_by_key(|(_, field)| field.lines.start);
    let first_start = removed.first()?.1.lines.start;
    let mut kept = Vec::with_capacity(head.len());
    let mut at = 0;
    let mut headers = HeaderMap::new();
    for (name, field) in removed {
        kept.extend_from_slice(head.get(at..field.lines.start).unwrap_or_default());
        at = field.lines.end;
        if is_chunked && field.lines.start == first_start {
            kept.extend_from_slice(CHUNKED_LINE);
        }
        if let Ok(value) = HeaderValue::from_bytes(&field.value) {
            headers.append(name.clone(), value);
        }
    }
    kept.extend_from_slice(head.get(at..).unwrap_or_default());
    Some((kept, headers))
}

/// Returns true if all `Content-Length` values are identical and invalid, so the body ends with the
/// connection. If the values differ, browsers and hyper return an error, unless the body is
/// chunked.
fn has_no_length(lengths: &[Field]) -> bool {
    let mut values = tokens(lengths);
    let Some(first) = values.next() else { return false };
    let is_length = !first.starts_with('+') && first.parse::<i64>().is_ok_and(|length| length >= 0);
    !is_length && values.all(|value| value == first)
}

fn tokens(fields: &[Field]) -> impl Iterator<Item = String> {
    coding::tokens(fields.iter().map(|field| field.value.as_slice()))
}

struct Field {
    /// Includes continuation lines.
    lines: Range<usize>,
    value: Vec<u8>,
}

fn fields(head: &[u8], name: &HeaderName) -> Vec<Field> {
    let mut found: Vec<Field> = Vec::new();
    let (mut end, mut is_found) = (0, false);
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        let lines = end..end + line.len();
        end = lines.end;
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            if let Some(field) = found.last_mut().filter(|_| is_found) {
                field.lines.end = end;
                field.value.push(b' ');
                field.value.extend_from_slice(line.trim_ascii());
            }
            continue;
        }
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let key = parts.next().unwrap_or_default().trim_ascii_end();
        let value = parts.next();
        is_found = value.is_some() && key.eq_ignore_ascii_case(name.as_str().as_bytes());
        if is_found {
            found.push(Field { lines, value: value.unwrap_or_default().trim_ascii().to_vec() });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn after(version: &str, lines: &str) -> String {
        let head = format!("HTTP/{version} 200 OK\r\n{lines}\r\n");
        let kept = edited(head.as_bytes()).map_or(head.clone().into_bytes(), |(kept, _)| kept);
        let kept = String::from_utf8(kept).expect("text");
        let start = format!("HTTP/{version} 200 OK\r\n");
        kept.strip_prefix(&start).and_then(|rest| rest.strip_suffix("\r\n")).expect("a head").into()
    }

    #[test]
    fn only_fields_that_browsers_ignore_are_removed() {
        let chunked = "transfer-encoding: chunked\r\n";
        for (version, lines, expected) in [
            ("1.1", "Content-Length: 5\r\n", "Content-Length: 5\r\n"),
            ("1.1", "Content-Length: -5\r\nA: b\r\n", "A: b\r\n"),
            ("1.1", "A: b\r\nCONTENT-LENGTH :\r\n \t x\r\nC: d\r\n", "A: b\r\nC: d\r\n"),
            ("1.1", "Content-Length: x\nContent-Length:x, x\n", ""),
            ("1.1", "Content-Length: 5, 6\r\n", "Content-Length: 5, 6\r\n"),
            ("1.1", "Content-Length: 5\r\nContent-Length: x\r\n", {
                "Content-Length: 5\r\nContent-Length: x\r\n"
            }),
            ("1.1", "X-Content-Length: x\r\nContent-Length\r\n", {
                "X-Content-Length: x\r\nContent-Length\r\n"
            }),
            ("1.1", "Content-Length: 9223372036854775808\r\n", ""),
            ("1.1", "Transfer-Encoding: x\r\nContent-Length: 5\r\n", "Content-Length: 5\r\n"),
            ("1.1", "transfer-encoding: chunked\r\n", chunked),
            ("1.1", "Transfer-Encoding: Chunked\r\nTransfer-Encoding: gzip\r\nA: b\r\n", {
                "transfer-encoding: chunked\r\nA: b\r\n"
            }),
            ("1.1", "Transfer-Encoding: gzip, chunked\r\nContent-Length: x\r\n", {
                "Transfer-Encoding: gzip, chunked\r\nContent-Length: x\r\n"
            }),
            ("1.0", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "Content-Length: 5\r\n"),
        ] {
            assert_eq!(after(version, lines), expected, "{lines:?}");
        }
    }

    #[tokio::test]
    async fn heads_in_any_pieces_are_edited_and_bodies_are_not() {
        let interim = "HTTP/1.1 103 Early\r\nContent-Length: x\r\n\r\n";
        let body = "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n";
        let start = format!("\r\n{interim}\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n");
        let wire = format!("{start}Content-Length: -1\r\n\r\n{body}");
        let expected = format!("{start}\r\n{body}");
        for step in [1, 7, 50, 1_000] {
            let heads: Arc<Heads> = Arc::default();
            let (mut peer, stream) = tokio::io::duplex(step);
            let mut stream = LenientHeads::new(stream, Arc::clone(&heads));
            heads.expect();
            let mut read = Vec::new();
            let writing = async {
                peer.write_all(wire.as_bytes()).await.expect("written");
                drop(peer);
            };
            let ((), ended) = tokio::join!(writing, stream.read_to_end(&mut read));
            ended.expect("read");
            assert_eq!(String::from_utf8_lossy(&read), expected, "{step}");
            let mut headers = HeaderMap::new();
            heads.restore(&mut headers);
            assert_eq!(headers.get(CONTENT_LENGTH).map(HeaderValue::as_bytes), Some(&b"-1"[..]));
            assert_eq!(headers.len(), 1);
        }
    }

    #[tokio::test]
    async fn bytes_that_are_not_a_head_pass_unchanged() {
        let long = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(2 * MAX_HEAD_BYTES));
        for wire in ["\r\n\r\n", "SSH-2.0-x\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n", "", &long] {
            let heads: Arc<Heads> = Arc::default();
            let mut stream = LenientHeads::new(wire.as_bytes(), Arc::clone(&heads));
            heads.expect();
            let mut read = Vec::new();
            stream.read_to_end(&mut read).await.expect("read");
            assert!(read == wire.as_bytes(), "{:?}", wire.get(..20));
        }
    }
}
