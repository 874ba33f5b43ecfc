//! Serves the bucket over HTTP: GET, HEAD and byte ranges for the files in its directory.

use std::{
    convert::Infallible,
    net::Ipv4Addr,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{
    Method, Request, Response, StatusCode,
    header::{CONTENT_RANGE, CONTENT_TYPE, HeaderValue},
};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use percent_encoding::percent_decode_str;
use tokio::{fs, net::TcpListener};
use tower_http::services::ServeFile;

use crate::{
    accepting,
    counters::Counters,
    error::TestbedError,
    weather::{Weather, path_and_range},
};

const MAX_CONNECTIONS: usize = 1_024;
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

type Body = UnsyncBoxBody<Bytes, std::io::Error>;

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

    pub(crate) async fn serve(self, folder: PathBuf, counters: Counters, weather: Weather) {
        let folder: Arc<Path> = folder.into();
        accepting::serve(self.listener, MAX_CONNECTIONS, |stream| {
            let folder = Arc::clone(&folder);
            let counters = counters.clone();
            let weather = weather.clone();
            async move {
                let service = service_fn(|request| {
                    counters.bucket_request();
                    let folder = Arc::clone(&folder);
                    let refusal = weather.refusal(&path_and_range(&request));
                    async move {
                        Ok::<_, Infallible>(match refusal {
                            Some((status, code)) => error(status, code),
                            None => respond(&folder, request).await,
                        })
                    }
                });
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

async fn respond(folder: &Path, request: Request<Incoming>) -> Response<Body> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return error(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed");
    }
    let Some(path) = locate(folder, request.uri().path()) else {
        return error(StatusCode::NOT_FOUND, "NoSuchKey");
    };
    if !fs::metadata(&path).await.is_ok_and(|metadata| metadata.is_file()) {
        return error(StatusCode::NOT_FOUND, "NoSuchKey");
    }
    let mut serving = ServeFile::new(path).ignore_multi_range_requests(true);
    let Ok(response) = serving.try_call(request).await else {
        return error(StatusCode::INTERNAL_SERVER_ERROR, "InternalError");
    };
    if response.status() != StatusCode::RANGE_NOT_SATISFIABLE {
        return response.map(BodyExt::boxed_unsync);
    }
    let mut refusal = error(StatusCode::RANGE_NOT_SATISFIABLE, "InvalidRange");
    if let Some(range) = response.headers().get(CONTENT_RANGE) {
        refusal.headers_mut().insert(CONTENT_RANGE, range.clone());
    }
    refusal
}

fn error(status: StatusCode, code: &str) -> Response<Body> {
    let text =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code></Error>\n");
    let body = Full::from(text).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    response
}

fn locate(folder: &Path, url_path: &str) -> Option<PathBuf> {
    let name = percent_decode_str(url_path.strip_prefix('/')?).decode_utf8().ok()?;
    let name = Path::new(&*name);
    let is_inside = name.components().all(|part| matches!(part, Component::Normal(_)));
    (is_inside && !name.as_os_str().is_empty()).then(|| folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_the_folder() {
        let folder = Path::new("/b");
        assert_eq!(locate(folder, "/a%3Db/c"), Some(PathBuf::from("/b/a=b/c")));
        for path in ["/../x", "/a/%2e%2e/x", "//etc/passwd", "/", "/%ff", "x", "/%2Fetc"] {
            assert_eq!(locate(folder, path), None, "{path}");
        }
    }
}
