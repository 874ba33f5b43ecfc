//! An S3-compatible server over a directory, for tests: `s3s-fs`, corrected in three cases:
//!
//! * Conditional puts are atomic. s3s-fs checks, then writes, and stores the version after the
//!   object.
//! * A bucket that was not created is missing. s3s-fs creates it on the first put.
//! * A directory with objects is not an object. s3s-fs responds with 500.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash, Hasher},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use http::{Method, Request, Response, StatusCode};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use s3s::{
    Body, HttpError, HttpResponse,
    auth::SimpleAuth,
    service::{S3Service, S3ServiceBuilder},
};
use tokio::{
    net::TcpListener,
    sync::RwLock,
    task::{JoinHandle, JoinSet},
};

use crate::weather::{Weather, path_and_range};

const KEY_LOCKS: usize = 64;

/// The server could not start, or a bucket could not be created.
#[derive(Debug, thiserror::Error)]
# [error("cannot serve {dir} as S3: {cause}", dir = dir.display())]
pub struct S3ServerError {
    dir: PathBuf,
    cause: String,
}

/// A running server. Dropping this value stops the server and breaks its connections.
#[derive(Debug)]
pub struct S3Server {
    /// `http://127.0.0.1:<port>`, for path-style requests.
    pub endpoint: String,
    /// Refusals by the server. Paths start with the bucket's name.
    pub weather: Weather,
    dir: PathBuf,
    accepting: JoinHandle<()>,
}

impl S3Server {
    /// Serves the directories in `dir` as buckets to clients that sign with this key pair.
    pub async fn start(
        dir: &Path,
        access_key: &str,
        secret_key: &str,
    ) -> Result<Self, S3ServerError> {
        let failed =
            |cause: String| S3ServerError { dir: dir.to_path_buf(), cause: cause.to_string() };
        std::fs::create_dir_all(dir).map_err(|error| failed(error.to_string()))?;
        let folder = s3s_fs::FileSystem::new(dir).map_err(|error| failed(format!("{error:?}")))?;
        let mut builder = S3ServiceBuilder::new(folder);
        builder.set_auth(SimpleAuth::from_single(access_key, secret_key));
        let buckets = Arc::new(Buckets {
            dir: dir.to_path_buf(),
            locks: (0..KEY_LOCKS).map(|_| RwLock::new(())).collect(),
            service: builder.build(),
            weather: Weather::default(),
        });
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .map_err(|error| failed(error.to_string()))?;
        let address = listener.local_addr().map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            endpoint: format!("http://{address}"),
            weather: buckets.weather.clone(),
            dir: dir.to_path_buf(),
            accepting: tokio::spawn(accept(listener, buckets)),
        })
    }

    /// Creates an empty bucket. S3 requires names with 3 to 63 characters.
    pub fn create_bucket(&self, bucket: &str) -> Result<(), S3ServerError> {
        std::fs::create_dir_all(self.dir.join(bucket))
            .map_err(|error| S3ServerError { dir: self.dir.clone(), cause: error.to_string() })
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, buckets: Arc<Buckets>) {
    let mut connections = JoinSet::new();
    loop {
        let socket = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => socket,
                Err(error) => {
                    tracing::warn!(%error, "the S3 server could not accept a connection");
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                    continue;
                }
            },
            Some(_) = connections.join_next() => continue,
        };
        let buckets = Arc::clone(&buckets);
        connections.spawn(async move {
            let service = service_fn(move |request| Arc::clone(&buckets).answer(request));
            let served = Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(socket), service)
                .await;
            if let Err(error) = served {
                tracing::debug!(error, "an S3 connection broke");
            }
        });
    }
}

struct Buckets {
    dir: PathBuf,
    locks: Vec<RwLock<()>>,
    service: S3Service,
    weather: Weather,
}

impl Buckets {
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<HttpResponse, HttpError> {
        let path = request.uri().path().to_owned();
        if let Some((status, code)) = self.weather.refusal(&path_and_range(&request)) {
            return Ok(fault(status, code, "the weather"));
        }
        let (bucket, key) = path.trim_start_matches('/').split_once('/').unwrap_or((&path, ""));
        let bucket = bucket.trim_start_matches('/');
        let creates_bucket = key.is_empty() && request.method() == Method::PUT;
        if !bucket.is_empty() && !creates_bucket && !self.dir.join(bucket).is_dir() {
            return Ok(fault(
                StatusCode::NOT_FOUND,
                "NoSuchBucket",
                "The specified bucket does not exist",
            ));
        }
        let reads = request.method() == Method::GET || request.method() == Method::HEAD;
        if reads && !key.is_empty() && self.dir.join(bucket).join(key).is_dir() {
            return Ok(fault(
                StatusCode::NOT_FOUND,
                "NoSuchKey",
                "The specified key does not exist",
            ));
        }
        let request = request.map(Body::from);
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        let lock_count = self.locks.len() as u64;
        let lock = usize::try_from(hasher.finish() % lock_count)
            .ok()
            .and_then(|index| self.locks.get(index));
        let Some(lock) = lock else { return self.service.call(request).await };
        // A multipart upload's parts change no object.
        let is_part = request.uri().query().is_some_and(|query| query.contains("partNumber="));
        if key.is_empty() || reads || is_part {
            let _shared = lock.read().await;
            self.service.call(request).await
        } else {
            let _exclusive = lock.write().await;
            self.service.call(request).await
        }
    }
}

fn fault(status: StatusCode, code: &str, message: &str) -> HttpResponse {
    let declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
    let text = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
    let mut response = Response::new(Body::from(format!("{declaration}{text}")));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/xml"));
    response
}
