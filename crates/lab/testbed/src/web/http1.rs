//! HTTP/1.1 without a library, because no library sends a wrong length or stops in the middle of a
//! body. Requests have no body (GET and HEAD).

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::timeout,
};

use super::{
    answer,
    reply::{Answer, Ending},
    silence::keep_silent,
};
use crate::{
    access_log::OpenLine, behaviour::Behaviour, counters::CountedConnection, internet::Internet,
    request::Request,
};

const MAX_HEAD_BYTES: usize = 16 * 1_024;
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const ENDLESS_TIME: Duration = Duration::from_secs(600);

/// `tls_host` is the SNI hostname on https.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    tls_host: Option<String>,
    internet: &Arc<Internet>,
    mut connection: CountedConnection,
) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(head) = read_head(&mut stream, &mut buffer).await? {
        let parsed = parse(&head).map(|mut head| {
            head.host = head.host.or_else(|| tls_host.clone());
            head
        });
        let Some(Head { method, target, host: Some(host), if_none_match, cookie, close }) = parsed
        else {
            return write(&mut stream, &Answer::page(400, "Bad Request"), false, true, None).await;
        };
        let mut line = internet.access_log.begin(connection.address(), &host, &target);
        connection.is_for(&host);
        if internet.behaviour(&host) == Behaviour::NeverAnswers {
            return keep_silent(stream).await;
        }
        let head_only = method == "HEAD";
        let answer = if head_only || method == "GET" {
            let https = tls_host.is_some();
            let request = Request { https, host, target, if_none_match, cookie };
            answer::answer(internet, request).await
        } else {
            Answer::page(405, "Method Not Allowed")
        };
        if !answer.delay.is_zero() {
            tokio::time::sleep(answer.delay).await;
        }
        write(&mut stream, &answer, head_only, close, line.as_mut()).await?;
        match answer.ending {
            Ending::StallAfter(_) if !head_only => return keep_silent(stream).await,
            Ending::Endless if !head_only => return send_endlessly(stream, &answer.body).await,
            Ending::Declared(_) | Ending::Unended => return finish(stream).await,
            _ if close => return finish(stream).await,
            _ => {}
        }
    }
    Ok(())
}

async fn finish<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) -> io::Result<()> {
    timeout(WRITE_TIMEOUT, stream.shutdown()).await?
}

async fn read_head<S: AsyncRead + Unpin>(
    stream: &mut S,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = buffer.split_off(end + 4);
            return Ok(Some(std::mem::replace(buffer, rest)));
        }
        if buffer.len() >= MAX_HEAD_BYTES {
            return Ok(None);
        }
        if timeout(IDLE_TIMEOUT, stream.read_buf(buffer)).await?? == 0 {
            return Ok(None);
        }
    }
}

#[derive(Debug, Eq, PartialEq)]
struct Head {
    method: String,
    target: String,
    host: Option<String>,
    if_none_match: Option<String>,
    cookie: Option<String>,
    close: bool,
}

fn parse(head: &[u8]) -> Option<Head> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.split("\r\n");
    let mut line = lines.next()?.split(' ');
    let (method, target, version) = (line.next()?, line.next()?, line.next()?);
    if !target.starts_with('/') || !version.starts_with("HTTP/1.") {
        return None;
    }
    let (mut host, mut if_none_match, mut cookie) = (None, None, None);
    let mut close = version == "HTTP/1.0";
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("host") {
            let name = value.split(':').next().unwrap_or(value);
            host = Some(name.trim_end_matches('.').to_ascii_lowercase());
        } else if name.eq_ignore_ascii_case("connection") {
            close = value.eq_ignore_ascii_case("close");
        } else if name.eq_ignore_ascii_case("if-none-match") {
            if_none_match = Some(value.to_owned());
        } else if name.eq_ignore_ascii_case("cookie") {
            cookie = Some(value.to_owned());
        }
    }
    let (method, target) = (method.to_owned(), target.to_owned());
    Some(Head { method, target, host, if_none_match, cookie, close })
}

async fn write<S: AsyncWrite + Unpin>(
    stream: &mut S,
    answer: &Answer,
    head_only: bool,
    close: bool,
    line: Option<&mut OpenLine>,
) -> io::Result<()> {
    let bytes = encode(answer, head_only, close);
    let mut rest = bytes.as_slice();
    timeout(WRITE_TIMEOUT, async {
        if let Some(line) = line {
            line.has_status(answer.status);
            if answer.ending != Ending::Endless {
                line.ends_if_short(answer.body.len());
                // Log the end before the last byte, so that the client cannot have the whole
                // response earlier.
                let (most, last) = rest.split_at(rest.len().saturating_sub(1));
                stream.write_all(most).await?;
                line.ends();
                rest = last;
            }
        }
        stream.write_all(rest).await?;
        stream.flush().await
    })
    .await?
}

async fn send_endlessly<S: AsyncWrite + Unpin>(mut stream: S, piece: &[u8]) -> io::Result<()> {
    let began = Instant::now();
    let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
    while began.elapsed() < ENDLESS_TIME {
        timeout(WRITE_TIMEOUT, stream.write_all(&chunk)).await??;
    }
    Ok(())
}

const CHUNKED: &str = "transfer-encoding: chunked\r\n";

fn encode(answer: &Answer, head_only: bool, close: bool) -> Vec<u8> {
    let status = answer.status;
    let reason = http::StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason());
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason.unwrap_or("Unknown"));
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let bodiless = matches!(status, 204 | 304);
    let (framing, sent) = match answer.ending {
        _ if bodiless => (String::new(), 0),
        Ending::Length => (content_length(answer.body.len()), answer.body.len()),
        Ending::Declared(length) => (content_length(length), answer.body.len()),
        Ending::StallAfter(sent) => (content_length(answer.body.len()), sent),
        Ending::Unannounced | Ending::Unended => (CHUNKED.to_owned(), answer.body.len()),
        Ending::Endless => (CHUNKED.to_owned(), 0),
    };
    head.push_str(&framing);
    if close || matches!(answer.ending, Ending::Declared(_) | Ending::Unended) {
        head.push_str("connection: close\r\n");
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    let body = answer.body.get(..sent).unwrap_or(&answer.body);
    if head_only || bodiless {
        return bytes;
    }
    if matches!(answer.ending, Ending::Unannounced | Ending::Unended) {
        for chunk in body.chunks(16 * 1_024) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        if answer.ending == Ending::Unannounced {
            bytes.extend_from_slice(b"0\r\n\r\n");
        }
    } else {
        bytes.extend_from_slice(body);
    }
    bytes
}

fn content_length(length: usize) -> String {
    format!("content-length: {length}\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_log::{AccessLog, AccessLogTarget};

    #[test]
    fn a_request_head_gives_method_target_and_host() {
        let head = parse(b"GET /a?b HTTP/1.1\r\nHost: X.example.:80\r\n\r\n").unwrap();
        assert_eq!((head.method.as_str(), head.target.as_str()), ("GET", "/a?b"));
        assert_eq!((head.host.as_deref(), head.close), (Some("x.example"), false));
        assert_eq!(parse(b"GET http://x/ HTTP/1.1\r\n\r\n"), None);
        assert_eq!(parse(b"\xff\r\n\r\n"), None);
    }

    #[tokio::test]
    async fn the_line_of_a_short_answer_is_written_before_its_first_byte_is_sent() {
        for (bytes, lines) in [(0, 1), (16 * 1_024, 1), (16 * 1_024 + 1, 0)] {
            let log = AccessLog::default();
            log.start(&AccessLogTarget::Memory(9)).unwrap();
            let mut line = log.begin([127, 1, 1, 1].into(), "h", "/").unwrap();
            let answer = Answer::new(200, "text/plain", "x".repeat(bytes));
            // The writer waits for the reader at each byte.
            let (mut sending, mut receiving) = tokio::io::duplex(1);
            let send = async move {
                write(&mut sending, &answer, false, true, Some(&mut line)).await.unwrap();
            };
            let receive = async {
                let mut received = vec![receiving.read_u8().await.unwrap()];
                assert_eq!(log.lines().len(), lines, "{bytes}");
                receiving.read_to_end(&mut received).await.unwrap();
                assert_eq!(log.lines().len(), 1, "{bytes}");
            };
            tokio::join!(send, receive);
        }
    }

    #[test]
    fn a_wrong_length_is_written_as_declared() {
        let mut answer = Answer::new(200, "image/png", "12345");
        answer.ending = Ending::Declared(9);
        let text = String::from_utf8(encode(&answer, false, false)).unwrap();
        assert!(text.contains("content-length: 9\r\n") && text.ends_with("\r\n\r\n12345"));
        answer.ending = Ending::Unannounced;
        let text = String::from_utf8(encode(&answer, false, false)).unwrap();
        assert!(text.ends_with("5\r\n12345\r\n0\r\n\r\n") && !text.contains("content-length"));
        answer.ending = Ending::Unended;
        let text = String::from_utf8(encode(&answer, false, false)).unwrap();
        assert!(text.ends_with("\r\n\r\n5\r\n12345\r\n") && text.contains("connection: close"));
    }
}
