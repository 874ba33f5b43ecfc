//! A small web server over a site's folder, for looking at it on the machine that made it.
//!
//! Invariants: nothing outside the folder and nothing whose name begins with a dot is served; every
//! answer carries the content security policy of the published site; a changed file changes its
//! `ETag`. Memory is bounded: files go out in pieces. Must not know: what the objects mean.

use std::future::Future;
use std::io::SeekFrom;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use bytes::BytesMut;
use everytab_storage::objects;
use futures_util::stream;
use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What pages of the site may do: run and fetch their own files, frame other sites over https.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; \
    style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src https:; \
    base-uri 'none'; form-action 'none'";

/// Up to here the `ETag` is a hash of the bytes, beyond of size, time and inode.
const HASHED_BYTES: u64 = 1 << 20;
const PIECE_BYTES: usize = 64 << 10;

/// Why the folder is not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The folder cannot be read.
    #[error("cannot serve {}: {source}; give the folder of a published site", dir.display())]
    Folder {
        /// The folder asked for.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; choose another address or port")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A running server.
#[derive(Debug)]
pub struct Serving {
    /// Where it listens; the port is the real one if 0 was asked for.
    pub address: SocketAddr,
    /// Ends after the shutdown, when the last answer has gone out.
    pub finished: JoinHandle<()>,
}

/// Serves the files of `dir` on `address` until `shutdown` ends. Returns once it listens.
pub async fn serve(
    dir: PathBuf,
    address: SocketAddr,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Serving, ServeError> {
    let root = tokio::fs::canonicalize(&dir)
        .await
        .and_then(|root| std::fs::read_dir(&root).map(|_| root))
        .map_err(|source| ServeError::Folder { dir, source })?;
    let refused = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let router = Router::new().fallback(answer).with_state(Arc::new(root));
    let finished = tokio::spawn(async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(shutdown).await;
        if let Err(error) = served {
            tracing::error!(%error, "the site is no longer served");
        }
    });
    Ok(Serving { address, finished })
}

async fn answer(State(root): State<Arc<PathBuf>>, request: Request) -> Response {
    // The body is not needed, and could not be shared between threads.
    let (request, _body) = request.into_parts();
    let mut response = if matches!(request.method, Method::GET | Method::HEAD) {
        file(&root, &request).await.unwrap_or_else(plain)
    } else {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        response
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
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

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // Our own values are ASCII; one that is not is left out.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

async fn file(root: &Path, request: &Parts) -> Result<Response, StatusCode> {
    let key = key_of(request.uri.path()).ok_or(StatusCode::NOT_FOUND)?;
    let missing = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
        _ => StatusCode::NOT_FOUND,
    };
    let path = tokio::fs::canonicalize(root.join(&key)).await.map_err(missing)?;
    if !path.starts_with(root) {
        return Err(StatusCode::NOT_FOUND);
    }
    let mut file = File::open(&path).await.map_err(missing)?;
    let metadata = file.metadata().await.map_err(missing)?;
    if !metadata.is_file() {
        return Err(StatusCode::NOT_FOUND);
    }
    let etag = etag(&mut file, &metadata).await.map_err(missing)?;
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    insert(headers, header::ETAG, &etag);
    insert(headers, header::CACHE_CONTROL, objects::cache_control(&key));
    if knows(&request.headers, &etag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    insert(headers, header::CONTENT_TYPE, objects::content_type(&key));
    insert(headers, header::CONTENT_LENGTH, &metadata.len().to_string());
    if request.method == Method::GET {
        *response.body_mut() = body(file, metadata.len());
    }
    Ok(response)
}

/// From a request's path to an object's name; `None` where no object can have it.
fn key_of(path: &str) -> Option<String> {
    let decoded = percent_decode(path.strip_prefix('/')?)?;
    if decoded.is_empty() {
        return Some(objects::INDEX_HTML.to_owned());
    }
    let allowed = |segment: &str| {
        !segment.is_empty() && !segment.starts_with('.') && !segment.contains(char::is_control)
    };
    decoded.split('/').all(allowed).then_some(decoded)
}

fn percent_decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            u8::try_from(digit()? * 16 + digit()?).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(decoded).ok()
}

async fn etag(file: &mut File, metadata: &std::fs::Metadata) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    if metadata.len() <= HASHED_BYTES {
        let mut bytes = Vec::new();
        file.take(HASHED_BYTES).read_to_end(&mut bytes).await?;
        file.seek(SeekFrom::Start(0)).await?;
        hasher.update(&bytes);
    } else {
        let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
        hasher.update(format!("{} {seconds} {nanoseconds}", metadata.len()));
        hasher.update(metadata.ino().to_be_bytes());
    }
    let digest = hasher.finalize();
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("\"{hex}\""))
}

/// Whether the client already has this version (RFC 9110, 13.1.2: weak comparison).
fn knows(headers: &HeaderMap, etag: &str) -> bool {
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|known| known.trim())
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag)
}

/// The file in pieces; exactly `length` bytes, or the connection breaks.
fn body(file: File, length: u64) -> Body {
    Body::from_stream(stream::try_unfold((file, length), |(mut file, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let most = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let mut piece = BytesMut::with_capacity(most);
        let read = (&mut file).take(most as u64).read_buf(&mut piece).await?;
        if read == 0 {
            return Err(std::io::Error::other("the file shrank while it was served"));
        }
        let left = left.saturating_sub(read as u64);
        Ok(Some((piece.freeze(), (file, left))))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::Client;
    use reqwest::redirect::Policy;

    struct Site {
        url: String,
        address: SocketAddr,
        folder: tempfile::TempDir,
        client: Client,
        stop: Option<tokio::sync::oneshot::Sender<()>>,
        finished: Option<JoinHandle<()>>,
    }

    async fn site() -> Site {
        let folder = tempfile::TempDir::new().expect("the temporary directory can be written");
        let root = folder.path().join("site");
        let write = |name: &str, bytes: &[u8]| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("mkdir");
            std::fs::write(path, bytes).expect("write");
        };
        write("index.html", b"<!doctype html>");
        write("manifest.json", b"{}");
        write("scans/7/tabs/0.json", b"{\"entries\":[]}");
        write("js/app-0123abcd.js", b"1");
        write(".everytab-store/lock-00", b"");
        write("large.bin", &vec![7; 3_000_000]);
        std::fs::write(folder.path().join("secret"), b"secret").expect("write");
        std::os::unix::fs::symlink(folder.path(), root.join("out")).expect("link");
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let serving = serve(root, any, async move { drop(stopped.await) }).await.expect("serve");
        let client = Client::builder().no_proxy().redirect(Policy::none()).build();
        Site {
            url: format!("http://{}", serving.address),
            address: serving.address,
            folder,
            client: client.expect("nothing is configured wrongly"),
            stop: Some(stop),
            finished: Some(serving.finished),
        }
    }

    impl Site {
        async fn get(&self, path: &str) -> reqwest::Response {
            let sent = self.client.get(format!("{}{path}", self.url)).send().await;
            sent.expect("the server answers")
        }

        /// The status line of a request whose path no client would send.
        async fn raw(&self, path: &str) -> String {
            use tokio::io::AsyncWriteExt;
            let mut socket = tokio::net::TcpStream::connect(self.address).await.expect("connect");
            let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
            socket.write_all(request.as_bytes()).await.expect("write");
            let mut answer = Vec::new();
            socket.read_to_end(&mut answer).await.expect("read");
            let answer = String::from_utf8_lossy(&answer).into_owned();
            assert!(!answer.contains("secret"), "{answer}");
            answer.lines().next().unwrap_or_default().to_owned()
        }
    }

    fn header_of(response: &reqwest::Response, name: HeaderName) -> String {
        response.headers().get(name).map_or("", |value| value.to_str().expect("ASCII")).to_owned()
    }

    #[tokio::test]
    async fn files_carry_their_type_cache_and_policy() {
        let site = site().await;
        for (path, content_type, cache) in [
            ("/", "text/html; charset=utf-8", objects::CACHE_SHORT),
            ("/index.html?x=1", "text/html; charset=utf-8", objects::CACHE_SHORT),
            ("/manifest.json", "application/json", objects::CACHE_SHORT),
            ("/scans/7/tabs/0.json", "application/json", objects::CACHE_IMMUTABLE),
            ("/js/app-0123abcd.js", "text/javascript; charset=utf-8", objects::CACHE_IMMUTABLE),
        ] {
            let response = site.get(path).await;
            assert_eq!(response.status(), 200, "{path}");
            assert_eq!(header_of(&response, header::CONTENT_TYPE), content_type, "{path}");
            assert_eq!(header_of(&response, header::CACHE_CONTROL), cache, "{path}");
            assert_eq!(header_of(&response, header::X_CONTENT_TYPE_OPTIONS), "nosniff");
            let policy = header_of(&response, header::CONTENT_SECURITY_POLICY);
            assert_eq!(policy, CONTENT_SECURITY_POLICY);
        }
        assert_eq!(
            site.get("/scans/7/tabs/0.json").await.text().await.expect("text"),
            "{\"entries\":[]}"
        );
        let large = site.get("/large.bin").await;
        assert_eq!(large.content_length(), Some(3_000_000));
        assert_eq!(large.bytes().await.expect("whole").len(), 3_000_000);
    }

    #[tokio::test]
    async fn an_unchanged_file_is_not_sent_again() {
        let site = site().await;
        for path in ["/manifest.json", "/large.bin"] {
            let etag = header_of(&site.get(path).await, header::ETAG);
            let again = |known: String| {
                let url = format!("{}{path}", site.url);
                site.client.get(url).header(header::IF_NONE_MATCH, known).send()
            };
            for known in [etag.clone(), format!("W/{etag}"), format!("\"x\", {etag}"), "*".into()] {
                let response = again(known).await.expect("the server answers");
                assert_eq!(response.status(), 304);
                assert_eq!(header_of(&response, header::ETAG), etag);
                assert!(response.bytes().await.expect("nothing").is_empty());
            }
            let file = site.folder.path().join("site").join(&path[1..]);
            std::fs::write(&file, vec![8; 2_999_999]).expect("write");
            let response = again(etag.clone()).await.expect("the server answers");
            assert_eq!(response.status(), 200, "a changed file is sent");
            assert_ne!(header_of(&response, header::ETAG), etag);
        }
    }

    #[tokio::test]
    async fn head_tells_the_length_and_other_methods_are_refused() {
        let site = site().await;
        let url = format!("{}/large.bin", site.url);
        let head = site.client.head(&url).send().await.expect("the server answers");
        assert_eq!(header_of(&head, header::CONTENT_LENGTH), "3000000");
        assert!(head.bytes().await.expect("nothing").is_empty());
        let post = site.client.post(&url).send().await.expect("the server answers");
        assert_eq!(
            (post.status().as_u16(), header_of(&post, header::ALLOW).as_str()),
            (405, "GET, HEAD")
        );
    }

    #[tokio::test]
    async fn nothing_outside_the_folder_is_served() {
        let site = site().await;
        for path in [
            "/../secret",
            "/%2e%2e/secret",
            "/..%2fsecret",
            "/js/../../secret",
            "//etc/passwd",
            "/out/secret",
            "/out",
            "/.everytab-store/lock-00",
            "/%2eeverytab-store/lock-00",
            "/js",
            "/js/",
            "/index.html/",
            "/index.html%00",
            "/nothing",
            "/%",
            "/%zz",
            "/%ff",
            "/js//x",
        ] {
            assert_eq!(site.raw(path).await, "HTTP/1.1 404 Not Found", "{path}");
        }
    }

    #[tokio::test]
    async fn it_stops_when_told_and_names_what_cannot_be_served() {
        let mut site = site().await;
        let taken = serve(site.folder.path().to_owned(), site.address, async {}).await;
        let message = taken.expect_err("the address is taken").to_string();
        assert!(message.contains(&site.address.to_string()), "{message}");
        let missing = site.folder.path().join("missing");
        let message =
            serve(missing, site.address, async {}).await.expect_err("missing").to_string();
        assert!(message.contains("missing"), "{message}");
        drop(site.stop.take());
        let finished = site.finished.take().expect("taken once");
        finished.await.expect("it ended well");
        assert!(tokio::net::TcpStream::connect(site.address).await.is_err());
    }
}
