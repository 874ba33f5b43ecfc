//! Serves the bucket over HTTP: GET, HEAD and byte ranges for the files in its directory.

use std::{
    convert::Infallible,
    io::SeekFrom,
    net::Ipv4Addr,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http::{
    Method, Request, Response, StatusCode,
    header::{
        ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderValue, RANGE,
    },
};
use http_body_util::{BodyExt, Empty, Full, StreamBody, combinators::BoxBody};
use hyper::{
    body::{Frame, Incoming},
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    fs::File,
    io::{AsyncReadExt, AsyncSeekExt},
    net::TcpListener,
};

use crate::{
    accepting,
    counters::Counters,
    error::TestbedError,
    weather::{Weather, path_and_range},
};

/// Bytes that are read and sent in one piece.
const CHUNK_BYTES: usize = 64 * 1_024;
/// Maximum open connections; more wait in the backlog.
const MAX_CONNECTIONS: usize = 1_024;
/// Time in which a client must send a request head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

type Body = BoxBody<Bytes, std::io::Error>;

/// A directory behind an HTTP address on 127.0.0.1.
pub(crate) struct BucketServer {
    listener: TcpListener,
    port: u16,
}

impl BucketServer {
    pub(crate) async fn bind() -> Result<Self, TestbedError> {
        let listen = TestbedError::listen;
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(listen("bucket"))?;
        let port = listener.local_addr().map_err(listen("bucket"))?.port();
        Ok(Self { listener, port })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Serves until the future is dropped, which closes every connection.
    pub(crate) async fn serve(self, folder: PathBuf, counters: Counters, weather: Weather) {
        let folder: Arc<Path> = folder.into();
        accepting::serve(self.listener, MAX_CONNECTIONS, |stream| {
            let (folder, counters, weather) =
                (Arc::clone(&folder), counters.clone(), weather.clone());
            async move {
                let service = service_fn(|request| {
                    counters.bucket_request();
                    let folder = Arc::clone(&folder);
                    let refusal = weather.refusal(&path_and_range(&request));
                    async move {
                        Ok::<_, Infallible>(match refusal {
                            Some((status, code)) => error(status, code),
                            None => respond(&folder, &request).await,
                        })
                    }
                });
                // A client may close its connection at any time.
                let _ = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIMEOUT)
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            }
        })
        .await;
    }
}

async fn respond(folder: &Path, request: &Request<Incoming>) -> Response<Body> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return error(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed");
    }
    let Some(path) = locate(folder, request.uri().path()) else {
        return error(StatusCode::NOT_FOUND, "NoSuchKey");
    };
    let Ok(mut file) = File::open(&path).await else {
        return error(StatusCode::NOT_FOUND, "NoSuchKey");
    };
    let size = match file.metadata().await {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        _ => return error(StatusCode::NOT_FOUND, "NoSuchKey"),
    };
    let range = request.headers().get(RANGE).and_then(|value| value.to_str().ok());
    let (status, start, length) = match range.map(|range| parse_range(range, size)) {
        None | Some(RequestedRange::Everything) => (StatusCode::OK, 0, size),
        Some(RequestedRange::Part { start, length }) => {
            (StatusCode::PARTIAL_CONTENT, start, length)
        }
        Some(RequestedRange::Nothing) => {
            let mut response = error(StatusCode::RANGE_NOT_SATISFIABLE, "InvalidRange");
            set(&mut response, CONTENT_RANGE, format!("bytes */{size}"));
            return response;
        }
    };
    if file.seek(SeekFrom::Start(start)).await.is_err() {
        return error(StatusCode::INTERNAL_SERVER_ERROR, "InternalError");
    }
    let body = match request.method() {
        &Method::HEAD => Empty::new().map_err(|never| match never {}).boxed(),
        _ => stream(file, length),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    set(&mut response, CONTENT_LENGTH, length.to_string());
    set(&mut response, ACCEPT_RANGES, "bytes".to_owned());
    set(&mut response, CONTENT_TYPE, content_type(&path).to_owned());
    set(&mut response, ETAG, format!("\"{size:x}\""));
    if status == StatusCode::PARTIAL_CONTENT {
        let last = start + length - 1;
        set(&mut response, CONTENT_RANGE, format!("bytes {start}-{last}/{size}"));
    }
    response
}

fn set(response: &mut Response<Body>, name: http::HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().insert(name, value);
    }
}

/// Returns an error in S3's format.
fn error(status: StatusCode, code: &str) -> Response<Body> {
    let text =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code></Error>\n");
    let mut response = Response::new(Full::from(text).map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    set(&mut response, CONTENT_TYPE, "application/xml".to_owned());
    response
}

fn stream(file: File, length: u64) -> Body {
    let chunks = futures_util::stream::try_unfold((file, length), |(mut file, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
        let want = left.min(CHUNK_BYTES as u64);
        let got = (&mut file).take(want).read_buf(&mut chunk).await?;
        if got == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some((Frame::data(chunk.freeze()), (file, left - got as u64))))
    });
    BodyExt::boxed(StreamBody::new(chunks))
}

/// Returns the file for a URL path. `None` if it would be outside the directory.
fn locate(folder: &Path, url_path: &str) -> Option<PathBuf> {
    let name = percent_decode(url_path.strip_prefix('/')?)?;
    let inside = Path::new(&name).components().all(|part| matches!(part, Component::Normal(_)));
    (inside && !name.is_empty()).then(|| folder.join(name))
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (hex, after) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// The byte range that a Range header requests.
#[derive(Debug, Eq, PartialEq)]
enum RequestedRange {
    Everything,
    Part { start: u64, length: u64 },
    Nothing,
}

/// Parses one range (RFC 9110, 14.1.2). An invalid range is ignored, as in the RFC.
fn parse_range(range: &str, size: u64) -> RequestedRange {
    let Some((first, last)) = range.strip_prefix("bytes=").and_then(|set| set.split_once('-'))
    else {
        return RequestedRange::Everything;
    };
    let (start, end) = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => (first, last.saturating_add(1).min(size)),
        (Ok(first), Err(_)) if last.is_empty() => (first, size),
        (Err(_), Ok(suffix)) if first.is_empty() => (size.saturating_sub(suffix), size),
        _ => return RequestedRange::Everything,
    };
    match end.checked_sub(start) {
        None | Some(0) => RequestedRange::Nothing,
        Some(length) => RequestedRange::Part { start, length },
    }
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => "application/json",
        Some("gz") => "application/gzip",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_the_file() {
        assert_eq!(parse_range("bytes=2-4", 10), RequestedRange::Part { start: 2, length: 3 });
        assert_eq!(parse_range("bytes=8-99", 10), RequestedRange::Part { start: 8, length: 2 });
        assert_eq!(parse_range("bytes=7-", 10), RequestedRange::Part { start: 7, length: 3 });
        assert_eq!(parse_range("bytes=-4", 10), RequestedRange::Part { start: 6, length: 4 });
        assert_eq!(parse_range("bytes=-0", 10), RequestedRange::Nothing);
        assert_eq!(parse_range("bytes=10-", 10), RequestedRange::Nothing);
        assert_eq!(parse_range("bytes=5-4", 10), RequestedRange::Everything);
        assert_eq!(parse_range("lines=1-2", 10), RequestedRange::Everything);
    }

    #[test]
    fn no_path_leads_out_of_the_folder() {
        let folder = Path::new("/b");
        assert_eq!(locate(folder, "/a%3Db/c"), Some(PathBuf::from("/b/a=b/c")));
        for path in ["/../x", "/a/%2e%2e/x", "//etc/passwd", "/", "/%zz", "x", "/%2Fetc"] {
            assert_eq!(locate(folder, path), None, "{path}");
        }
    }
}
