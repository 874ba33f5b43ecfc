//! A small web server for a site's folder, which responds like the CDN.
//!
//! Invariants: nothing outside the folder is served, and of the names that begin with a dot only
//! `.well-known/`. Every response carries the headers of `site/headers.json`, like the CDN's. A
//! changed file has a new `ETag`. Memory is bounded: large files are sent in pieces, and few texts
//! are compressed concurrently. This does not depend on the content of objects, because
//! `object_names` derives the content type and cache rule from the name.

mod encoding;
mod file;
mod headers;
mod range;
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
        Method, StatusCode,
        header::{self, HeaderMap, HeaderValue},
        request::Parts,
    },
    response::Response,
};
use tokio::{
    net::{TcpListener, TcpSocket},
    task::JoinHandle,
};

use self::headers::insert;
use crate::http_server;

/// Every response's headers, by lower-case names. The CDN is configured with the same file.
const HEADERS: &str = include_str!("../../site/headers.json");

/// Connections that wait to be accepted. This is also Linux's default limit. A client whose
/// connection does not fit tries again only after a second.
const BACKLOG: u32 = 4_096;

/// The page for a missing object.
const NOT_FOUND: &str = "404.html";

/// The reason why the folder is not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The folder cannot be read.
    #[error("cannot serve {}: {source}; give the folder of a published site", dir.display())]
    Folder {
        /// The folder that was given.
        dir: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The address cannot be listened on.
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

/// An address that this process has bound but does not listen on yet, so connections to it are
/// refused.
#[derive(Debug)]
pub struct ReservedAddress {
    socket: TcpSocket,
    address: SocketAddr,
}

impl ReservedAddress {
    /// Reserves `address`; port 0 takes any free one.
    ///
    /// # Errors
    /// Returns an error if the address is in use or is not one of this machine's.
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

    /// Returns the address, with the real port if 0 was given.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn listen(self) -> Result<TcpListener, ServeError> {
        let address = self.address;
        self.socket.listen(BACKLOG).map_err(|source| ServeError::Listen { address, source })
    }
}

/// Serves the files of `dir` on `address` until `shutdown` ends. Returns once it listens.
///
/// # Errors
/// Returns an error if the folder cannot be read, or if the address is in use.
pub async fn serve(
    dir: PathBuf,
    address: SocketAddr,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Serving, ServeError> {
    serve_root(readable_folder(dir).await?, ReservedAddress::new(address)?, shutdown)
}

/// Serves the files of `dir` on a reserved address until `shutdown` ends. Returns once it listens.
///
/// # Errors
/// Returns an error if the folder cannot be read, or if another process now listens on the address.
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
    let site = Site { root, headers: headers() };
    let router = Router::new().fallback(answer).with_state(Arc::new(site));
    let limits = http_server::FILE_CONNECTIONS;
    let finished = tokio::spawn(http_server::serve(listener, router, limits, shutdown));
    Ok(Serving { address, finished })
}

struct Site {
    root: PathBuf,
    headers: HeaderMap,
}

fn headers() -> HeaderMap {
    let named: BTreeMap<String, String> = serde_json::from_str(HEADERS).unwrap_or_default();
    named
        .into_iter()
        .filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)))
        .collect()
}

async fn answer(State(site): State<Arc<Site>>, request: Request) -> Response {
    // The body is not needed, and cannot be shared between threads.
    let (request, _body) = request.into_parts();
    let mut response = if matches!(request.method, Method::GET | Method::HEAD) {
        match file::answer(&site.root, &request).await {
            Ok(response) => response,
            Err(status) => refusal(&site.root, &request, status).await,
        }
    } else {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        response
    };
    let headers = response.headers_mut();
    for (name, value) in &site.headers {
        headers.insert(name, value.clone());
    }
    response
}

/// Returns the site's own page for this status if it has one, otherwise a line of text.
async fn refusal(root: &Path, request: &Parts, status: StatusCode) -> Response {
    let page = root.join(NOT_FOUND);
    if status != StatusCode::NOT_FOUND || request.method == Method::HEAD {
        return plain(status);
    }
    let Ok(html) = tokio::fs::read(page).await else { return plain(status) };
    let mut response = plain(status);
    insert(response.headers_mut(), header::CONTENT_TYPE, "text/html; charset=utf-8");
    *response.body_mut() = Body::from(html);
    response
}

fn plain(status: StatusCode) -> Response {
    let text = status.canonical_reason().unwrap_or_default();
    let mut response = Response::new(Body::from(format!("{} {text}\n", status.as_u16())));
    *response.status_mut() = status;
    insert(response.headers_mut(), header::CONTENT_TYPE, "text/plain; charset=utf-8");
    insert(response.headers_mut(), header::CACHE_CONTROL, "no-store");
    response
}
