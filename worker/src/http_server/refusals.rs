//! A connection that replaces the error responses that the HTTP library sends by itself.
//!
//! The library responds to a malformed head with an empty body, and then returns an error. The
//! connection therefore holds back bytes that look like such a response until the library has
//! returned or writes more.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    net::TcpStream,
    time::timeout,
};

/// Returns the response to send instead of the library's, or `None` to keep it.
pub(crate) type Replace = fn(&[u8]) -> Option<Vec<u8>>;

const STATUS_LINES: [&str; 3] = [
    "HTTP/1.1 400 Bad Request\r\n",
    "HTTP/1.1 414 URI Too Long\r\n",
    "HTTP/1.1 431 Request Header Fields Too Large\r\n",
];
/// Maximum length of the library's error response: a status line, three headers and an empty line.
const MAX_REFUSAL_BYTES: usize = 160;
/// Time for a client to read the last response. If the connection were closed while the client
/// still sends, the client's system would drop the response.
const LINGER_TIME: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    replace: Option<Replace>,
    held: Vec<u8>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, replace: Option<Replace>) -> Self {
        Self { stream, replace, held: Vec::new() }
    }

    /// Sends the bytes held back or their replacement, then waits until the client closes the
    /// connection or [`LINGER_TIME`] is over.
    pub(super) async fn finish(mut self, is_refusal: bool) {
        let replaced = self.replace.filter(|_| is_refusal).and_then(|replace| replace(&self.held));
        let last = replaced.unwrap_or(self.held);
        let lingering = async {
            self.stream.write_all(&last).await?;
            self.stream.shutdown().await?;
            let mut unread = [0; 4 << 10];
            while self.stream.read(&mut unread).await? > 0 {}
            Ok::<_, io::Error>(())
        };
        // The client may close its connection at any time.
        let _ = timeout(LINGER_TIME, lingering).await;
    }

    fn poll_held(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.held.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, &self.held))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.held.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

/// Returns the offset of the library's error response, if the bytes end with one.
fn refusal_in(bytes: &[u8]) -> Option<usize> {
    let from = bytes.len().saturating_sub(MAX_REFUSAL_BYTES);
    let tail = bytes.get(from..)?;
    let begin = STATUS_LINES
        .iter()
        .find_map(|line| tail.windows(line.len()).rposition(|window| window == line.as_bytes()))?;
    let head = std::str::from_utf8(tail.get(begin..)?).ok()?.strip_suffix("\r\n\r\n")?;
    let is_librarys = head.split("\r\n").skip(1).all(|line| {
        line == "connection: close" || line == "content-length: 0" || line.starts_with("date: ")
    });
    is_librarys.then_some(from + begin)
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_held(context))?;
        match self.replace.and_then(|_| refusal_in(bytes)) {
            Some(0) => {
                self.held = bytes.to_vec();
                Poll::Ready(Ok(bytes.len()))
            }
            Some(begin) => Pin::new(&mut self.stream).poll_write(context, &bytes[..begin]),
            None => Pin::new(&mut self.stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.replace.is_none() {
            return Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        }
        let first = buffers.iter().find(|buffer| !buffer.is_empty());
        self.poll_write(context, first.map_or(&[], |buffer| &**buffer))
    }

    fn is_write_vectored(&self) -> bool {
        self.replace.is_none() && self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Does nothing, because [`Connection::finish`] ends the connection.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_librarys_own_error_responses_are_replaced() {
        let refusal = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\
                       date: Sat, 28 Nov 2026 03:20:00 GMT\r\n\r\n";
        assert_eq!(refusal_in(refusal.as_bytes()), Some(0));
        assert_eq!(refusal_in(format!("the end{refusal}").as_bytes()), Some(7));
        for other in [
            refusal.replace("date", "x-request-id: 1\r\ndate"),
            refusal.replace("400 Bad Request", "200 OK"),
            format!("{refusal}x"),
            String::new(),
        ] {
            assert_eq!(refusal_in(other.as_bytes()), None, "{other}");
        }
    }
}
