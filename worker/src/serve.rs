//! A web server for a site's directory, with the CDN's headers, cache rules and compression.
//!
//! It never serves files outside the directory. No segment of a path may start with a dot, except a
//! leading `.well-known`.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    future::Future,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{
        StatusCode,
        header::{self, HeaderMap, HeaderName, HeaderValue},
    },
    middleware::map_response_with_state,
    response::{IntoResponse as _, Response},
    routing::get,
};
use everytab_bundler::object_names;
use percent_encoding::percent_decode_str;
use tokio::{
    net::{TcpListener, TcpSocket},
    task::JoinHandle,
};
use tower_http::{
    compression::{
        CompressionLayer,
        predicate::{Predicate as _, SizeAbove},
    },
    services::ServeFile,
};

use crate::http_server;

/// Headers of every response. The CDN is configured with the same file.
const HEADERS: &str = include_str!("../../site/headers.json");

/// Maximum connections that wait to be accepted. This is also Linux's default limit. Beyond it, a
/// client retries only after a second.
const BACKLOG: u32 = 4_096;

const NOT_FOUND: &str = "404.html";

/// Files up to this length fit into one packet, so compression saves nothing.
const MAX_PLAIN_BYTES: u64 = 1_000;

/// Why a directory cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The directory cannot be read.
    #[error("cannot serve {}: {source}; give the directory of a published site", dir.display())]
    Folder {
        /// The directory that was given.
        dir: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}: {source}; choose another address or port")]
    Listen {
        /// The address that was given.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
}

/// A running server.
#[derive(Debug)]
pub struct Serving {
    /// The server's address, with the real port if 0 was given.
    pub address: SocketAddr,
    /// Ends after the shutdown, when the last response has been sent.
    pub finished: JoinHandle<()>,
}

/// An address that is bound but not listened on, so that connections to it fail.
#[derive(Debug)]
pub struct ReservedAddress {
    socket: TcpSocket,
    address: SocketAddr,
}

impl ReservedAddress {
    /// Reserves `address`. Port 0 selects a free port.
    ///
    /// # Errors
    /// Returns an error if the address is in use or does not belong to this host.
    pub fn new(address: SocketAddr) -> Result<Self, ServeError> {
        let reserved = || {
            let socket =
                if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            Ok(Self { address: socket.local_addr()?, socket })
        };
        reserved().map_err(|source| ServeError::Listen { address, source })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn listen(self) -> Result<TcpListener, ServeError> {
        let address = self.address;
        self.socket.listen(BACKLOG).map_err(|source| ServeError::Listen { address, source })
    }
}

/// Serves the files in `dir` on `address` until `shutdown` ends. Returns once it listens.
///
/// # Errors
/// Returns an error if the directory cannot be read, or if the address is in use.
pub async fn serve(
    dir: PathBuf,
    address: SocketAddr,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Serving, ServeError> {
    serve_root(readable_folder(dir).await?, ReservedAddress::new(address)?, shutdown)
}

/// Like [`serve`], on a reserved address.
///
/// # Errors
/// Returns an error if the directory cannot be read, or if another process now listens on the
/// address.
pub async fn serve_on(
    dir: PathBuf,
    address: ReservedAddress,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Serving, ServeError> {
    serve_root(readable_folder(dir).await?, address, shutdown)
}

async fn readable_folder(dir: PathBuf) -> Result<PathBuf, ServeError> {
    tokio::fs::canonicalize(&dir)
        .await
        .and_then(|root| std::fs::read_dir(&root).map(|_| root))
        .map_err(|source| ServeError::Folder { dir, source })
}

fn serve_root(
    root: PathBuf,
    reserved: ReservedAddress,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Serving, ServeError> {
    let address = reserved.address;
    http_server::warn_if_public("serving at", address);
    let listener = reserved.listen()?;
    let compression = CompressionLayer::new().compress_when(SizeAbove::new(MAX_PLAIN_BYTES).and(
        |_: StatusCode, _, headers: &HeaderMap, _: &_| {
            headers.get(header::CONTENT_TYPE).is_some_and(is_compressible)
        },
    ));
    let router = Router::new()
        .fallback_service(get(respond).with_state(Arc::new(root)))
        .layer(compression)
        .layer(map_response_with_state(Arc::new(headers()), add_headers));
    let limits = http_server::FILE_CONNECTIONS;
    let finished = tokio::spawn(http_server::serve(listener, router, limits, shutdown));
    Ok(Serving { address, finished })
}

fn headers() -> HeaderMap {
    let named: BTreeMap<String, String> = serde_json::from_str(HEADERS).unwrap_or_default();
    named
        .into_iter()
        .filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)))
        .collect()
}

async fn add_headers(State(site): State<Arc<HeaderMap>>, mut response: Response) -> Response {
    let is_refused = response.status().is_client_error();
    let headers = response.headers_mut();
    // `file` sets the file's cache rule on errors such as 416, too. They must not be cached.
    if is_refused && let Some(rule) = headers.get_mut(header::CACHE_CONTROL) {
        *rule = HeaderValue::from_static("no-store");
    }
    // A compressed response needs a weak validator, because its bytes differ from the file's.
    if headers.contains_key(header::CONTENT_ENCODING)
        && let Some(etag) = headers.get(header::ETAG).and_then(|etag| etag.to_str().ok())
    {
        insert(headers, header::ETAG, &format!("W/{etag}"));
    }
    headers.extend(site.iter().map(|(name, value)| (name.clone(), value.clone())));
    response
}

fn is_compressible(content_type: &HeaderValue) -> bool {
    let text = content_type.to_str().unwrap_or_default();
    text.starts_with("text/")
        || ["application/json", "application/manifest+json", "image/svg+xml"].contains(&text)
}

async fn respond(State(root): State<Arc<PathBuf>>, request: Request) -> Response {
    match file(&root, request).await {
        Some(response) => response,
        None => not_found(&root).await,
    }
}

async fn file(root: &Path, mut request: Request) -> Option<Response> {
    let key = key_of(request.uri().path())?;
    let path = tokio::fs::canonicalize(root.join(&key)).await.ok()?;
    if !path.starts_with(root) || !tokio::fs::metadata(&path).await.ok()?.is_file() {
        return None;
    }
    let headers = request.headers_mut();
    // ServeFile ignores If-Range, and rejects ranges in other units than bytes. The whole file is
    // always a correct response to both.
    let is_in_bytes = |range: &HeaderValue| range.as_bytes().starts_with(b"bytes=");
    if headers.contains_key(header::IF_RANGE)
        || headers.get(header::RANGE).is_some_and(|range| !is_in_bytes(range))
    {
        headers.remove(header::RANGE);
    }
    let content_type = object_names::content_type(&key).parse().ok()?;
    let mut serving =
        ServeFile::new_with_mime(path, &content_type).ignore_multi_range_requests(true);
    let mut response = serving.try_call(request).await.ok()?.map(Body::new);
    insert(response.headers_mut(), header::CACHE_CONTROL, object_names::cache_control(&key));
    Some(response)
}

/// Converts a request's path to an object's name. `None` if no object can have this name.
fn key_of(path: &str) -> Option<String> {
    let decoded = percent_decode_str(path.strip_prefix('/')?).decode_utf8().ok()?;
    if decoded.is_empty() {
        return Some(object_names::INDEX_HTML.to_owned());
    }
    let allowed = |segment: &str| {
        !segment.is_empty() && !segment.starts_with('.') && !segment.contains(char::is_control)
    };
    // RFC 8615 reserves this directory.
    let path = decoded.strip_prefix(".well-known/").unwrap_or(&decoded);
    path.split('/').all(allowed).then(|| decoded.into_owned())
}

async fn not_found(root: &Path) -> Response {
    let (content_type, body) = match tokio::fs::read(root.join(NOT_FOUND)).await {
        Ok(html) => ("text/html; charset=utf-8", Body::from(html)),
        Err(_) => ("text/plain; charset=utf-8", Body::from("404 Not Found\n")),
    };
    let headers = [(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, "no-store")];
    (StatusCode::NOT_FOUND, headers, body).into_response()
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
